import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { type Respond, startWebServer, type WebServer } from '../outside/web-server.ts'
import { type OutsideOptions, printedBy, requestsInTurn, withOutside, withServer } from './outside-stage.ts'
import { pluginSource } from './stage.ts'

const ok: Respond = (_seen, response) => response.end('fine')

/** Answers that the path describes: `/404/{"message":"gone"}`. */
const described: Respond = ({ target }, response) => {
  const [, status = '200', body = ''] = /^\/(\d+)\/?(.*)$/.exec(decodeURIComponent(target)) ?? []
  response.writeHead(Number(status), { 'X-Probe-Header': 'One', 'Content-Type': 'text/plain' }).end(body)
}

const withWebServer = (
  respond: Respond,
  use: (server: WebServer) => Promise<void>,
  tls = false,
): Promise<void> => withServer(startWebServer(respond, { tls }), use)

async function answers(
  respond: Respond,
  requests: (base: string) => string[],
  show: string,
): Promise<string[]> {
  let lines: string[] = []
  await withWebServer(respond, async ({ url }) => {
    lines = await printedBy(pluginSource(requestsInTurn(url, requests(url), show)))
  })
  return lines
}

test('§4 httpRequest answers at once; the callback comes later, once, and always with a table', async () => {
  await withWebServer(ok, async ({ url }) => {
    const lines = await printedBy(
      pluginSource(`
        local calls = 0
        plugin:onInit(function()
          plugin:httpRequest({ url = "${url}" }, function(answer, err)
            calls = calls + 1
            print("answer", calls, type(answer), answer.status, err)
            plugin:httpRequest({ url = "nonsense" }, function(wrong, why)
              print("wrong", type(wrong), wrong.status, wrong.ok, why == wrong.err, why)
              plugin:setTimeout(20, function() print("calls", calls) print("done") end)
            end)
            print("asked wrongly")
          end)
          print("asked")
        end)
      `),
    )
    assert.deepEqual(lines, [
      'asked',
      'answer\t1\ttable\t200\tnil',
      'asked wrongly',
      'wrong\ttable\t0\tfalse\ttrue\tthe url must be absolute and start with http:// or https://',
      'calls\t1',
    ])
  })
})

test('§4 an answer has status, code, ok, body in bytes, headers in any case, and the time it took', async () => {
  const bytes: Respond = (_seen, response) => {
    response.writeHead(201, { 'X-Probe-Header': 'ü' }).end(Buffer.from([0, 1, 255]))
  }
  const show = `answer.status, answer.code, answer.ok, #answer.body, answer.body:byte(1, 3)`
  assert.deepEqual(await answers(bytes, () => ['{ url = base }'], show), ['201\t201\ttrue\t3\t0\t1\t255'])
  const headers = `answer.headers["X-Probe-Header"], answer.headers["x-probe-header"], answer.headers["X-PROBE-HEADER"], answer.headers.missing, answer.headers[1]`
  assert.deepEqual(await answers(described, () => ['{ url = base .. "/200/x" }'], headers), [
    'One\tOne\tOne\tnil\tnil',
  ])
  const rest = `math.type(answer.elapsed) or type(answer.elapsed), answer.elapsed >= 0, answer.err, answer.errCode, answer.json`
  const [line = ''] = await answers(described, () => ['{ url = base .. "/200/x" }'], rest)
  assert.match(line, /^\w+\ttrue\tnil\tnil\tnil$/)
})

test('§4 the url goes out as written, and user:pass@ becomes Basic authentication', async () => {
  await withWebServer(ok, async (server) => {
    const source = requestsInTurn(
      server.url,
      [
        '{ url = base .. "/a(b),c%20d?x=1,2&y=(z)" }',
        `{ url = "http://user:p%40ss@127.0.0.1:${server.port}/" }`,
        `{ url = "http://user:pass@127.0.0.1:${server.port}/", headers = { authorization = plugin:bearerAuth("token") } }`,
        '{ url = plugin:url(base, { q = "a b", z = 1, m = "ä" }) }',
      ],
      'answer.status',
    )
    await printedBy(pluginSource(source))
    assert.deepEqual(
      server.seen.map(({ target, headers }) => [target, headers.authorization]),
      [
        ['/a(b),c%20d?x=1,2&y=(z)', undefined],
        ['/', `Basic ${Buffer.from('user:p@ss').toString('base64')}`],
        ['/', 'Bearer token'],
        ['/?m=%C3%A4&q=a%20b&z=1', undefined],
      ],
    )
  })
})

test('§4 methods are taken in any case, GET is the default, and others are refused', async () => {
  await withWebServer(ok, async (server) => {
    const methods = ['get', 'Post', 'PUT', 'patch', 'delete', 'HEAD', 'BREW']
    const requests = ['{ url = base }', ...methods.map((method) => `{ url = base, method = "${method}" }`)]
    const lines = await printedBy(pluginSource(requestsInTurn(server.url, requests, 'err')))
    assert.deepEqual(
      server.seen.map(({ method }) => method),
      ['GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'],
    )
    assert.deepEqual(lines.slice(-2), [
      'nil',
      'the method BREW is not one of GET, POST, PUT, PATCH, DELETE, HEAD',
    ])
  })
})

test('§4 body, json and form are sent, and an explicit header wins over a generated one', async () => {
  await withWebServer(ok, async (server) => {
    const requests = [
      `{ url = base, method = "POST", body = "raw \\0 bytes" }`,
      `{ url = base, method = "POST", json = { n = 2, list = { 1, 2.0 }, empty = {} } }`,
      `{ url = base, method = "POST", json = { 1 }, headers = { ["content-type"] = "application/vnd.api+json", ["User-Agent"] = "mine", ["X-Number"] = 10 / 2 } }`,
      `{ url = base, method = "POST", form = { b = "x y", a = 10 / 2, n = 2 ^ 60, ["ü"] = true, ["0"] = "&=" } }`,
      `{ url = base, method = "POST", form = {} }`,
      `{ url = base, method = "POST" }`,
      `{ url = base, method = "POST", body = 12.0 }`,
      `{ url = base .. plugin:url("/", { at = 2 ^ 60 }), method = "POST", json = { at = 2 ^ 60 } }`,
    ]
    await printedBy(pluginSource(requestsInTurn(server.url, requests, 'err')))
    assert.deepEqual(
      server.seen.map(({ body, headers }) => [body, headers['content-type']]),
      [
        ['raw \0 bytes', undefined],
        // The order of a table's keys is Lua's own affair.
        [server.seen[1]?.body, 'application/json'],
        ['[1]', 'application/vnd.api+json'],
        ['0=%26%3D&a=5&b=x%20y&n=1152921504606846976&%C3%BC=true', 'application/x-www-form-urlencoded'],
        ['', 'application/x-www-form-urlencoded'],
        ['', undefined],
        ['12', undefined],
        ['{"at":1152921504606846976}', 'application/json'],
      ],
    )
    assert.deepEqual(JSON.parse(server.seen[1]?.body ?? ''), { n: 2, list: [1, 2], empty: {} })
    assert.deepEqual(
      [server.seen[2]?.headers['user-agent'], server.seen[2]?.headers['x-number']],
      ['mine', '5'],
    )
    assert.equal(server.seen[0]?.headers['user-agent'], 'lupine/1.2.3')
    assert.equal(server.seen.at(-1)?.target, '/?at=1152921504606846976')
  })
})

test('§4 options that make no sense are told to the callback, and raise nothing', async () => {
  const requests = () => [
    '{}',
    '{ url = base, headers = "x" }',
    '{ url = base, form = "x" }',
    '{ url = base, body = {} }',
    '{ url = base, json = print }',
    '(function() local t = { url = base } t.json = t return t end)()',
    '{ url = base, method = "POST", body = string.rep("x", 5 * 1024 * 1024 + 1) }',
    '(function() local h = {} for i = 1, 300 do h["X-" .. i] = i end return { url = base, headers = h } end)()',
    '{ url = base, headers = { ["X-Bad"] = "a\\r\\nb" } }',
  ]
  const lines = await answers(ok, requests, 'answer.status, answer.errCode, err')
  assert.deepEqual(lines.slice(0, 8), [
    '0\tnetwork\tthe request has no url',
    '0\tnetwork\tthe headers must be a table, not a string',
    '0\tnetwork\tthe form must be a table, not a string',
    '0\tnetwork\tthe body must be a string, not a table; json = … sends a table',
    '0\tnetwork\ta function cannot be sent as JSON',
    '0\tnetwork\tcycle: the table contains itself',
    '0\tnetwork\tthe body is larger than 5 MiB',
    '0\tnetwork\tthere are more than 199 headers',
  ])
  assert.match(lines[8] ?? '', /^0\tnetwork\t.*header/)
})

test('§4 parseJson is never by default, and true is success', async () => {
  const requests = (mode: string) => () => [
    `{ url = base .. '/200/{"a":[1,null,2.5],"n":null}' ${mode} }`,
    `{ url = base .. '/200/not json' ${mode} }`,
    `{ url = base .. '/302/{"a":[7]}' ${mode} }`,
    `{ url = base .. '/204' ${mode} }`,
    `{ url = base .. '/200/{"a":[1]}', method = "HEAD" ${mode} }`,
  ]
  const show = `answer.status, answer.ok, answer.json and answer.json.a[1], answer.json and answer.json.n, answer.errCode, err and err:sub(1, 20)`
  const nothing = [
    '200\ttrue\tnil\tnil\tnil\tnil',
    '200\ttrue\tnil\tnil\tnil\tnil',
    '302\tfalse\tnil\tnil\tnil\tnil',
    '204\ttrue\tnil\tnil\tnil\tnil',
    '200\ttrue\tnil\tnil\tnil\tnil',
  ]
  const parsed = '200\ttrue\t1\tnil\tnil\tnil'
  const success = [parsed, '200\ttrue\tnil\tnil\tparse\tthe body is not JSON', ...nothing.slice(2)]
  for (const mode of ['', ', parseJson = "never"', ', parseJson = false']) {
    assert.deepEqual(await answers(described, requests(mode), show), nothing, mode)
  }
  for (const mode of [', parseJson = "success"', ', parseJson = true']) {
    assert.deepEqual(await answers(described, requests(mode), show), success, mode)
  }
  assert.deepEqual(await answers(described, requests(', parseJson = "always"'), show), [
    parsed,
    nothing[1],
    '302\tfalse\t7\tnil\tnil\tnil',
    ...nothing.slice(3),
  ])
})

test('§4 JSON that is nested too deeply to be of use is no JSON, and the callback comes', async () => {
  const deep: Respond = ({ target }, response) => {
    response.writeHead(target === '/wrong' ? 400 : 200).end('['.repeat(5_000) + ']'.repeat(5_000))
  }
  const requests = () => [
    '{ url = base, parseJson = "success" }',
    '{ url = base, parseJson = "always" }',
    '{ url = base .. "/wrong", parseJson = "always" }',
  ]
  assert.deepEqual(
    await answers(deep, requests, 'answer.status, answer.json, answer.errCode, err, #answer.body'),
    [
      '200\tnil\tparse\tthe body is not JSON: more than 100 levels deep\t10000',
      '200\tnil\tnil\tnil\t10000',
      '400\tnil\thttp_4xx\tHTTP 400\t10000',
    ],
  )
})

test('§4 a status of 400 and above is an err with what the server says, and body and json are there', async () => {
  const requests = () => [
    `{ url = base .. '/404' }`,
    `{ url = base .. '/401/{"error":"bad token"}', parseJson = "success" }`,
    `{ url = base .. '/429/{"message":"slow down","error":"x"}', parseJson = "always" }`,
    `{ url = base .. '/400/{"description":"Bad Request: chat not found","message":"m"}', parseJson = "success" }`,
    `{ url = base .. '/500/oops', parseJson = "success" }`,
    `{ url = base .. '/503/{"error":{"code":1}}' }`,
    `{ url = base .. '/418/[1]' }`,
    `{ url = base .. '/304' }`,
  ]
  const show = `answer.status, answer.ok, answer.errCode, answer.body, answer.json ~= nil, answer.err == err, err`
  assert.deepEqual(await answers(described, requests, show), [
    '404\tfalse\thttp_4xx\t\tfalse\ttrue\tHTTP 404',
    '401\tfalse\thttp_4xx\t{"error":"bad token"}\ttrue\ttrue\tHTTP 401: bad token',
    '429\tfalse\thttp_4xx\t{"message":"slow down","error":"x"}\ttrue\ttrue\tHTTP 429: slow down',
    '400\tfalse\thttp_4xx\t{"description":"Bad Request: chat not found","message":"m"}\ttrue\ttrue\tHTTP 400: Bad Request: chat not found',
    '500\tfalse\thttp_5xx\toops\tfalse\ttrue\tHTTP 500',
    '503\tfalse\thttp_5xx\t{"error":{"code":1}}\tfalse\ttrue\tHTTP 503',
    '418\tfalse\thttp_4xx\t[1]\tfalse\ttrue\tHTTP 418',
    '304\tfalse\tnil\t\tfalse\ttrue\tnil',
  ])
})

test('§4 a request that takes too long ends with timeout, and a server that is not there with network', async () => {
  const gone = await startWebServer(ok)
  await gone.close()
  const lines = await answers(
    () => undefined,
    () => ['{ url = base, timeout = 50 }', `{ url = "${gone.url}" }`],
    'answer.status, answer.ok, answer.body, next(answer.headers), answer.errCode, err',
  )
  assert.deepEqual(lines, [
    '0\tfalse\t\tnil\ttimeout\ttimeout after 50 ms',
    `0\tfalse\t\tnil\tnetwork\tconnection refused by 127.0.0.1:${gone.port} (ECONNREFUSED)`,
  ])
})

test('§4 insecureSkipVerify or verifySSL = false accepts a self-signed certificate, and nothing else does', async () => {
  await withWebServer(
    ok,
    async (server) => {
      const requests = [
        '{ url = base, insecureSkipVerify = true }',
        '{ url = base, verifySSL = false }',
        '{ url = base, verifySSL = true }',
        '{ url = base }',
      ]
      const lines = await printedBy(
        pluginSource(requestsInTurn(server.url, requests, 'answer.status, err and err:match("not trusted")')),
      )
      assert.deepEqual(lines, ['200\tnil', '200\tnil', '0\tnot trusted', '0\tnot trusted'])
    },
    true,
  )
})

test('§4 each request writes one debug line without secrets, and log = false none', async () => {
  await withWebServer(ok, async ({ port }) => {
    const at = `127.0.0.1:${port}`
    const source = requestsInTurn(
      `http://user:pass@${at}`,
      [
        '{ url = base .. "/a?api_key=abcdefghijkl&q=visible&token=short" }',
        '{ url = base .. "/b?api_key=abcdefghijkl", log = { redact = false } }',
        '{ url = base .. "/bot12345:secret-of-config/c" }',
        '{ url = base .. "/silent", log = false }',
        '{ url = "nonsense?password=hunter2" }',
      ],
      'answer.status',
    )
    await withOutside(pluginSource(source, { secrets: ['12345:secret-of-config'] }), async ({ recorder }) => {
      await recorder.logged('info done')
      const lines = recorder.logs().filter((line) => line.startsWith('debug '))
      assert.deepEqual(
        lines.map((line) => line.replace(/\d+ ms/, '… ms')),
        [
          `debug GET http://***@${at}/a?api_key=abcde***&q=visible&token=***: 200 (… ms)`,
          `debug GET http://***@${at}/b?api_key=abcdefghijkl: 200 (… ms)`,
          `debug GET http://***@${at}/bot***/c: 200 (… ms)`,
          'debug GET nonsense?password=***: the url must be absolute and start with http:// or https:// (… ms)',
        ],
      )
    })
  })
})

test('§2.7 a callback that raises is logged with its request, and the next ones come', async () => {
  await withWebServer(ok, async ({ url }) => {
    const source = `
      plugin:httpRequest({ url = "${url}" }, function() error("broken") end)
      plugin:httpRequest("${url}", function(answer) print("bare url", answer.status) print("done") end)
      plugin:httpRequest({ url = "${url}" })`
    await withOutside(pluginSource(source), async ({ recorder }) => {
      await recorder.logged('info done')
      const lines = recorder.logs().filter((line) => !line.startsWith('debug'))
      assert.ok(lines.some((line) => /^error callback of httpRequest: init\.lua:2: broken/.test(line)))
      assert.ok(lines.includes('info bare url\t200'))
    })
  })
})

test('§2.6 an unload cuts requests short, their callbacks never come, and none is counted', async () => {
  let arrived = (): void => undefined
  let gone = (): void => undefined
  const silent: Respond = (_seen, _response, request) => {
    request.socket.on('close', () => gone())
    arrived()
  }
  await withWebServer(silent, async (server) => {
    const there = new Promise<void>((resolve) => (arrived = resolve))
    const closed = new Promise<void>((resolve) => (gone = resolve))
    const source = `
      plugin:onInit(function()
        for index = 1, 10 do
          plugin:httpRequest({ url = "${server.url}" }, function() print("never") end)
        end
      end)
      plugin:onCleanup(function() print("bye") end)`
    await withOutside(pluginSource(source), async ({ recorder, isolate }) => {
      await there
      assert.equal(isolate.resources().httpRequests, 10)
      await isolate.unload()
      await closed
      assert.deepEqual(recorder.logs(), ['info bye'])
      assert.deepEqual(isolate.resources(), noResources)
      assert.ok(server.seen.length <= 8, 'what was waiting is never sent')
    })
  })
})

test('§2.6 an HTTP request that onCleanup starts is really sent, and its callback never comes', async () => {
  await withWebServer(
    ({ target }, response) => {
      if (target.startsWith('/bye')) response.end()
    },
    async (server) => {
      const source = `
        plugin:onInit(function()
          for index = 1, 9 do plugin:httpRequest({ url = "${server.url}/held" }, function() print("never") end) end
        end)
        plugin:onCleanup(function()
          for index = 1, 10 do
            plugin:httpRequest({ url = "${server.url}/bye" .. index, method = "PUT", json = { off = true } }, function() print("never") end)
          end
        end)`
      await withOutside(pluginSource(source), async ({ recorder, isolate }) => {
        await isolate.unload()
        const last = server.seen.filter(({ target }) => target.startsWith('/bye'))
        assert.deepEqual(
          last.map(({ target }) => target).sort(),
          Array.from({ length: 10 }, (_, index) => `/bye${index + 1}`).sort(),
        )
        assert.equal(last[0]?.body, '{"off":true}')
        assert.deepEqual(recorder.logs(), [])
      })
    },
  )
})

test('§2.6 a server that never answers what onCleanup asks holds the unload up for a moment at most', async () => {
  let arrived = (): void => undefined
  await withWebServer(
    () => arrived(),
    async (server) => {
      const there = new Promise<void>((resolve) => (arrived = resolve))
      const source = `plugin:onCleanup(function() plugin:httpRequest({ url = "${server.url}" }) end)`
      await withOutside(
        pluginSource(source),
        async ({ isolate }) => {
          const unload = isolate.unload()
          await there
          await unload
          assert.equal(server.seen.length, 1)
        },
        { limits: { lastWordsDeadline: 100 } },
      )
    },
  )
})

test('§2.5 requests of a load that fails are cut short', async () => {
  let arrived = (): void => undefined
  let gone = (): void => undefined
  const silent: Respond = (_seen, _response, request) => {
    request.socket.on('close', () => gone())
    arrived()
  }
  await withWebServer(silent, async (server) => {
    const closed = new Promise<void>((resolve) => (gone = resolve))
    const source = `
      plugin:onInit(function()
        plugin:httpRequest({ url = "${server.url}" }, print)
        while not plugin:getObject("plugins.test.server.asked") do end
        error("no")
      end)`
    const prepare: OutsideOptions['prepare'] = ({ foreignObjects }) => {
      arrived = () => void foreignObjects.set('plugins.test.server.asked', true)
    }
    await assert.rejects(
      withOutside(pluginSource(source), () => undefined, { prepare }),
      /init\.lua:5: no/,
    )
    await closed
  })
})

test('§4 a plugin that starts more requests than can wait is told so, and keeps the others', async () => {
  await withWebServer(ok, async ({ url }) => {
    const source = `
      plugin:onInit(function()
        local open, refused = 1100, 0
        for index = 1, 1100 do
          plugin:httpRequest({ url = "${url}", log = false }, function(answer, err)
            open = open - 1
            if err and err:find("too many requests") then refused = refused + 1 end
            if open == 0 then print(refused) print("done") end
          end)
        end
      end)`
    assert.deepEqual(await printedBy(pluginSource(source)), ['warn limit reached: httpRequests is 8', '92'])
  })
})

test('§4 httpGet and httpPost hand over the answer, and a status of 400 is no err', async () => {
  const gone = await startWebServer(ok)
  await gone.close()
  await withWebServer(described, async (server) => {
    const lines = await printedBy(
      pluginSource(`
        local url = "${server.url}"
        plugin:httpGet(url .. "/404/missing", function(response, err)
          print(response.status, response.body, response.err, response.errCode, err)
          plugin:httpPost(url .. "/500/{}", { a = 1 }, function(response, err)
            print(response.status, response.ok, err)
            plugin:httpPost(url .. "/200/fine", "a=1", function(response, err)
              print(response.status, response.ok, response.body, err)
              plugin:httpGet("${gone.url}", function(response, err)
                print(response.status, err == response.err, err ~= nil)
                print("done")
              end)
            end)
          end)
        end)
      `),
    )
    assert.deepEqual(lines, [
      '404\tmissing\tnil\tnil\tnil',
      '500\tfalse\tnil',
      '200\ttrue\tfine\tnil',
      '0\ttrue\ttrue',
    ])
    assert.deepEqual(
      server.seen.map(({ method, body, headers }) => [method, body, headers['content-type']]),
      [
        ['GET', '', undefined],
        ['POST', '{"a":1}', 'application/json'],
        ['POST', 'a=1', undefined],
      ],
    )
  })
})

test('§4 an origin with a replacement is answered by it', async () => {
  await withWebServer(ok, async (server) => {
    const lines = await printedBy(
      pluginSource(
        requestsInTurn(
          server.url,
          ['{ url = "https://api.example.com/v1?x=(1)" }'],
          'answer.status, answer.body',
        ),
      ),
      { outside: { rewrite: { 'https://api.example.com': server.url } } },
    )
    assert.deepEqual(lines, ['200\tfine'])
    assert.equal(server.seen[0]?.target, '/v1?x=(1)')
  })
})

test('a header that belongs to the host is not sent, and that is said once', async () => {
  const requests = ['Host', 'HOST', 'Content-Length'].map(
    (name) => `{ url = base, headers = { ["${name}"] = "other.example", ["X-Mine"] = "1" } }`,
  )
  await withWebServer(ok, async (server) => {
    const lines = await printedBy(pluginSource(requestsInTurn(server.url, requests, 'answer.status, err')))
    assert.deepEqual(lines, [
      'warn httpRequest: the header host is not sent as given; the host writes it by itself',
      '200\tnil',
      '200\tnil',
      'warn httpRequest: the header content-length is not sent as given; the host writes it by itself',
      '200\tnil',
    ])
    assert.deepEqual(
      server.seen.map(({ headers }) => [headers.host, headers['x-mine'], headers['content-length']]),
      requests.map(() => [new URL(server.url).host, '1', undefined]),
    )
  })
})
