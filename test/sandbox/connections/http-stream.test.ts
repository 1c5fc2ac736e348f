import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { createBrotliCompress, createDeflate, createGzip } from 'node:zlib'
import { startDigestServer } from '../../outside/http/digest-server.ts'
import { type Respond, startWebServer, type WebServer } from '../../outside/web-server.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { printedBy, withOutside } from '../outside-stage.ts'
import { pluginSource } from '../stage.ts'

async function serve(t: TestContext, respond: Respond): Promise<WebServer> {
  const server = await startWebServer(respond)
  t.after(() => server.close())
  return server
}

const events = { 'Content-Type': 'text/event-stream' }

/** Prints what comes, and is done after so many lines. */
const watch = (options: string, count: number): string => `
  plugin:onInit(function()
    local left = ${count}
    local function show(...)
      if left == 0 then return end
      print(...)
      left = left - 1
      if left == 0 then print("done") end
    end
    local stream
    stream = plugin:httpStream({ ${options} }, {
      onEvent = function(event) show("event", event.event, event.data, tostring(event.id)) end,
      onLine = function(line) show("line", line) end,
      onClose = function(err) show("closed", tostring(err), stream:isOpen()) end,
    })
  end)`

test('§15 httpStream reads events as their standard says', async (t) => {
  const server = await serve(t, (_seen, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    response.write('\ufeffdata: first\n\n: a comment\nevent: add\ndata: {"a":1}\ndata\ndata:  two\nid: 7\n\n')
    response.write('data: split')
    setImmediate(() =>
      response.write(' in two\r\nid: a\0b\nnonsense: x\n\nevent: nothing\n\ndata: ü\n\ndata: cut off'),
    )
    setImmediate(() => setImmediate(() => response.end()))
  })
  const lines = await printedBy(pluginSource(watch(`url = "${server.url}", reconnect = false`, 5)))
  assert.deepEqual(lines, [
    'event\tmessage\tfirst\tnil',
    'event\tadd\t{"a":1}\n\n two\t7',
    'event\tmessage\tsplit in two\t7',
    'event\tmessage\tü\t7',
    'closed\tnil\tfalse',
  ])
  const [asked] = server.seen
  assert.equal(asked?.headers.accept, 'text/event-stream, */*')
  assert.equal(asked?.headers['last-event-id'], undefined)
})

test('§15 httpStream reads lines of what is no event stream, the last one too', async (t) => {
  const server = await serve(t, ({ method, body, headers }, response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.write(`${method} ${body} ${headers['x-mine']} ${headers.accept}\r\n\n{"a"`)
    response.end(':1}\nlast')
  })
  const options = `url = "${server.url}", query = { a = 1 }, method = "POST", json = { x = 1 },
    headers = { ["X-Mine"] = "yes", Accept = "mine" }, reconnect = false`
  const lines = await printedBy(pluginSource(watch(options, 5)))
  assert.deepEqual(lines, [
    'line\tPOST {"x":1} yes mine',
    'line\t',
    'line\t{"a":1}',
    'line\tlast',
    'closed\tnil\tfalse',
  ])
  assert.equal(server.seen[0]?.target, '/?a=1')
})

test('§15 httpStream comes back by itself, and says which event it has seen last', async (t) => {
  let count = 0
  const server = await serve(t, (_seen, response) => {
    count += 1
    if (count === 2) {
      response.writeHead(503).end('not now')
      return
    }
    response.writeHead(200, events)
    response.write(`retry: 60\nid: n${count}\ndata: ${count}\n\n`, () => {
      if (count === 1) response.destroy()
      else response.end()
    })
  })
  const options = `url = "${server.url}", reconnect = { min = 50, max = 100 }`
  const lines = await printedBy(pluginSource(watch(options, 5)))
  const [lost = '', ...rest] = lines.filter((line) => line.startsWith('closed'))
  assert.match(lost, /^closed\t127\.0\.0\.1(:\d+)? (broke off|closed) the connection/)
  assert.deepEqual(rest, ['closed\tHTTP 503\tfalse', 'closed\tnil\tfalse'])
  assert.deepEqual(
    lines.filter((line) => line.startsWith('event')),
    ['event\tmessage\t1\tn1', 'event\tmessage\t3\tn3'],
  )
  assert.deepEqual(
    server.seen.slice(0, 3).map(({ headers }) => headers['last-event-id']),
    [undefined, 'n1', 'n1'],
  )
})

test('§15 httpStream begins where the plugin says, and goes on behind what has come since', async (t) => {
  let count = 0
  const server = await serve(t, (_seen, response) => {
    count += 1
    response.writeHead(200, events)
    response.end(count === 1 ? '' : `id: ${count}\ndata: ${count}\n\n`)
  })
  const options = `url = "${server.url}", headers = { ["last-event-ID"] = "1" }, reconnect = { min = 50, max = 100 }`
  await printedBy(pluginSource(watch(options, 5)))
  assert.deepEqual(
    server.seen.slice(0, 3).map(({ headers }) => headers['last-event-id']),
    ['1', '1', '2'],
  )
})

test('§15 httpStream takes each of the three ends of a line, wherever the stream is cut', async (t) => {
  const server = await serve(t, (_seen, response) => {
    response.writeHead(200, events)
    response.write('data: one\r\rdata: two\r\n\r\ndata: three\r')
    setImmediate(() => response.end('\ndata: four\n\r'))
  })
  const lines = await printedBy(pluginSource(watch(`url = "${server.url}", reconnect = false`, 4)))
  assert.deepEqual(
    lines.map((line) => line.replace(/\tnil$/, '')),
    [...['one', 'two', 'three\nfour'].map((data) => `event\tmessage\t${data}`), 'closed\tnil\tfalse'],
  )
})

const encoders = { gzip: createGzip, deflate: createDeflate, br: createBrotliCompress }
for (const [encoding, create] of Object.entries(encoders))
  test(`§15 httpStream decodes ${encoding} as it comes, which it has not asked for`, async (t) => {
    const server = await serve(t, ({ headers }, response) => {
      response.writeHead(200, { ...events, 'Content-Encoding': encoding })
      const encoder = create()
      encoder.pipe(response)
      encoder.write(`data: ${headers['accept-encoding']}\n\n`)
      // The rest never comes.
      encoder.flush()
    })
    const lines = await printedBy(pluginSource(watch(`url = "${server.url}"`, 1)))
    assert.deepEqual(lines, ['event\tmessage\tidentity\tnil'])
  })

test('§15 httpStream takes what has an encoding that nobody knows as it is', async (t) => {
  // So servers say that no proxy on the way is to compress it.
  const server = await serve(t, (_seen, response) =>
    response.writeHead(200, { ...events, 'Content-Encoding': 'none' }).end('data: one\n\n'),
  )
  const lines = await printedBy(pluginSource(watch(`url = "${server.url}", reconnect = false`, 2)))
  assert.deepEqual(lines, ['event\tmessage\tone\tnil', 'closed\tnil\tfalse'])
})

test('§15 httpStream asks again for an event that was cut off', async (t) => {
  const server = await serve(t, (_seen, response) => {
    response.writeHead(200, events)
    response.end(server.seen.length === 1 ? 'id: 1\ndata: one\n\nid: 2\ndata: two\n' : 'id: 2\ndata: two\n\n')
  })
  const lines = await printedBy(
    pluginSource(watch(`url = "${server.url}", reconnect = { min = 50, max = 50 }`, 3)),
  )
  assert.deepEqual(lines, ['event\tmessage\tone\t1', 'closed\tnil\tfalse', 'event\tmessage\ttwo\t2'])
  assert.deepEqual(
    server.seen.slice(0, 2).map(({ headers }) => headers['last-event-id']),
    [undefined, '1'],
  )
})

test('§15 httpStream goes on behind what the plugin has got, however busy it is', async (t) => {
  const server = await serve(t, (_seen, response) => {
    response.writeHead(200, events)
    // More than is under way at one time.
    for (let id = 1; id <= 2_000; id += 1) response.write(`id: ${id}\ndata: ${'x'.repeat(100)}\n\n`)
    response.end()
  })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local count, closed = 0, 0
        plugin:httpStream({ url = "${server.url}", reconnect = { min = 50, max = 50 } }, {
          onEvent = function(event)
            count = count + 1
            if count > 1 then return end
            local stop = os.clock() + 0.3
            while os.clock() < stop do end
          end,
          onClose = function()
            closed = closed + 1
            print("closed " .. closed .. " after " .. count)
          end,
        })
      end)`),
    async ({ recorder }) => {
      await recorder.logged('closed 1 after 2000')
      await recorder.until(() => (server.seen.length > 1 ? true : undefined))
      assert.equal(server.seen[1]?.headers['last-event-id'], '2000')
    },
  )
})

const ends: [title: string, respond: Respond, options: string, reason: string, attempts: number][] = [
  ['a status', (_seen, response) => response.writeHead(404).end(), 'reconnect = false', 'HTTP 404', 1],
  [
    'what is not encoded as it says',
    (_seen, response) =>
      response.writeHead(200, { ...events, 'Content-Encoding': 'gzip' }).end('data: x\n\n'),
    'reconnect = false',
    'the stream is not the gzip that the server says it is',
    1,
  ],
  ['nothing more to come', (_seen, response) => response.writeHead(204).end(), '', 'nil', 1],
  ['no answer', () => undefined, 'timeout = 50, reconnect = false', 'timeout after 50 ms', 1],
  [
    'a line without end',
    (_seen, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' })
      flood(response, 'x')
    },
    'reconnect = false',
    'the other side has sent a line of more than 1048576 bytes',
    1,
  ],
  [
    'an event without end',
    (_seen, response) => {
      response.writeHead(200, events)
      flood(response, 'data: x\n')
    },
    'reconnect = false',
    'the other side has sent an event of more than 1048576 bytes',
    1,
  ],
]

/** For ever, as fast as the other side takes it. */
function flood(response: ServerResponse, text: string): void {
  const chunk = text.repeat(10_000)
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

for (const [title, respond, options, reason, attempts] of ends)
  test(`§15 httpStream ends with ${title}`, async (t) => {
    const server = await serve(t, respond)
    const lines = await printedBy(pluginSource(watch(`url = "${server.url}", ${options}`, 1)))
    assert.deepEqual(lines, [`closed\t${reason}\tfalse`])
    // On a busy machine the time may be over before the request has come.
    assert.ok(server.seen.length <= attempts, `asked ${server.seen.length} times`)
  })

test('§15 httpStream tries again when a server has led it in circles', async (t) => {
  const server = await serve(t, ({ target }, response) => {
    if (target === '/' && server.seen.length > 11) response.end('here\n')
    else response.writeHead(302, { Location: '/login' }).end()
  })
  const lines = await printedBy(
    pluginSource(watch(`url = "${server.url}/", reconnect = { min = 50, max = 50 }`, 2)),
  )
  assert.deepEqual(lines, ['closed\tmore than 10 redirects\tfalse', 'line\there'])
})

test('§15 what httpStream may not, it is told once, and it does not try again', async (t) => {
  const server = await serve(t, (_seen, response) => response.end())
  for (const [url, reason] of [
    ['ftp://x/', 'the url must be absolute and start with http:// or https://'],
    [server.url, 'is this host itself at that port'],
  ] as const) {
    const lines = await printedBy(
      pluginSource(watch(`url = "${url}", reconnect = { min = 50, max = 50 }`, 1)),
      { outside: { ownPorts: () => [server.port] } },
    )
    assert.ok(lines[0]?.includes(reason), lines[0])
  }
  assert.equal(server.seen.length, 0)
})

test('§15 httpStream logs in, follows redirects and keeps cookies as httpRequest does', async (t) => {
  const digest = await startDigestServer({}, ({ target, headers }, response) => {
    if (target === '/') {
      response.writeHead(302, { Location: '/stream', 'Set-Cookie': 'a=b; Path=/' }).end()
      return
    }
    response.end(`${target} ${headers.cookie}\n`)
  })
  t.after(() => digest.close())
  const options = `url = "${digest.url}", reconnect = false, saveCookies = true,
    auth = { type = "digest", user = "Mufasa", password = 'Circle of "Life"' }`
  assert.deepEqual(await printedBy(pluginSource(watch(options, 1))), ['line\t/stream a=b'])
})

test('§15 a stream that stalls holds nobody up, and ends with close(), after which nothing is called', async (t) => {
  const open: ServerResponse[] = []
  const server = await serve(t, (_seen, response) => {
    open.push(response)
    response.writeHead(200, events).write('data: one\n\ndata: half')
  })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local stream
        stream = plugin:httpStream({ url = "${server.url}" }, {
          onEvent = function(event)
            print(event.data, stream:isOpen())
            plugin:setTimeout(1, function()
              print(stream:close() == stream, stream:isOpen())
              print("closed")
            end)
          end,
          onClose = function() print("never") end,
        })
      end)`),
    async ({ recorder, isolate }) => {
      await recorder.until(() => (isolate.resources().sockets === 1 ? true : undefined))
      await recorder.logged('info closed')
      await recorder.until(() => (open[0]?.destroyed === true ? true : undefined))
      await recorder.until(() => (isolate.resources().sockets === 0 ? true : undefined))
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        ['info one\ttrue', 'info true\tfalse', 'info closed'],
      )
    },
  )
})

test('§15 a stream whose plugin ends before the answer has begun leaves neither its request nor a timer', async (t) => {
  const open: ServerResponse[] = []
  const server = await serve(t, (_seen, response) => void open.push(response))
  const clock = createManualClock()
  await withOutside(
    pluginSource(`
      plugin:onInit(function() plugin:httpStream({ url = "${server.url}" }, { onClose = print }) end)`),
    async ({ recorder, isolate, outside }) => {
      await recorder.until(() => (open.length === 1 ? true : undefined))
      assert.equal(clock.waiting, 1)
      await isolate.unload()
      await recorder.until(() => (open[0]?.destroyed === true ? true : undefined))
      assert.deepEqual([outside.connections('@test/probe'), clock.waiting], [[], 0])
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        [],
      )
    },
    { outside: { clock } },
  )
})

test('§15 a plugin that is busy is not sent more than it takes: the server waits', async (t) => {
  let sent = 0
  const server = await serve(t, (_seen, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' })
    const line = `${'x'.repeat(1_000)}\n`
    const more = (): void => {
      while (sent < 200_000_000 && !response.destroyed) {
        sent += line.length
        if (!response.write(line)) break
      }
    }
    response.on('drain', more)
    more()
  })
  await withOutside(
    pluginSource(`
      plugin:onInit(function()
        local count = 0
        plugin:httpStream({ url = "${server.url}" }, {
          onLine = function()
            count = count + 1
            if count > 1 then return end
            local stop = os.clock() + 1.5
            while os.clock() < stop do end
            print("busy is over")
          end,
        })
      end)`),
    async ({ recorder }) => {
      await recorder.logged('busy is over')
      // What the sockets of both sides hold, and one window; not what a server can send in that time.
      assert.ok(sent < 20_000_000, `${sent} bytes`)
    },
  )
})
