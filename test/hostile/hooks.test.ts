import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** What strangers can do to a host through a plugin that they may ask, and what such a plugin can do. */

const asked = `
local plugin = Plugin:new("asked")
plugin:onInit(function()
  local auth = { auth = "none" }
  plugin:httpHandler("loop", function() while true do end end, auth)
  plugin:httpHandler("silent", function() end, auth)
  plugin:httpHandler("echo", function(request) return tostring(#request.body) end, auth)
  plugin:httpHandler("large", function() return ("x"):rep(5 * 1024 * 1024) end, auth)
  plugin:httpHandler("bomb", function() return { json = {} , headers = { ["X-A"] = ("x"):rep(70000) } } end, auth)
  plugin:httpHandler("deep", function(request) return type(request.json) .. type(request.form) end, auth)
end)`
const other = `
local plugin = Plugin:new("other")
plugin:onInit(function()
  plugin:httpHandler("echo", function() return "other" end, { auth = "none" })
end)`

const isolations = ['dedicated', 'auto'] as const

async function stage(t: TestContext, isolation: (typeof isolations)[number]): Promise<TestHost> {
  const host = await startTestHost({
    settings: { isolation },
    plugins: [
      { id: 'asked', lua: asked },
      { id: 'other', lua: other },
    ],
    limits: { callbackTime: 700 },
  })
  t.after(() => host.close())
  for (const id of ['asked', 'other']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
    assert.equal(body.state, 'running', JSON.stringify(body.error))
  }
  return host
}

const ask = (host: TestHost, path: string, body?: string): Promise<{ status: number; body: any }> =>
  host.request('POST', `/hooks/fixtures/${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

/** Another plugin and the API are served, while whatever it is goes on. */
async function assertServes(host: TestHost): Promise<void> {
  const answers = await Promise.all([ask(host, 'other/echo'), host.request('GET', '/api/plugins')])
  assert.deepEqual([answers[0].body, answers[1].status], ['other', 200])
}

/** Begins a request, sends so many bytes of its body, and never ends it. */
async function beginBody(t: TestContext, host: TestHost, bytes = 5): Promise<Socket> {
  const { hostname, port } = new URL(host.url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const head = `POST /hooks/fixtures/asked/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000`
  // The answer to that says that the host has it.
  socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n`)
  await once(socket, 'data')
  socket.write('x'.repeat(bytes))
  return socket
}

for (const isolation of isolations) {
  test(`a handler that never comes back is stopped, and nobody waits for it (${isolation})`, async (t) => {
    const host = await stage(t, isolation)
    const loops = Array.from({ length: 5 }, () => ask(host, 'asked/loop'))
    for (let count = 0; count < 10; count += 1) await assertServes(host)
    const statuses = new Set((await Promise.all(loops)).map(({ status }) => status))
    assert.ok(
      [...statuses].every((status) => [500, 503, 504].includes(status)),
      [...statuses].join(),
    )
  })

  test(`a flood of requests to one plugin leaves the others as they were (${isolation})`, async (t) => {
    const host = await stage(t, isolation)
    const flood: Promise<{ status: number }>[] = []
    for (let round = 0; round < 20; round += 1) {
      for (let count = 0; count < 40; count += 1) flood.push(ask(host, 'asked/echo', 'x'.repeat(10_000)))
      await assertServes(host)
    }
    const statuses = (await Promise.all(flood)).map(({ status }) => status)
    assert.ok(statuses.every((status) => status === 200 || status === 503))
    assert.ok(statuses.filter((status) => status === 200).length > 100, 'most are answered')
    assert.equal((await ask(host, 'asked/echo', 'after')).body, '5')
  })
}

// More than one plugin takes at a time, and more than it takes of large ones.
for (const [count, bytes] of [
  [200, 5],
  [30, 100_000],
] as const)
  test(`${count} bodies that never end, after ${bytes} bytes, hold nobody up`, async (t) => {
    const host = await stage(t, 'dedicated')
    await Promise.all(Array.from({ length: count }, () => beginBody(t, host, bytes)))
    await assertServes(host)
    const begun = performance.now()
    assert.deepEqual((await ask(host, 'asked/echo', 'in turn')).body, '7')
    // Less than any of them is waited for.
    assert.ok(performance.now() - begun < 5_000)
    await assertServes(host)
  })

test('a large body is taken while many small ones never end', async (t) => {
  const host = await stage(t, 'dedicated')
  await Promise.all(Array.from({ length: 60 }, () => beginBody(t, host)))
  assert.equal((await ask(host, 'asked/echo', 'x'.repeat(1_000_000))).body, '1000000')
})

test('an answer that nobody reads holds up one plugin alone, and goes with whoever asked', async (t) => {
  const host = await stage(t, 'dedicated')
  const { hostname, port } = new URL(host.url)
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write('GET /hooks/fixtures/asked/large HTTP/1.1\r\nHost: x\r\n\r\n')
    return socket
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let count = 0; count < 10; count += 1) await assertServes(host)
  for (const socket of sockets) socket.destroy()
  await until('its places are free', async () => (await ask(host, 'asked/echo', 'x')).status === 200)
})

test('requests that are begun and left, over and over, take nothing away', async (t) => {
  const host = await stage(t, 'dedicated')
  for (let count = 0; count < 300; count += 1) {
    const leaving = new AbortController()
    const answer = fetch(`${host.url}/hooks/fixtures/asked/silent`, { signal: leaving.signal }).catch(
      () => undefined,
    )
    await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    await answer
  }
  await assertServes(host)
  assert.equal((await ask(host, 'asked/echo', 'x')).body, '1')
})

test('an answer that is no answer, a form of a million names and JSON without end are survived', async (t) => {
  const host = await stage(t, 'dedicated')
  assert.equal((await ask(host, 'asked/bomb')).status, 500)
  const names = Array.from({ length: 100_000 }, (_, index) => `${index}`).join('&')
  assert.equal((await ask(host, 'asked/deep', names)).body, 'nilnil')
  assert.equal((await ask(host, 'asked/deep', '['.repeat(500_000))).body, 'niltable')
  assert.equal((await ask(host, 'asked/deep', '&'.repeat(1_000_000))).body, 'niltable')
  await assertServes(host)
})
