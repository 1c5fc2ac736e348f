import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { concurrentHooksLimit, waitingHooksLimit } from '../../../src/http/hooks/hook-admission.ts'
import { logMessages, startTestHost, type TestAnswer, type TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import { type LogFields, type Logger, silentLogger, writtenFields } from '../../../src/base/log/log.ts'
import type { FoundHook } from '../../../src/lifecycle/lifecycle.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'
import { exchange, parseAnswer } from '../clients.ts'
import { startHttp } from '../http-over.ts'

/** Requests from outside (plugin API, section 14), as whoever sends them sees them. */

const token = 'correct-horse-battery-staple'

const probe = `
local plugin = Plugin:new("probe")
plugin:onInit(function()
  plugin:httpHandler("echo", function(request)
    return { json = {
      method = request.method, path = request.path, query = request.query, body = request.body,
      json = request.json, form = request.form, remote = request.remote, headers = request.headers,
      header = request.headers["X-Probe"],
    } }
  end)
  plugin:httpHandler("deep/er path", function(request) return request.path end)
  plugin:httpHandler("/slash", function(request) return request.path end, { auth = "none" })
  plugin:httpHandler("", function() return "root" end)
  plugin:httpHandler("guarded", function() return "in" end, { auth = "token" })
  plugin:httpHandler("open", function() return "open" end, { auth = "none", methods = { "post", "PUT" } })
  plugin:httpHandler("answer", function(request, respond)
    local kind = request.query.kind
    if kind == "status" then return 418 end
    if kind == "three" then return 201, "made", { ["X-Made"] = "yes", Link = { "<a>", "<b>" } } end
    if kind == "text" then return "text" end
    if kind == "table" then return nil, { 1, 2 } end
    if kind == "empty" then return {} end
    if kind == "misnamed" then return { text = "lost" } end
    if kind == "respond" then respond() return end
    if kind == "bytes" then return { body = "\\0\\255", headers = { ["content-type"] = "image/png" } } end
    if kind == "json" then return { status = 202, json = { a = 1 } } end
    if kind == "later" then
      plugin:setTimeout(5, function()
        print("first " .. tostring(respond(203, "late")), "second " .. tostring(respond(500)))
      end)
      return
    end
    if kind == "large" then return request.query.letter:rep(200000) end
    if kind == "both" then respond("responded") return 500 end
    if kind == "error" then error("the secret of the plugin") end
    if kind == "bad" then return 99 end
    if kind == "split" then return 200, "x", { ["X-A"] = "a\\r\\nSet-Cookie: b=c" } end
    if kind == "rules" then
      return 200, "<script>1</script>", {
        ["Content-Type"] = "text/html", ["Set-Cookie"] = "lupine-session-1=x", ["Clear-Site-Data"] = '"*"',
        ["Content-Security-Policy"] = "default-src *", ["Transfer-Encoding"] = "chunked", ["Content-Length"] = "7",
        ["X-Frame-Options"] = "ALLOWALL", ["Alt-Svc"] = "h2=x", ["X-Fine"] = "yes", ["Service-Worker-Allowed"] = "/",
        ["X-Accel-Redirect"] = "/private/file", ["X-Sendfile"] = "/etc/passwd", ["X-LIGHTTPD-send-file"] = "/etc/passwd",
      }
    end
  end)
  plugin:httpHandler("silent", function() end)
  plugin:httpHandler("gone", function() end)()
  print("url", plugin:hookUrl("echo"))
  plugin:upsertObject("urls", { open = plugin:hookUrl("open"), length = #plugin:hookUrl("echo") })
end)
`

let host: TestHost
/** Warnings in the log. */
const warnings: string[] = []

before(async () => {
  host = await startTestHost({
    logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    settings: { token, publicUrl: 'https://home.example.com/lupine/' },
    plugins: [
      { id: 'probe', lua: probe },
      {
        id: 'shy',
        manifest: { permissions: {} },
        lua: `local plugin = Plugin:new("shy")
          plugin:onInit(function()
            plugin:httpHandler("a", function() return "a" end)
            print(pcall(plugin.httpHandler, plugin, "b", function() end, { auth = "none" }))
          end)`,
      },
      {
        id: 'public',
        manifest: { permissions: { hooks: 'public' } },
        lua: `local plugin = Plugin:new("public")
          plugin:onInit(function()
            plugin:httpHandler("b", function() return "b" end, { auth = "none" })
          end)`,
      },
      {
        id: 'gate',
        lua: `local plugin = Plugin:new("gate")
          plugin:onInit(function()
            plugin:control("open", function() return true end, function() plugin:upsertObject("open", { yes = true }) end)
          end)`,
      },
      {
        id: 'slow',
        lua: `local plugin = Plugin:new("slow")
          plugin:onInit(function()
            while plugin:getObject("plugins.fixtures.gate.open") == nil do end
            plugin:httpHandler("late", function() return "late" end, { auth = "none" })
          end)`,
      },
    ],
  })
  for (const id of ['probe', 'shy', 'public', 'gate']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    const answer = await host.request('POST', `/api/plugins/${id}/toggle`)
    assert.equal(answer.body.state, 'running', JSON.stringify(answer.body.error))
  }
})
after(() => host.close())

interface Hook {
  path: string
  url: string
  auth: string
  methods: string[] | null
}

async function hooksOfProbe(): Promise<Hook[]> {
  return (await host.request('GET', '/api/plugins/probe/hooks')).body.hooks
}

/** The address of a handler at this host, as whoever comes through the proxy gets there. */
async function addressOf(path: string): Promise<string> {
  const hook = (await hooksOfProbe()).find((one) => one.path === path)
  assert.ok(hook !== undefined, path)
  return hook.url.replace('https://home.example.com/lupine', '')
}

/** Asked by a stranger: without token, login, or the host's own name. */
async function ask(
  path: string,
  options: { method?: string; body?: string | Buffer; headers?: Record<string, string> } = {},
): Promise<TestAnswer> {
  const { method = 'GET', body, headers = {} } = options
  const url = new URL(host.url)
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ hostname: url.hostname, port: url.port, path, method },
        headers: { host: 'elsewhere.example', origin: 'https://elsewhere.example', ...headers },
      },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => {
          const text = Buffer.concat(parts).toString('latin1')
          const isJson = response.headers['content-type']?.includes('json') === true
          const flat = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ])
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(flat),
            body: isJson && text !== '' ? JSON.parse(text) : text,
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const pluginLog = (id = 'probe'): Promise<string[]> => logMessages(host, id, '?limit=1000')

test('§14 a handler gets the request as it came, and answers it', async () => {
  const echo = await addressOf('echo')
  const answer = await ask(`${echo}?a=1&b=x%20y+z&a=2&flag`, {
    method: 'PATCH',
    body: '{"on":true}',
    headers: {
      ...{ 'X-Probe': 'Yes', 'X-Parts': 'a;b', 'X-Empty': '' },
      ...{ 'Content-Type': 'application/json', Authorization: 'Basic Zm9v' },
    },
  })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  const { headers, ...rest } = answer.body
  assert.deepEqual(rest, {
    ...{ method: 'PATCH', path: 'echo', query: { a: '2', b: 'x y z', flag: '' } },
    ...{ body: '{"on":true}', json: { on: true }, remote: '127.0.0.1', header: 'Yes' },
  })
  assert.deepEqual([headers['x-probe'], headers['x-parts'], headers['x-empty']], ['Yes', 'a;b', ''])
  assert.equal(headers.authorization, 'Basic Zm9v')
})

test('§14 json is nil when it does not parse, and form is only there for urlencoded bodies', async () => {
  const echo = await addressOf('echo')
  const form = await ask(echo, {
    method: 'POST',
    body: 'name=J%C3%BCrgen&x=1&x=2&rest',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
  })
  assert.deepEqual(form.body.form, { name: Buffer.from('Jürgen').toString('latin1'), x: '2', rest: '' })
  assert.equal(form.body.json, undefined)
  const text = await ask(echo, { method: 'POST', body: 'a=1', headers: { 'Content-Type': 'text/plain' } })
  assert.deepEqual([text.body.body, text.body.form, text.body.json], ['a=1', undefined, undefined])
  const marked = await ask(echo, { method: 'POST', body: '\ufeff{"on":true}' })
  assert.deepEqual(marked.body.json, { on: true }, 'with a byte order mark')
})

test('§14 a path matches as a whole, and may have several parts', async () => {
  assert.equal((await ask(await addressOf('deep/er path'))).body, 'deep/er path')
  const echo = await addressOf('echo')
  for (const wrong of [`${echo}/`, `${echo}x`, echo.replace('/echo', '/Echo'), echo.replace('echo', 'ech')])
    assert.equal((await ask(wrong)).status, 404, wrong)
  assert.equal((await ask(echo.replace('echo', 'ech%6F'))).status, 200)
  assert.equal((await ask('/hooks/fixtures/probe/slash')).body, '/slash')
  const root = await addressOf('')
  assert.equal((await ask(root)).body, 'root')
  assert.equal((await ask(root.replace(/\/$/, ''))).body, 'root')
})

test('§14 the address has a part that nobody can guess, unless the handler says otherwise', async () => {
  const hooks = await hooksOfProbe()
  const of = (path: string): Hook | undefined => hooks.find((one) => one.path === path)
  const secret = /^https:\/\/home\.example\.com\/lupine\/hooks\/fixtures\/probe\/([\w-]{16,})\/echo$/
  assert.match(of('echo')?.url ?? '', secret)
  assert.equal(of('open')?.url, 'https://home.example.com/lupine/hooks/fixtures/probe/open')
  assert.deepEqual([of('open')?.auth, of('open')?.methods], ['none', ['POST', 'PUT']])
  assert.equal(of('gone'), undefined)
  for (const wrong of ['echo', 'x/echo', `${'a'.repeat(24)}/echo`, '/echo', ''])
    assert.equal((await ask(`/hooks/fixtures/probe/${wrong}`)).status, 404, wrong)
  const { body } = await host.request('GET', '/api/plugins/probe/objects')
  assert.deepEqual(body.objects.urls, { open: of('open')?.url, length: of('echo')?.url.length })
})

test('§14 a handler with auth = "token" wants the token of the host', async () => {
  const guarded = await addressOf('guarded')
  const without = await ask(guarded)
  assert.deepEqual([without.status, without.body.code], [401, 'unauthorized'])
  assert.equal((await ask(guarded, { headers: { Authorization: 'Bearer wrong' } })).status, 401)
  const login = await host.request('POST', '/api/session', { body: { token } })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  assert.equal((await ask(guarded, { headers: { cookie } })).status, 401)
  assert.equal((await ask(guarded, { headers: { Authorization: `Bearer ${token}` } })).body, 'in')
})

test('§14 other methods than the listed ones are refused, and said so', async () => {
  const refused = await ask('/hooks/fixtures/probe/open')
  assert.deepEqual([refused.status, refused.body.code], [405, 'method_not_allowed'])
  assert.equal(refused.headers.get('allow'), 'POST, PUT')
  assert.equal((await ask('/hooks/fixtures/probe/open', { method: 'PUT' })).body, 'open')
})

const answers: [kind: string, status: number, body: unknown, type: string | null][] = [
  ['status', 418, '', null],
  ['three', 201, 'made', 'text/plain; charset=utf-8'],
  ['text', 200, 'text', 'text/plain; charset=utf-8'],
  ['table', 200, [1, 2], 'application/json'],
  ['empty', 204, '', null],
  ['respond', 204, '', null],
  ['bytes', 200, '\0\xff', 'image/png'],
  ['json', 202, { a: 1 }, 'application/json'],
  ['later', 203, 'late', 'text/plain; charset=utf-8'],
  ['both', 200, 'responded', 'text/plain; charset=utf-8'],
]
for (const [kind, status, body, type] of answers)
  test(`§14 what a handler answers is sent: ${kind}`, async () => {
    const answer = await ask(`${await addressOf('answer')}?kind=${kind}`)
    assert.deepEqual([answer.status, answer.body, answer.headers.get('content-type')], [status, body, type])
  })

test('§14 large answers arrive whole, many at a time and one behind the other on a connection', async () => {
  const address = await addressOf('answer')
  const letters = 'a b c d e f g h i j k l m n o p'.split(' ')
  const head = (letter: string, last: boolean): string =>
    `GET ${address}?kind=large&letter=${letter} HTTP/1.1\r\nHost: x\r\nConnection: ${last ? 'close' : 'keep-alive'}\r\n\r\n`
  const connections = letters.map(async (letter) => {
    const several = [letter, letter.toUpperCase(), letter]
    const text = await exchange(host.url, several.map((one, nth) => head(one, nth === 2)).join(''))
    const bodies = text.split(/HTTP\/1\.1 200 OK\r\n/).slice(1)
    return bodies.map((answer, nth) => answer.endsWith(`\r\n\r\n${several[nth]?.repeat(200_000)}`))
  })
  for (const whole of await Promise.all(connections)) assert.deepEqual(whole, [true, true, true])
})

test('§14 a second answer is ignored', async () => {
  await ask(`${await addressOf('answer')}?kind=later`)
  await until('both', async () =>
    (await pluginLog()).includes('first true\tsecond false') ? true : undefined,
  )
})

test('§14 a handler that raises an error is a 500 without its text, and the log has it', async () => {
  const address = await addressOf('answer')
  for (const [kind, line] of [
    ['error', 'the secret of the plugin'],
    ['bad', 'the status must be a whole number from 200 to 599, not 99'],
    ['split', 'has characters that no header can have'],
  ] as const) {
    const answer = await ask(`${address}?kind=${kind}`)
    assert.deepEqual([answer.status, answer.body.code], [500, 'hook_failed'], kind)
    assert.equal(JSON.stringify(answer.body).includes('secret of'), false)
    const log = await pluginLog()
    assert.ok(
      log.some((message) => message.includes(`handler of 'answer'`) && message.includes(line)),
      kind,
    )
  }
})

test('§14 an answer says nothing about the pages of the host, and nothing to a proxy in front', async () => {
  const answer = await ask(`${await addressOf('answer')}?kind=rules`)
  assert.equal(answer.body, '<script>1</script>')
  assert.equal(answer.headers.get('x-fine'), 'yes')
  assert.match(answer.headers.get('content-security-policy') ?? '', /^sandbox;/)
  assert.equal(answer.headers.get('x-frame-options'), 'SAMEORIGIN')
  for (const name of [
    'set-cookie',
    'clear-site-data',
    'alt-svc',
    'service-worker-allowed',
    'transfer-encoding',
    'x-accel-redirect',
    'x-sendfile',
    'x-lighttpd-send-file',
  ])
    assert.equal(answer.headers.get(name), null, name)
  const log = await pluginLog()
  assert.ok(log.some((message) => message.includes('the header set-cookie is not sent')))
})

test('§14 a table that says nothing of an answer is an empty one, and the log says why, once', async () => {
  const address = await addressOf('answer')
  const said = 'httpHandler: the answer is empty: its table has no status, json, body or headers'
  const count = async () => (await pluginLog()).filter((message) => message.endsWith(said)).length
  assert.equal((await ask(`${address}?kind=empty`)).status, 204)
  assert.equal(await count(), 0)
  for (let times = 0; times < 2; times += 1) assert.equal((await ask(`${address}?kind=misnamed`)).status, 204)
  assert.equal(await count(), 1)
})

test('§14 no plugin gets the token of the host, or a login', async () => {
  const login = await host.request('POST', '/api/session', { body: { token } })
  const session = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { body } = await ask(await addressOf('echo'), {
    headers: { cookie: `a=1; ${session}; b=2`, Authorization: `bearer  ${token}` },
  })
  assert.equal(body.headers.authorization, undefined)
  assert.equal(body.headers.cookie, 'a=1; b=2')
  const alone = await ask(await addressOf('echo'), { headers: { cookie: session } })
  assert.equal(alone.body.headers.cookie, undefined)
})

test('§14 bodies have 1 MiB at most', async () => {
  const echo = await addressOf('echo')
  const answer = await ask(echo, { method: 'POST', body: Buffer.alloc(1024 * 1024 + 1) })
  assert.deepEqual([answer.status, answer.body.code], [413, 'body_too_large'])
  const { host: name } = new URL(host.url)
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const chunked = await exchange(
    host.url,
    `POST ${echo} HTTP/1.1\r\nHost: ${name}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ...Array.from({ length: 18 }, () => chunk),
  )
  assert.equal(parseAnswer(chunked).status, 413)
  const fits = `${await addressOf('answer')}?kind=status`
  assert.equal((await ask(fits, { method: 'POST', body: Buffer.alloc(1024 * 1024) })).status, 418)
})

test('§14 where permissions are declared, auth = "none" needs hooks: "public"', async () => {
  const log = await pluginLog('shy')
  const line = log.find((message) => message.startsWith('false'))
  assert.match(
    line ?? '',
    /the manifest of @fixtures\/shy does not allow .* add "hooks": "public" to permissions/,
  )
  assert.equal((await ask('/hooks/fixtures/shy/b')).status, 404)
  assert.equal((await ask('/hooks/fixtures/public/b')).body, 'b')
})

test('§14 the secret is shown to its owner alone', async () => {
  const [, secret = ''] =
    /probe\/([\w-]{16,})\/echo$/.exec((await hooksOfProbe()).find((one) => one.path === 'echo')?.url ?? '') ??
    []
  assert.ok(secret.length >= 16)
  for (const path of [
    '/api/history',
    '/api/plugins',
    '/api/plugins/probe/logs?limit=1000',
    '/metrics',
    '/api/system',
  ]) {
    const { body } = await host.request('GET', path)
    assert.equal(JSON.stringify(body).includes(secret), false, path)
  }
  const { body } = await host.request('GET', '/api/plugins/probe/history')
  const made = body.events.find((event: { type: string }) => event.type === 'PluginHookSecretChanged')
  assert.deepEqual([made.by, made.data.hookSecret], ['supervisor', '********'])
})

test('§14 the secret is renewed without a reload, and the old addresses are gone', async () => {
  const old = await addressOf('echo')
  const before = (await host.request('GET', '/api/plugins/probe')).body
  const key = { 'Idempotency-Key': 'renew-1' }
  const renewed = await host.request('POST', '/api/plugins/probe/hook-secret', { headers: key })
  assert.deepEqual(
    [renewed.status, renewed.body.state, renewed.body.revision],
    [200, 'running', before.revision + 1],
  )
  const next = await addressOf('echo')
  assert.notEqual(next, old)
  assert.equal((await ask(old)).status, 404)
  assert.equal((await ask(next)).status, 200)
  await host.request('POST', '/api/plugins/probe/hook-secret', { headers: key })
  assert.equal(await addressOf('echo'), next)
  const { body } = await host.request('GET', '/api/plugins/probe/history')
  assert.equal(body.events.at(-1).type, 'PluginHookSecretChanged')
  const stale = await host.request('POST', '/api/plugins/probe/hook-secret', {
    headers: { 'If-Match': '"1"' },
  })
  assert.equal(stale.status, 412)
})

test('§14 one who has unloaded answers 404, and has the same addresses when it is back', async () => {
  const echo = await addressOf('echo')
  const loaded = (await host.request('GET', '/api/plugins/probe')).body
  assert.equal(loaded.resources.httpHandlers, 8)
  const off = await host.request('POST', '/api/plugins/probe/toggle', { body: { enabled: false } })
  assert.equal(off.body.resources.httpHandlers, 0)
  assert.equal((await ask(echo)).status, 404)
  assert.deepEqual(await hooksOfProbe(), [])
  await host.request('POST', '/api/plugins/probe/toggle', { body: { enabled: true } })
  assert.equal((await ask(echo)).status, 200)
})

test('§14 while a plugin is being loaded it may be asked again, and is not said to be gone', async () => {
  const path = '/hooks/fixtures/slow/late'
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/slow' } })
  assert.equal((await ask(path)).status, 404)
  const loading = host.request('POST', '/api/plugins/slow/toggle', { body: { enabled: true } })
  await until(
    'the plugin to be loading',
    async () => (await host.request('GET', '/api/plugins/slow')).body.state === 'loading',
  )
  const early = await ask(path)
  assert.deepEqual(
    [early.status, early.body.code, early.headers.get('retry-after')],
    [503, 'hook_unavailable', '1'],
  )
  await host.request('PUT', '/api/plugins/gate/controls/open', { body: { value: true } })
  assert.equal((await loading).body.state, 'running')
  assert.equal((await ask(path)).body, 'late')
  assert.equal((await ask('/hooks/fixtures/slow/other')).status, 404)
  await host.request('POST', '/api/plugins/slow/toggle', { body: { enabled: false } })
  assert.equal((await ask(path)).status, 404)
})

test('§14 a request under way when its plugin ends is told so at once', async () => {
  const waiting = ask(await addressOf('silent'))
  await until('under way', async () =>
    (await host.request('GET', '/livez')).status === 200 ? true : undefined,
  )
  await host.request('POST', '/api/plugins/probe/reload')
  const answer = await waiting
  assert.ok([503, 504].includes(answer.status))
})

test('§14 a handler that never answers takes no more than its places, and other requests go on', async () => {
  const silent = await addressOf('silent')
  const refused = 10
  const waiting = Array.from({ length: concurrentHooksLimit + waitingHooksLimit + refused }, () =>
    ask(silent),
  )
  const full = await Promise.race(waiting)
  // All of them have come when so many were refused.
  let answered = 0
  await new Promise<void>((resolve) => {
    for (const answer of waiting) void answer.then(() => (answered += 1) === refused && resolve())
  })
  assert.deepEqual(
    [full.status, full.body.code, full.headers.get('retry-after')],
    [503, 'hook_unavailable', '1'],
  )
  assert.ok(
    warnings.some((line) => line.startsWith('Requests from outside for @fixtures/probe are refused (503)')),
  )
  assert.equal((await ask('/hooks/fixtures/public/b')).body, 'b')
  assert.equal((await host.request('GET', '/api/plugins')).status, 200)
  await host.request('POST', '/api/plugins/probe/toggle', { body: { enabled: false } })
  const statuses = new Set((await Promise.all(waiting)).map(({ status }) => status))
  assert.deepEqual([...statuses], [503])
  await host.request('POST', '/api/plugins/probe/toggle', { body: { enabled: true } })
  assert.equal((await ask(await addressOf('echo'))).status, 200)
})

/** The HTTP side alone, with a handler and a clock of the test. */
async function withHandler(
  take: FoundHook['take'],
  use: (url: string, clock: ManualClock) => Promise<void>,
): Promise<void> {
  const clock = createManualClock()
  const hook: FoundHook = { plugin: '@a/b', auth: 'none', methods: undefined, take }
  const http = await startHttp({ findHook: () => hook }, { clock })
  try {
    await use(http.url, clock)
  } finally {
    await http.close()
  }
}

/** As a plugin that answers only to say that it has given up. */
function neverAnswers(progress: string[]): FoundHook['take'] {
  return (_request, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        progress.push('given up')
        resolve({ ok: false, reason: 'ended' })
      })
      progress.push('taken')
    })
}

test('§14 who has not answered after 10 s is not waited for: 504, and the plugin is told', async () => {
  const progress: string[] = []
  await withHandler(neverAnswers(progress), async (url, clock) => {
    const answer = fetch(`${url}/hooks/a/b/c`, { method: 'POST', body: 'x' })
    await until('the handler has it', () => Promise.resolve(progress[0]))
    clock.advance(9_999)
    assert.deepEqual(progress, ['taken'])
    clock.advance(1)
    const { status } = await answer
    const { code } = (await (await answer).json()) as { code: string }
    assert.deepEqual([status, code, progress], [504, 'hook_timeout', ['taken', 'given up']])
  })
})

test('§14 a body that does not arrive is not waited for', async () => {
  let asked = false
  const take: FoundHook['take'] = () => {
    asked = true
    return Promise.resolve({ ok: true, status: 200, headers: [] })
  }
  await withHandler(take, async (url, clock) => {
    const before = clock.waiting
    const head = `POST /hooks/a/b/c HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbegun`
    let answered = false
    const answer = exchange(url, head).finally(() => (answered = true))
    await until('the body is being read', () => Promise.resolve(clock.waiting > before ? true : undefined))
    clock.advance(10_000)
    await until('the answer is held open for a moment', () => {
      clock.advance(1_000)
      return Promise.resolve(answered)
    })
    assert.equal(parseAnswer(await answer).status, 400)
    assert.equal(asked, false)
  })
})

test('§14 who leaves before the request has its turn takes no place', async () => {
  const clock = createManualClock()
  let find = (): void => undefined
  const found = new Promise<undefined>((resolve) => (find = () => resolve(undefined)))
  let asked = 0
  const hook: FoundHook = {
    ...{ plugin: '@a/b', auth: 'none', methods: undefined },
    take: () => Promise.resolve({ ok: true, status: 204, headers: [] }),
  }
  const findHook = async (): Promise<FoundHook> => {
    asked += 1
    if (asked <= concurrentHooksLimit) await found
    return hook
  }
  const http = await startHttp({ findHook }, { clock })
  try {
    const leaving = new AbortController()
    const left = Array.from({ length: concurrentHooksLimit }, () =>
      fetch(`${http.url}/hooks/a/b/c`, { signal: leaving.signal }).catch(() => 'left'),
    )
    await until('all are there', () => Promise.resolve(asked === concurrentHooksLimit))
    leaving.abort()
    await Promise.all(left)
    // The host has heard of it as soon as it serves somebody who comes later.
    await fetch(`${http.url}/livez`)
    find()
    let status: number | undefined
    void fetch(`${http.url}/hooks/a/b/c`).then((answer) => (status = answer.status))
    assert.equal(await until('one that stays', () => Promise.resolve(status), 10_000), 204)
  } finally {
    let closed = false
    void http.close().then(() => (closed = true))
    await until('it is closed', () => {
      clock.advance(10_000)
      return Promise.resolve(closed)
    })
  }
})

test('§14 a plugin is told when whoever asked leaves before the answer', async () => {
  const progress: string[] = []
  await withHandler(neverAnswers(progress), async (url) => {
    const leaving = new AbortController()
    const answer = fetch(`${url}/hooks/a/b/c`, { signal: leaving.signal })
    answer.catch(() => undefined)
    await until('the handler has it', () => Promise.resolve(progress[0]))
    leaving.abort()
    await until('the plugin is told', () => Promise.resolve(progress[1]))
  })
})

test('§14 the log of the host has no secret part of an address', async () => {
  const lines: string[] = []
  const note = (message: string, fields: LogFields = {}): void =>
    void lines.push(`${message} ${JSON.stringify(writtenFields(fields))}`)
  const logger: Logger = { debug: note, info: note, warn: note, error: note }
  const http = await startHttp({ findHook: () => undefined }, { logger })
  await fetch(`${http.url}/hooks/a/b/very-secret-part/c?d=e`)
  await http.close()
  assert.ok(lines.some((line) => line.includes('/hooks/a/b/…')))
  assert.equal(lines.join('\n').includes('very-secret'), false)
})
