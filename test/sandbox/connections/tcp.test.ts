import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'
import { listen } from '../../helpers/listen.ts'

const tlsFolder = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const certificate = readFileSync(join(tlsFolder, 'certificate.pem'), 'utf8')
const key = readFileSync(join(tlsFolder, 'key.pem'), 'utf8')

/** A server; what it does with each client is the test's. Answers its port. */
async function serve(
  t: TestContext,
  client: (socket: Socket, count: number) => void,
  tls = false,
): Promise<number> {
  let count = 0
  const sockets = new Set<Socket>()
  const listener = (socket: Socket): void => {
    count += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    client(socket, count)
  }
  const server = tls ? createTlsServer({ cert: certificate, key }, listener) : createServer(listener)
  server.on('tlsClientError', () => undefined)
  const port = await listen(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return port
}

test('§15 a TCP connection carries bytes both ways', async (t) => {
  const port = await serve(t, (socket) => socket.pipe(socket))
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local all = ""
        local connection = plugin:tcpConnect("127.0.0.1", ${port})
        print(connection:isConnected(), connection:write("early"))
        print(connection:onConnect(function()
          print(connection:isConnected(), connection:write("\\0\\255") == connection, connection:write(12) == connection)
        end):onData(function(data)
          all = all .. data
          if #all == 4 then
            print(all:byte(1, -1))
            connection:close():close()
            print(connection:isConnected(), connection.write("late"))
            print("done")
          end
        end):onClose(function() print("never") end) == connection)
      end)
    `),
  )
  assert.deepEqual(lines, [
    'false\tfalse\tnot connected',
    'true',
    'true\ttrue\ttrue',
    '0\t255\t49\t50',
    'false\tfalse\tnot connected',
  ])
})

test('§15 what comes over TCP falls into frames', async (t) => {
  const port = await serve(t, (socket) => {
    socket.once('data', (wish) => {
      const [what] = wish.toString()
      if (what === 'l') socket.write('one\r\n\ntwo\nrest')
      else if (what === 'd') socket.write('a\x03\x03b')
      else if (what === 'n') socket.write(Buffer.from([0, 2, 65, 66, 0, 0]))
      else socket.write(Buffer.alloc(1024 * 1024 + 10))
    })
  })
  const lines = await printedBy(
    pluginSource(`
      local wishes, index = { { "l", "line" }, { "d", { delimiter = "\\3" } }, { "n", { length = 2 } }, { "x", "line" } }, 0
      local function nextOne()
        index = index + 1
        local wish = wishes[index]
        if wish == nil then print("done") return end
        local frames = {}
        local connection = plugin:tcpConnect("127.0.0.1", ${port}, { framing = wish[2], reconnect = false })
        connection:onConnect(function() connection:write(wish[1]) end)
        connection:onData(function(data)
          frames[#frames + 1] = "<" .. data .. ">"
          if #frames == 2 then print(wish[1], table.concat(frames)) connection:close() nextOne() end
        end)
        connection:onClose(function(err) print(wish[1], err) nextOne() end)
      end
      plugin:onInit(nextOne)
    `),
  )
  assert.deepEqual(lines, [
    'l\t<one><>',
    'd\t<a><>',
    'n\t<AB><>',
    'x\tthe other side has sent a frame of more than 1048576 bytes',
  ])
})

test('§15 what comes is cut in the worker of the plugin, and not on the thread of the host', async (t) => {
  const count = 20_000
  const port = await serve(t, (socket) => socket.end('line\n'.repeat(count)))
  let handedOver = 0
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local count = 0
        plugin:tcpConnect("127.0.0.1", ${port}, { framing = "line", reconnect = false })
          :onData(function() count = count + 1 end)
          :onClose(function() print("counted " .. count) end)
      end)
    `),
    async ({ recorder }) => {
      assert.equal(await recorder.logged('counted'), `info counted ${count}`)
      assert.ok(handedOver < 1_000, `${handedOver} pieces`)
    },
    {
      prepare(recorder) {
        const { connect } = recorder
        recorder.connect = (target, listener, foreignCaller) => {
          const message: typeof listener.message = (...args) => {
            handedOver += 1
            listener.message(...args)
          }
          return connect(target, { ...listener, message }, foreignCaller)
        }
      },
    },
  )
})

test('§15 a connection over TLS is trusted by its certificate, or because the plugin says so', async (t) => {
  const names: unknown[] = []
  const port = await serve(
    t,
    (socket) => {
      names.push((socket as Socket & { servername: unknown }).servername)
      socket.write('hello')
    },
    true,
  )
  const lines = await printedBy(
    pluginSource(
      `
      local ways = {
        { tls = true },
        { tls = { ca = plugin.config.ca } },
        { tls = { insecureSkipVerify = true, serverName = "meter.local" } },
        { tls = { insecureSkipVerify = true }, host = "localhost" },
      }
      local index = 0
      local function nextOne()
        index = index + 1
        local way = ways[index]
        if way == nil then print("done") return end
        way.reconnect = false
        local host = way.host or "127.0.0.1"
        way.host = nil
        local connection = plugin:tcpConnect(host, ${port}, way)
        connection:onData(function(data) print(index, data) connection:close() nextOne() end)
        connection:onClose(function(err) print(index, err) nextOne() end)
      end
      plugin:onInit(nextOne)
      `,
      { config: { ca: certificate } },
    ),
  )
  assert.match(lines[0] ?? '', /^1\tthe certificate of 127\.0\.0\.1 is not trusted: /)
  assert.deepEqual(lines.slice(1), ['2\thello', '3\thello', '4\thello'])
  // An address is no name that a server could be asked for.
  assert.deepEqual(names.slice(-3), [false, 'meter.local', 'localhost'])
})

test('§15 a connection that is lost is made again, and says why it went', async (t) => {
  const port = await serve(t, (socket, count) => {
    if (count === 1) socket.resetAndDestroy()
    else if (count === 2) socket.end('bye')
    else socket.write('back')
  })
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local connection = plugin:tcpConnect("127.0.0.1", ${port}, { reconnect = { min = 50, max = 100 } })
        connection:onData(function(data) print(data) if data == "back" then print("done") end end)
        connection:onClose(function(err) print(err) end)
      end)
    `),
  )
  assert.deepEqual(lines, ['127.0.0.1 broke off the connection (ECONNRESET)', 'bye', 'nil', 'back'])
})

test('§15 what was written to a connection that went does not reach the next one', async (t) => {
  const heard: string[] = []
  const port = await serve(t, (socket, count) => {
    socket.on('data', (data) => heard.push(`${count} ${data.toString()}`))
    if (count === 1) setImmediate(() => socket.destroy())
  })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local opened = 0
        local connection = plugin:tcpConnect("127.0.0.1", ${port}, { reconnect = { min = 50, max = 50 } })
        connection:onConnect(function()
          opened = opened + 1
          if opened == 2 then connection:write("second") return end
          -- The connection goes and comes back meanwhile; the plugin hears of it later.
          local stop = os.clock() + 0.6
          while os.clock() < stop do end
          connection:write("first")
        end)
      end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => (heard.length > 0 ? true : undefined))
      assert.deepEqual(heard, ['2 second'])
    },
  )
})

test('§15 a place that does not answer, and one that cannot be one, are told by onClose', async (t) => {
  // A listener that is full takes no more, and says nothing.
  const port = await serve(t, (socket) => socket.pause())
  const plain = await serve(t, (socket) => socket.end('220 welcome\r\n'))
  const lines = await printedBy(
    pluginSource(
      `
      local left = 7
      local function try(name, ...)
        plugin:tcpConnect(...):onClose(function(err)
          print(name, (err:gsub(" %(%u+%)", "")))
          left = left - 1
          if left == 0 then print("done") end
        end)
      end
      plugin:onInit(function()
        try("1", "127.0.0.1", 99999)
        try("2", "two words", 80)
        try("3", "127.0.0.1", 80, { framing = "lines" })
        try("4", "127.0.0.1", ${port}, { tls = true, timeout = 100, reconnect = false })
        try("5", "127.0.0.1", ${plain}, { tls = true, reconnect = false })
        try("6", "127.0.0.1", ${port}, { tls = { ca = "/etc/ssl/authority.pem" }, timeout = 100 })
        try("7", "127.0.0.1", ${port}, { tls = { ca = plugin.config.ca }, timeout = 100 })
      end)
    `,
      { config: { ca: certificate.slice(0, 200) } },
    ),
  )
  assert.deepEqual(lines.sort(), [
    '1\tthe port must be a whole number from 1 to 65535',
    '2\tthe host must be a name or an address',
    '3\tframing must be "line", { length = 2 or 4 }, { delimiter = "…" } or { silence = milliseconds }',
    '4\ttimeout: 127.0.0.1 does not answer',
    '5\twhat answers at 127.0.0.1 does not speak TLS: wrong version number (ERR_SSL_WRONG_VERSION_NUMBER)',
    ...['6', '7'].map(
      (name) =>
        `${name}\ttls.ca has no certificate that can be read: it takes the text of a PEM file, -----BEGIN CERTIFICATE----- and so on`,
    ),
  ])
})

test('§15 a framing that makes no sense is told by onClose, and nothing is connected', async (t) => {
  const port = await serve(t, () => undefined)
  const framings = [
    ['nil', 'true'],
    ['"line"', 'true'],
    ['{ length = 2 }', 'true'],
    ['{ length = 4 }', 'true'],
    ['{ silence = 0.1 }', 'true'],
    ['{ silence = 60000 }', 'true'],
    ['{ delimiter = ("x"):rep(64) }', 'true'],
    ['{ delimiter = ("x"):rep(65) }', 'a delimiter has 1 to 64 bytes, not 65'],
    ['{ delimiter = "" }', 'a delimiter has 1 to 64 bytes, not 0'],
    ...[
      '{}',
      '{ length = 3 }',
      '{ length = "two" }',
      '{ silence = 0 }',
      '{ silence = 60001 }',
      '"block"',
      '7',
    ].map((framing) => [
      framing,
      'framing must be "line", { length = 2 or 4 }, { delimiter = "…" } or { silence = milliseconds }',
    ]),
  ] as const
  const lines = await printedBy(
    pluginSource(`
      local left = ${framings.length}
      local function tell(...)
        print(...)
        left = left - 1
        if left == 0 then print("done") end
      end
      local function try(number, framing)
        local connection = plugin:tcpConnect("127.0.0.1", ${port}, { framing = framing })
        connection:onConnect(function() tell(number, true) connection:close() end)
        connection:onClose(function(err) tell(number, err) end)
      end
      plugin:onInit(function()
        ${framings.map(([framing], index) => `try(${index}, ${framing})`).join('\n')}
      end)
    `),
  )
  assert.deepEqual(
    lines.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10)),
    framings.map(([, told], index) => `${index}\t${told}`),
  )
})

test('§15 another plugin needs the permission, too, for a connection that it has this one make', async (t) => {
  const port = await serve(t, (socket) => socket.write('x'))
  const asked: unknown[] = []
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        plugin:tcpConnect("127.0.0.1", ${port}):onData(print)
      end)
    `),
    ({ recorder }) => recorder.logged('info x').then(() => undefined),
    {
      allowed: {
        connect(...args) {
          asked.push(args)
          return undefined
        },
      },
    },
  )
  assert.deepEqual(asked, [['127.0.0.1', port, undefined]])
})
