import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { test } from 'node:test'
import {
  loopback,
  startMdnsResponder,
  startSsdpResponder,
  testNetwork,
} from '../../helpers/multicast-responders.ts'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

const finder = (call: string): string => `
  plugin:onInit(function()
    local function tell(found)
      local keys = {}
      for key, value in pairs(found.txt) do keys[#keys + 1] = key .. "=" .. value:gsub("[^ -~]", function(c) return "\\\\" .. c:byte() end) end
      table.sort(keys)
      print(found.gone and "gone" or "there", found.name, found.host, table.concat(found.addresses, " "), found.port, table.concat(keys, " "))
    end
    search = ${call}
  end)
`

test('§15 services are told when they are found, when they change and when they go', async (t) => {
  const discovery = await testNetwork()
  const responder = await startMdnsResponder(t, discovery.ports.discovery)
  const lamp = {
    type: '_shelly._tcp',
    name: 'Lamp. In the "Küche"',
    host: 'lamp.local',
    address: '192.0.2.9',
  }
  responder.announce({
    ...lamp,
    txt: ['gen=2', 'flag', Buffer.from('raw=\xff=1', 'latin1'), 'GEN=3', '=none'],
  })
  responder.announce({ type: '_other._tcp', name: 'another' })
  await withOutside(
    pluginSource(finder('plugin:discover("_Shelly._tcp.local.", tell)')),
    async ({ recorder, isolate, outside }) => {
      await recorder.logged('192.0.2.9')
      responder.announce({ ...lamp, port: 8080, txt: ['gen=3'] })
      await recorder.logged('8080')
      responder.withdraw(lamp)
      await recorder.logged('gone')
      assert.deepEqual(recorder.logs(), [
        'info there\tLamp. In the "Küche"\tlamp.local\t192.0.2.9\t80\tflag= gen=2 raw=\\255=1',
        'info there\tLamp. In the "Küche"\tlamp.local\t192.0.2.9\t8080\tgen=3',
        'info gone\tLamp. In the "Küche"\tlamp.local\t192.0.2.9\t8080\tgen=3',
      ])
      const [view] = outside.connections('@test/probe')
      assert.deepEqual(
        [view?.kind, view?.target, view?.state, view?.lastError],
        ['discovery', '_shelly._tcp', 'open', null],
      )
      assert.ok((view?.bytesIn ?? 0) > 100)
      assert.equal(isolate.resources().discoveries, 1)
    },
    { outside: { discovery } },
  )
})

test('§15 a datagram gets to a host by the name under which it was found', async (t) => {
  const discovery = await testNetwork()
  const responder = await startMdnsResponder(t, discovery.ports.discovery)
  const lamp = createSocket('udp4')
  t.after(() => lamp.close())
  await new Promise<void>((resolve) => lamp.bind(0, '127.0.0.1', resolve))
  const name = { type: '_shelly._tcp', name: 'Lamp', host: 'lamp.local', address: '127.0.0.1' }
  responder.announce({ ...name, port: lamp.address().port })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket()
        search = plugin:discover("_shelly._tcp", function(found) socket:send(found.host, found.port, "on") end)
      end)
    `),
    async ({ recorder }) => {
      let heard = ''
      lamp.on('message', (data) => {
        heard = data.toString()
      })
      await recorder.until(() => (heard === 'on' ? true : undefined))
      assert.deepEqual(recorder.logs(), [])
    },
    { outside: { discovery } },
  )
})

test('§15 devices of UPnP are told when they are found, when they change and when they go', async (t) => {
  const discovery = await testNetwork()
  const responder = await startSsdpResponder(t, discovery.ports.ssdp)
  const target = 'urn:schemas-upnp-org:device:MediaRenderer:1'
  const radio = { target, usn: `uuid:1::${target}`, location: 'http://radio.example:8200/description.xml' }
  responder.announce(radio)
  await withOutside(
    pluginSource(finder(`plugin:discoverSsdp("${target}", tell)`)),
    async ({ recorder, outside }) => {
      await recorder.logged('there')
      responder.announce({ ...radio, location: 'https://[2001:db8::1]/d.xml' })
      await recorder.logged('443')
      responder.announce({ target: 'upnp:rootdevice', usn: 'uuid:1' })
      responder.withdraw(radio)
      await recorder.logged('gone')
      const rest = `server=Test/1.0 UPnP/1.0 st=${target} usn=uuid:1::${target}`
      assert.deepEqual(recorder.logs(), [
        `info there\tuuid:1::${target}\tradio.example\t127.0.0.1\t8200\tlocation=${radio.location} ${rest}`,
        `info there\tuuid:1::${target}\t2001:db8::1\t127.0.0.1\t443\tlocation=https://[2001:db8::1]/d.xml ${rest}`,
        `info gone\tuuid:1::${target}\t2001:db8::1\t127.0.0.1\t443\tlocation=https://[2001:db8::1]/d.xml ${rest}`,
      ])
      assert.deepEqual(
        outside.connections('@test/probe').map(({ kind, target: to }) => [kind, to]),
        [['ssdp', target]],
      )
    },
    { outside: { discovery } },
  )
})

test('§15 a search of some seconds ends where there is no network, too', async () => {
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local options, failures = { seconds = 0.2, reconnect = { min = 50, max = 50 } }, 0
        plugin:discover("_http._tcp", function() end, options):onClose(function(reason)
          failures = failures + 1
          if reason == nil then print("over") print("done") elseif failures == 50 then print("for ever") print("done") end
        end)
      end)
    `),
  )
  assert.deepEqual(lines, ['over'])
})

test('§15 after close there is no callback, and a search of some seconds ends by itself', async (t) => {
  const discovery = await testNetwork()
  const responder = await startMdnsResponder(t, discovery.ports.discovery)
  responder.announce({ type: '_a._tcp', name: 'one' })
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local closed
        closed = plugin:discover("_a._tcp", function(found)
          print(found.name, closed:close() == closed)
          plugin:discover("_a._tcp", function(again) print("again", again.name) end, { seconds = 0.3 })
            :onClose(function(reason) print("over", reason) print("done") end)
        end)
        closed:onClose(function() print("never") end)
      end)
    `),
    { outside: { discovery } },
  )
  assert.deepEqual(lines, ['one\ttrue', 'again\tone', 'over\tnil'])
})

test('§15 what is refused, or makes no sense, is told once', async () => {
  const discovery = await testNetwork()
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local left = 0
        local function try(name, method, sought, options)
          left = left + 1
          plugin[method](plugin, sought, print, options):onClose(function(reason)
            print(name, reason)
            left = left - 1
            if left == 0 then print("done") end
          end)
        end
        try(1, "discover", "_secret._tcp")
        try(2, "discover", "_x._sub._secret._tcp")
        try(3, "discover", "http")
        try(4, "discover", "_http._tcp", { seconds = 0 })
        try(5, "discoverSsdp", "ssdp:all\\r\\nX: y")
        try(6, "discoverSsdp", "_secret._tcp")
        print(pcall(plugin.discover, plugin, "_http._tcp"))
      end)
    `),
    {
      outside: { discovery },
      allowed: { discover: (wanted) => (wanted === '_secret._tcp' ? 'not allowed' : undefined) },
    },
  )
  assert.deepEqual(lines.sort(), [
    '1\tnot allowed',
    '2\tnot allowed',
    '3\t"http" is no service of DNS-SD, such as "_http._tcp"',
    '4\tseconds must be a number above 0, and 1000000000 at most',
    '5\t"ssdp:all\\r\\nX: y" is no search target of SSDP, such as "ssdp:all"',
    '6\tnot allowed',
    "false\tbad argument #2 to 'discover' (function expected, got nil)",
  ])
})

test('§15 a plugin that is busy is told the last of each thing, and all of it', async (t) => {
  const discovery = await testNetwork()
  const responder = await startMdnsResponder(t, discovery.ports.discovery)
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local last, count = {}, 0
        plugin:discover("_b._tcp", function(found)
          if count == 0 then local stop = os.clock() + 0.5 while os.clock() < stop do end end
          count = count + 1
          last[found.name] = found.port
          local sum, names = 0, 0
          for _, port in pairs(last) do sum = sum + port names = names + 1 end
          if names == 40 and sum == 40 * 99 then print("all") end
        end)
        print("looking")
      end)
    `),
    async ({ recorder }) => {
      await recorder.logged('looking')
      await responder.askedFor('PTR _b._tcp.local')
      const txt = Array.from({ length: 8 }, (_, index) => `k${index}=${'x'.repeat(200)}`)
      for (let round = 97; round < 100; round += 1) {
        for (let at = 0; at < 40; at += 1)
          responder.announce({ type: '_b._tcp', name: `n${at}`, host: `h${at}.local`, port: round, txt })
        // As fast as a network would be.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      await recorder.logged('all')
    },
    { outside: { discovery } },
  )
})

test('§15 a machine without a network says so, and looks again when there is one', async (t) => {
  const discovery = await testNetwork()
  const responder = await startMdnsResponder(t, discovery.ports.discovery)
  responder.announce({ type: '_c._tcp', name: 'late' })
  let isThere = false
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local search = plugin:discover("_c._tcp", function(found) print(found.name) end, { reconnect = { min = 50, max = 50 } })
        search:onClose(function(reason) print("none", reason) end)
      end)
    `),
    async ({ recorder, outside }) => {
      await recorder.logged('none\tthis machine has no network')
      assert.equal(outside.connections('@test/probe')[0]?.lastError, 'this machine has no network')
      isThere = true
      await recorder.logged('info late')
    },
    { outside: { discovery: { ...discovery, networks: () => (isThere ? loopback() : {}) } } },
  )
})
