import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

/** A server; what it does with each client is the test's. */
async function serve(t: TestContext, client: (socket: WebSocket, count: number) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  let count = 0
  server.on('connection', (socket) => {
    count += 1
    client(socket, count)
  })
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/rpc?token=x` }
}

test('§15 a WebSocket says texts and bytes, each as what it is, and hears them', async (t) => {
  const heard: string[] = []
  const { server, url } = await serve(t, (socket) => {
    socket.on('message', (data: Buffer, isBinary) => {
      heard.push(`${isBinary} ${data.toString('latin1')}`)
      socket.send(data, { binary: isBinary })
    })
  })
  const headers: unknown[] = []
  server.on('headers', (_all, request) =>
    headers.push([request.headers['x-a'], request.headers['sec-websocket-protocol'], request.url]),
  )
  const lines = await printedBy(
    pluginSource(`
      local socket, seen = nil, 0
      plugin:onInit(function()
        socket = plugin:webSocket("${url}", { headers = { ["X-A"] = "b" }, protocols = { "one", "two" } })
        print(socket:isOpen(), socket:send("early"))
        print(socket:onOpen(function()
          print(socket:isOpen(), socket:send("täxt") == socket, socket:send("\\255\\0") == socket)
          socket:sendJson({ a = { 1, 2 } })
          print(pcall(socket.sendJson, socket, print))
          socket:send("t", true)
          socket.send("dot")
        end) == socket)
        socket:onMessage(function(data, isBinary)
          seen = seen + 1
          print(#data, isBinary, seen)
          if seen == 5 then socket:close() print(socket:isOpen(), socket:send("late")) print("done") end
        end)
        socket:onClose(function() print("never") end)
      end)
    `),
  )
  assert.deepEqual(lines, [
    'false\tfalse\tnot connected',
    'true',
    'true\ttrue\ttrue',
    'false\ta function cannot be sent as JSON',
    '5\tfalse\t1',
    '2\ttrue\t2',
    '11\tfalse\t3',
    '1\ttrue\t4',
    '3\tfalse\t5',
    'false\tfalse\tnot connected',
  ])
  assert.deepEqual(headers, [['b', 'one,two', '/rpc?token=x']])
  assert.deepEqual(heard, ['false tÃ¤xt', 'true \xff\0', 'false {"a":[1,2]}', 'true t', 'false dot'])
})

test('§15 a WebSocket that is dropped comes back, and says why it went', async (t) => {
  const { url } = await serve(t, (socket, count) => {
    socket.send(`hello ${count}`)
    if (count === 1) setImmediate(() => socket.terminate())
    if (count === 2) socket.close(4001, 'go away')
  })
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:webSocket("${url}", { reconnect = { min = 50, max = 100 } })
        socket:onMessage(function(data) print(data) if data == "hello 3" then print("done") end end)
        socket:onClose(function(code, reason) print(code, reason) end)
      end)
    `),
  )
  assert.deepEqual(lines, ['hello 1', '1006\tnil', 'hello 2', '4001\tgo away', 'hello 3'])
})

test('§15 a WebSocket that is not to come back is over when it is lost', async (t) => {
  const { url, server } = await serve(t, (socket) => socket.close(1001, 'bye'))
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:webSocket("${url}", { reconnect = false })
        socket:onClose(function(code, reason) print(code, reason, socket:isOpen()) end)
      end)
    `),
    async ({ recorder, isolate, outside }) => {
      await recorder.logged('1001\tbye\tfalse')
      await recorder.until(() => (isolate.resources().sockets === 0 ? true : undefined))
      assert.deepEqual(outside.connections('@test/probe'), [])
      assert.equal(server.clients.size, 0)
    },
  )
})

test('§15 what a WebSocket is refused is told once, later, and not tried again', async () => {
  const asked: unknown[] = []
  const lines = await printedBy(
    pluginSource(`
      local open = 5
      local function try(...)
        local socket, told = plugin:webSocket(...), false
        local url = ...
        socket:onClose(function(code, reason)
          print(url, code, told, (reason:gsub(":%d+", "")))
          told = true
          open = open - 1
          if open == 0 then print("done") end
        end)
      end
      plugin:onInit(function()
        try("ws://forbidden.example/")
        try("ws://127.0.0.1:4711/")
        try("http://127.0.0.1/")
        try("ws://a/", { reconnect = { min = 1 } })
        try("ws://a/", { protocols = { "two words" } })
        print("begun")
      end)
    `),
    {
      outside: { ownPorts: () => [4711] },
      allowed: {
        connect(host, port) {
          asked.push([host, port])
          return host === 'forbidden.example' ? 'not allowed' : undefined
        },
      },
    },
  )
  assert.equal(lines[0], 'begun')
  assert.deepEqual(lines.slice(1).sort(), [
    'http://127.0.0.1/\tnil\tfalse\tthe address of a WebSocket is absolute and begins with ws:// or wss://',
    'ws://127.0.0.1:4711/\tnil\tfalse\t127.0.0.1 is this host itself at that port: its own HTTP and MQTT are closed to plugins. The plugin API has what a plugin may do with the host.',
    'ws://a/\tnil\tfalse\tAn invalid or duplicated subprotocol was specified',
    'ws://a/\tnil\tfalse\treconnect.min must be a number of milliseconds from 50 to 86400000',
    'ws://forbidden.example/\tnil\tfalse\tnot allowed',
  ])
  assert.deepEqual(asked[0], ['forbidden.example', 80])
})

test('§15 a server that answers no pings is left, and one that refuses says so', async (t) => {
  const { server, url } = await serve(t, (socket, count) => {
    // What is not read is not answered.
    if (count === 1) socket.pause()
  })
  const lines = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        local socket = plugin:webSocket("${url}", { ping = 100, reconnect = { min = 50, max = 50 } })
        local opened = 0
        socket:onOpen(function()
          opened = opened + 1
          -- The second time pongs come, for as long as it takes to see that nothing happens.
          if opened == 2 then plugin:setTimeout(500, function() print(socket:isOpen()) print("done") end) end
        end)
        socket:onClose(function(code, reason) print(code, reason) end)
      end)
    `),
  )
  assert.deepEqual(lines, ['1006\t127.0.0.1 does not answer pings', 'true'])
  server.shouldHandle = () => false
  const refused = await printedBy(
    pluginSource(`
      plugin:onInit(function()
        plugin:webSocket("${url}", { reconnect = false }):onClose(function(code, reason)
          print(code, reason)
          print("done")
        end)
      end)
    `),
  )
  assert.deepEqual(refused, ['1006\t127.0.0.1 answered HTTP 400'])
})

for (const [title, bytes, reason] of [
  [
    'sends more than a message may have',
    [0x82, 127, 0, 0, 0, 0, 0, 0x20, 0, 0],
    '1006\tMax payload size exceeded (WS_ERR_UNSUPPORTED_MESSAGE_LENGTH)',
  ],
  ['says that it ends', [0x88, 2, 0x0f, 0xa1], '4001\tnil'],
] as const)
  test(`§15 a server that ${title}, and does not hang up, is left soon`, async (t) => {
    const { url, server } = await serve(t, (socket) => socket.pause())
    server.on('connection', (_socket, { socket }) => socket.write(Buffer.from(bytes)))
    const begun = performance.now()
    const lines = await printedBy(
      pluginSource(`
        plugin:onInit(function()
          local socket = plugin:webSocket("${url}", { reconnect = false })
          socket:onClose(function(code, reason) print(code, reason) print("done") end)
        end)
      `),
    )
    assert.deepEqual(lines, [reason])
    // Left alone, the library waits for thirty seconds.
    assert.ok(performance.now() - begun < 20_000)
  })

for (const [title, scheme, begin] of [
  ['says nothing', 'ws', ''],
  ['never comes to the end of its answer', 'ws', 'HTTP/1.1 101 Switching Protocols\r\nX-Wait:'],
  ['says nothing in the handshake of TLS', 'wss', ''],
] as const)
  test(`§15 a server that ${title} is left after ten seconds, and tried again`, async (t) => {
    const clock = createManualClock()
    const clients: Socket[] = []
    const server = createServer((socket) => {
      clients.push(socket)
      socket.on('error', () => undefined)
      socket.write(begin)
    })
    const port = await listen(server)
    t.after(() => {
      for (const socket of clients) socket.destroy()
      server.close()
    })
    await withOutside(
      pluginSource(`
        plugin:onInit(function()
          local url = "${scheme}://127.0.0.1:${port}/"
          local socket = plugin:webSocket(url, { reconnect = { min = 50, max = 50 } })
          socket:onClose(function(code, reason) print(code, reason, socket:isOpen()) end)
        end)
      `),
      async ({ recorder }) => {
        await recorder.until(() => (clients.length === 1 ? true : undefined))
        clock.advance(10_000)
        await recorder.logged('1006\ttimeout: 127.0.0.1 does not answer\tfalse')
        clock.advance(50)
        await recorder.until(() => (clients.length === 2 ? true : undefined))
      },
      { outside: { clock } },
    )
  })

for (const [what, open] of [
  ['a WebSocket', (port: number) => `plugin:webSocket("ws://127.0.0.1:${port}/")`],
  ['a TLS connection', (port: number) => `plugin:tcpConnect("127.0.0.1", ${port}, { tls = true })`],
] as const)
  test(`§15 ${what} whose plugin ends while it is being made leaves neither a connection nor a timer`, async (t) => {
    const clock = createManualClock()
    const clients: Socket[] = []
    const server = createServer((socket) => {
      clients.push(socket)
      socket.on('error', () => undefined).resume()
    })
    const port = await listen(server)
    t.after(() => {
      for (const socket of clients) socket.destroy()
      server.close()
    })
    await withOutside(
      pluginSource(`plugin:onInit(function() ${open(port)}:onClose(print) end)`),
      async ({ recorder, isolate, outside }) => {
        await recorder.until(() => (clients.length === 1 ? true : undefined))
        await isolate.unload()
        assert.deepEqual(outside.connections('@test/probe'), [])
        await recorder.until(() => (clients[0]?.destroyed === true ? true : undefined))
        assert.equal(clock.waiting, 0)
        assert.deepEqual(recorder.logs(), [])
      },
      { outside: { clock } },
    )
  })

test('§15 connections end with the plugin, what it said last included', async (t) => {
  const heard: string[] = []
  let closed = 0
  const { url } = await serve(t, (socket) => {
    socket.on('message', (data: Buffer) => heard.push(data.toString()))
    socket.on('close', (code) => {
      closed = code
    })
  })
  await withOutside(
    pluginSource(`
      local socket
      plugin:onInit(function()
        socket = plugin:webSocket("${url}")
        socket:onOpen(function() print("open") end)
        socket:onClose(function() print("never") end)
      end)
      plugin:onCleanup(function() socket:send("last words") end)
    `),
    async ({ recorder, isolate, outside }) => {
      await recorder.logged('open')
      await recorder.until(() => (isolate.resources().sockets === 1 ? true : undefined))
      const [view] = outside.connections('@test/probe')
      assert.match(view?.target ?? '', /^ws:\/\/127\.0\.0\.1:\d+$/)
      assert.equal(view?.state, 'open')
      await isolate.unload()
      assert.deepEqual(outside.connections('@test/probe'), [])
      assert.deepEqual(heard, ['last words'])
      assert.equal(closed, 1000)
      assert.ok(!recorder.logs().includes('info never'))
    },
  )
})

test('§15 a server that sends faster than the plugin takes is held back, and nothing is lost', async (t) => {
  const count = 400
  const block = Buffer.alloc(60 * 1024, 'x')
  let most = 0
  const { url } = await serve(t, (socket) => {
    let sent = 0
    const more = (): void => {
      most = Math.max(most, socket.bufferedAmount)
      while (sent < count) {
        sent += 1
        socket.send(block)
      }
    }
    more()
  })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local seen = 0
        plugin:webSocket("${url}"):onMessage(function(data)
          -- As long as a plugin has something else to do, what comes has to wait.
          if seen == 0 then local stop = os.clock() + 0.5 while os.clock() < stop do end end
          seen = seen + #data
          if seen == ${count * block.length} then print("all of it") end
        end)
      end)
    `),
    async ({ recorder, outside }) => {
      await recorder.until(() => (outside.connections('@test/probe')[0]?.bytesIn ?? 0) > 0 || undefined)
      const early = outside.connections('@test/probe')[0]?.bytesIn ?? 0
      assert.ok(early < 2 * 1024 * 1024, `${early} bytes were taken of one who does not read`)
      await recorder.logged('all of it')
    },
  )
})

test('§15 a plugin that writes faster than its peer reads is told, and may go on later', async (t) => {
  let peer: WebSocket | undefined
  let bytes = 0
  const { url } = await serve(t, (socket) => {
    peer = socket
    socket.pause()
    socket.on('message', (data: Buffer) => {
      bytes += data.length
    })
  })
  await withOutside(
    pluginSource(`
      local block, sent = ("x"):rep(100 * 1024), 0
      plugin:onInit(function()
        local socket = plugin:webSocket("${url}")
        local function write()
          while sent < 300 do
            local ok, why = socket:send(block)
            if not ok then
              if sent > 0 then print(why) end
              plugin:setTimeout(20, write)
              return
            end
            sent = sent + 1
          end
          print("sent")
        end
        socket:onOpen(write)
      end)
    `),
    async ({ recorder }) => {
      await recorder.logged('too much is waiting to be sent: 1048576 bytes at most')
      peer?.resume()
      await recorder.logged('info sent')
      await recorder.until(() => (bytes === 300 * 100 * 1024 ? true : undefined))
    },
  )
})
