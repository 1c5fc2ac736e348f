import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { listen } from '../helpers/listen.ts'
import { command, logMessages, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

interface View {
  kind: string
  target: string
  state: string
  lastError: string | null
  bytesIn: number
  bytesOut: number
}

test('what a plugin keeps open is listed with its state, and gone when the plugin is unloaded', async (t) => {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket))
  const port = await listen(server)
  t.after(() => server.close())
  const host = await startHostFor(t, {
    plugins: [
      {
        id: 'caller',
        lua: `local plugin = Plugin:new("caller")
          plugin:onInit(function()
            local echo = plugin:tcpConnect("127.0.0.1", ${port})
            echo:onConnect(function() echo:write("hello") end)
            plugin:webSocket("ws://user:secret@127.0.0.1:1/path?token=x", { reconnect = { min = 60000 } })
            plugin:udpSocket()
          end)`,
      },
    ],
  })
  const path = '/api/plugins/@fixtures/caller'
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/caller' } })
  await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  const views = await until('the connections', async () => {
    const { body } = await host.request('GET', path)
    const all = (body.connections ?? []) as View[]
    return all.length === 3 && all[0]?.bytesIn === 5 && all[1]?.state === 'waiting' ? all : undefined
  })
  assert.deepEqual(
    views.map(({ kind, target, state, lastError, bytesIn, bytesOut }) => [
      ...[kind, target, state, lastError, bytesIn, bytesOut],
    ]),
    [
      ['tcp', `tcp://127.0.0.1:${port}`, 'open', null, 5, 5],
      [
        ...['webSocket', 'ws://127.0.0.1:1', 'waiting'],
        ...['connection refused by 127.0.0.1 (ECONNREFUSED)', 0, 0],
      ],
      ['udp', 'udp', 'open', null, 0, 0],
    ],
  )
  const counted = await until('the counts', async () => {
    const { body } = await host.request('GET', path)
    return body.resources.sockets === 3 ? (body.resources.sockets as number) : undefined
  })
  assert.equal(counted, 3)
  const metrics = await host.request('GET', '/metrics')
  assert.match(metrics.body, /lupine_plugin_resources{plugin="@fixtures\/caller",resource="sockets"} 3/)
  await host.request('POST', `${path}/toggle`, { body: { enabled: false } })
  const { body } = await host.request('GET', path)
  assert.deepEqual([body.connections, body.resources.sockets], [undefined, 0])
  // What they have carried stays counted.
  const { body: later } = await host.request('GET', '/metrics')
  for (const direction of ['received', 'sent'])
    assert.match(
      later,
      new RegExp(
        `lupine_plugin_connection_bytes_total{plugin="@fixtures/caller",direction="${direction}"} 5\n`,
      ),
    )
})

test('a manifest that declares permissions allows the connections that it lists, and the host itself to nobody', async (t) => {
  const lua = (id: string): string => `local plugin = Plugin:new("${id}")
    plugin:onInit(function(config)
      plugin:tcpConnect("127.0.0.1", config.own):onClose(function(err) print("own", err) end)
      plugin:webSocket("ws://localhost:" .. config.own .. "/mqtt"):onClose(function(_, reason) print("name", reason) end)
      plugin:tcpConnect("127.0.0.2", 1, { reconnect = false }):onClose(function(err) print("other", err) end)
      plugin:serialPort("/dev/ttyUSB9", { reconnect = false }):onClose(function(err) print("serial", err) end)
      print("udp", plugin:udpSocket():send("127.0.0.2", 9, "x"))
    end)`
  const permissions = { hosts: ['127.0.0.1', 'localhost'] }
  const host = await startHostFor(t, {
    plugins: [
      { id: 'open', lua: lua('open') },
      { id: 'declared', lua: lua('declared'), manifest: { permissions } },
    ],
  })
  const own = Number(new URL(host.url).port)
  for (const id of ['open', 'declared']) {
    const path = `/api/plugins/@fixtures/${id}`
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    await host.request('POST', `${path}/config`, { body: { config: { own } } })
    await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
    const lines = await until('what was told', async () => {
      const { body } = await host.request('GET', `${path}/logs`)
      const all = (body.logs as { level: string; message: string }[]).filter(({ level }) => level === 'info')
      return all.length >= 5 ? all.map(({ message }) => message) : undefined
    })
    const said = (what: string): string => lines.find((line) => line.startsWith(`${what}\t`)) ?? ''
    for (const what of ['own', 'name']) assert.match(said(what), /is this host itself at that port/, id)
    const refusal =
      /does not allow it to (connect to|use the serial port) ".*"; add ".*" to permissions\.(hosts|serial)$/
    for (const what of ['other', 'serial', 'udp'])
      assert.equal(refusal.test(said(what)), id === 'declared', `${id}: ${said(what)}`)
  }
})

test('a wildcard of permissions allows names alone, and none that is looked up as another one', async (t) => {
  const lua = `local plugin = Plugin:new("disguised")
    plugin:onInit(function(config)
      for index, host in ipairs{ "127.0.0.1\\0.example.com", "::ffff:127.0.0.1%.example.com" } do
        local connection = plugin:tcpConnect(host, config.port, { reconnect = false })
        connection:onConnect(function() print("tcp", index, "connected") end)
        connection:onClose(function(err) print("tcp", index, err) end)
        Modbus.readHolding({ host = host, port = config.port, addr = 0, timeout = 100 }, function(_, err)
          print("Modbus", index, err)
        end)
        print("udp", index, plugin:udpSocket():send(host, config.port, "x"))
      end
    end)`
  const server = createServer((socket) => socket.on('error', () => undefined).end())
  let connections = 0
  server.on('connection', () => (connections += 1))
  const port = await listen(server)
  t.after(() => server.close())
  const permissions = { hosts: ['*.example.com'] }
  const host = await startHostFor(t, { plugins: [{ id: 'disguised', lua, manifest: { permissions } }] })
  await command(host, 'install', { fullId: '@fixtures/disguised' })
  await command(host, 'disguised/config', { config: { port } })
  await command(host, 'disguised/toggle')
  const lines = await until('what was told', async () => {
    const all = (await logMessages(host, 'disguised', '?level=info')).filter((line) =>
      /^(tcp|Modbus|udp)\t/.test(line),
    )
    return all.length >= 6 ? all : undefined
  })
  assert.deepEqual(
    lines.filter((line) => !line.includes('does not allow it to connect to')),
    [],
  )
  assert.equal(connections, 0)
})
