import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { networksOf } from '../../../src/outside/networks.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

const withoutIPv6 = networksOf('IPv6').length === 0 && 'this machine has no network of IPv6'

/** A UDP socket of the test's. */
async function open(t: TestContext, options: { multicast?: boolean } = {}): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  if (options.multicast === true) socket.setMulticastInterface('127.0.0.1')
  t.after(() => socket.close())
  return socket
}

/** Prints the port of the plugin's socket as soon as it has one. */
const tellPort = `
  local function tell()
    if socket:port() then print("port " .. socket:port()) else plugin:setTimeout(5, tell) end
  end
  tell()`

test('§15 datagrams go out and come in, each whole and with where it is from', async (t) => {
  const peer = await open(t)
  peer.on('message', (data, { port }) => {
    peer.send(Buffer.concat([Buffer.from('re:'), data]), port, '127.0.0.1')
    peer.send('', port, '127.0.0.1')
  })
  const { port } = peer.address()
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket()
        print(socket:port())
        local seen = 0
        print(socket:onMessage(function(data, host, port)
          seen = seen + 1
          print(#data, data:sub(1, 3), host, port == ${port}, type(socket:port()))
          if seen == 2 then
            print(socket:send("127.0.0.1", ${port}, ("x"):rep(65508)))
            socket:close()
            print(socket:port(), socket:send("127.0.0.1", ${port}, "late"))
            print("done")
          end
        end) == socket)
        print(socket:send("127.0.0.1", ${port}, "\\0\\255") == socket)
      end)
    `),
  )
  assert.deepEqual(lines, [
    'nil',
    'true',
    'true',
    '5\tre:\t127.0.0.1\ttrue\tnumber',
    '0\t\t127.0.0.1\ttrue\tnumber',
    'false\ta datagram has 65507 bytes at most, not 65508',
    'nil\tfalse\tnot connected',
  ])
})

test('§15 a socket hears the groups that it has joined, on loopback too', async (t) => {
  const sender = await open(t, { multicast: true })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket({ multicast = { "239.255.77.1", "239.255.77.2" } })
        socket:onMessage(function(data) print(data) end)
        ${tellPort}
      end)
    `),
    async ({ recorder, outside }) => {
      const port = Number((await recorder.logged('info port ')).split(' ')[2])
      sender.send('to the first', port, '239.255.77.1')
      await recorder.logged('to the first')
      sender.send('to the second', port, '239.255.77.2')
      await recorder.logged('to the second')
      assert.equal(outside.connections('@test/probe')[0]?.bytesIn, 'to the firstto the second'.length)
    },
  )
})

test(
  '§15 a socket with groups of IPv4 and of IPv6 is not refused, and hears those of IPv4, too',
  { skip: withoutIPv6 },
  async (t) => {
    const sender = await open(t, { multicast: true })
    await withOutside(
      pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket({ multicast = { "239.255.77.4", "ff02::1:78" } })
        socket:onMessage(function(data) print(data) end)
        socket:onClose(function(reason) print(reason) end)
        ${tellPort}
      end)
    `),
      async ({ recorder }) => {
        const port = Number((await recorder.logged('info port ')).split(' ')[2])
        sender.send('over IPv4', port, '239.255.77.4')
        await recorder.logged('over IPv4')
      },
    )
  },
)

test('§15 groups and places of IPv6 may have their brackets', { skip: withoutIPv6 }, async (t) => {
  const peer = await open(t)
  peer.on('message', (data, { port }) => peer.send(data, port, '127.0.0.1'))
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket({ multicast = "[ff02::1:77]" })
        socket:onMessage(function(data, host) print(data, host) print("done") end)
        socket:onClose(function(err) print(err) print("done") end)
        socket:send("[::ffff:127.0.0.1]", ${peer.address().port}, "here")
      end)
    `),
  )
  assert.deepEqual(lines, ['here\t::ffff:127.0.0.1'])
})

test('§15 a socket joins its groups again on a network that has come, or come back', async (t) => {
  const sender = await open(t, { multicast: true })
  const group = '239.255.77.3'
  const clock = createManualClock()
  const opened: Socket[] = []
  const note = (message: unknown): void => void opened.push((message as { socket: Socket }).socket)
  subscribe('udp.socket', note)
  t.after(() => unsubscribe('udp.socket', note))
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket({ multicast = "${group}" })
        socket:onMessage(function(data, host, port) print(data) socket:send(host, port, "seen") end)
        socket:onClose(function(reason) print(reason) end)
      end)
    `),
    async ({ recorder, outside }) => {
      await recorder.until(() => (outside.connections('@test/probe')[0]?.state === 'open' ? true : undefined))
      // As the system does when a network goes.
      const socket = opened.find((one) => one !== sender)
      socket?.dropMembership(group, '127.0.0.1')
      clock.advance(10_000)
      sender.send('is heard', socket?.address().port, group)
      await recorder.logged('is heard')
      clock.advance(10_000)
      sender.send('is heard once', socket?.address().port, group)
      await recorder.logged('is heard once')
      assert.equal(recorder.logs().filter((line) => line.includes('is heard')).length, 2)
    },
    { outside: { clock } },
  )
})

test('§15 groups that no socket can join are told once, later, and not tried again', async () => {
  const lines = await printedBy(
    pluginSource(`
      local open = 4
      local function try(...)
        local groups, told = { ... }, false
        plugin:udpSocket({ multicast = #groups == 1 and groups[1] or groups }):onClose(function(reason)
          print(groups[1], told, reason)
          told = true
          open = open - 1
          if open == 0 then print("done") end
        end)
      end
      plugin:onInit(function()
        try("1.2.3.4")
        try("239.1.2.3", "240.0.0.1")
        try("everybody.example")
        try("fe80::1")
        print("begun")
      end)
    `),
  )
  assert.equal(lines[0], 'begun')
  const none =
    'is no multicast group; those are addresses from 224.0.0.0 to 239.255.255.255, or that begin with ff'
  assert.deepEqual(lines.slice(1).sort(), [
    `1.2.3.4\tfalse\t1.2.3.4 ${none}`,
    `239.1.2.3\tfalse\t240.0.0.1 ${none}`,
    `everybody.example\tfalse\teverybody.example ${none}`,
    `fe80::1\tfalse\tfe80::1 ${none}`,
  ])
})

test('§15 who sends to a broadcast address without the option is told that it is missing', async () => {
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        plugin:udpSocket():send("127.255.255.255", 9, "x")
      end)
    `),
    async ({ recorder }) => {
      await recorder.logged('not sent to 127.255.255.255')
      assert.deepEqual(recorder.logs(), [
        'warn a datagram was not sent to 127.255.255.255: it is a broadcast address, for which the socket needs broadcast = true (EACCES)',
      ])
    },
  )
})

test('§15 the permission is asked for each place that a datagram goes to', async (t) => {
  const peer = await open(t)
  const heard: string[] = []
  peer.on('message', (data) => heard.push(data.toString()))
  const { port } = peer.address()
  const asked: unknown[] = []
  const allowed = {
    connect(host: string, at: number) {
      asked.push([host, at])
      return host === 'elsewhere.example' ? 'the manifest does not allow it' : undefined
    },
  }
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket()
        print(socket:send("elsewhere.example", 9, "x"))
        print(socket:send("elsewhere.example", 9, "x"))
        print(socket:send("127.0.0.1", ${port}, "hello") == socket)
      end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => (heard.length > 0 ? true : undefined))
      assert.deepEqual(recorder.logs(), [
        'info false\tthe manifest does not allow it',
        'info false\tthe manifest does not allow it',
        'info true',
      ])
    },
    {
      allowed,
      prepare: ({ services }) =>
        (services.refuseConnection = ({ host, port }) => allowed.connect(host, port)),
    },
  )
  assert.deepEqual(asked.slice(0, 2), [
    ['elsewhere.example', 9],
    ['127.0.0.1', port],
  ])
})

test('§15 a port that is in use is said, and tried again until it is free', async (t) => {
  const other = createSocket('udp4')
  other.bind(0)
  await once(other, 'listening')
  const { port } = other.address()
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket({ port = ${port}, reconnect = { min = 50, max = 50 } })
        local told = false
        socket:onClose(function(reason)
          if not told then print(reason) end
          told = true
        end)
        local function look()
          if socket:port() then print(socket:port() == ${port}) print("done") else plugin:setTimeout(10, look) end
        end
        look()
      end)
    `),
    {
      prepare(recorder) {
        void recorder.logged('is in use').then(() => other.close())
      },
    },
  )
  assert.deepEqual(lines, [`port ${port} is in use (EADDRINUSE)`, 'true'])
  assert.equal(t.signal.aborted, false)
})

test('§15 datagrams that a busy plugin does not take are dropped, and the log says how many', async (t) => {
  const sender = await open(t)
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:udpSocket()
        local first = true
        socket:onMessage(function()
          if first then local stop = os.clock() + 1 while os.clock() < stop do end end
          first = false
        end)
        ${tellPort}
      end)
    `),
    async ({ recorder, outside }) => {
      const port = Number((await recorder.logged('info port ')).split(' ')[2])
      const block = Buffer.alloc(30_000)
      const timer = setInterval(() => sender.send(block, port, '127.0.0.1'), 5)
      const line = await recorder.logged('datagrams were dropped').finally(() => clearInterval(timer))
      assert.match(
        line,
        /^warn \d+ datagrams were dropped: the plugin takes them more slowly than they come$/,
      )
      assert.equal(outside.connections('@test/probe')[0]?.state, 'open')
    },
  )
})
