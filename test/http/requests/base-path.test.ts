import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { createBasePathStripper } from '../../../src/http/requests/base-path.ts'
import { createPathProxy, type PathProxy } from '../../helpers/path-proxy.ts'
import { command, startHostFor, type TestHost } from '../../helpers/test-host.ts'

/** A host that a proxy shows below a path of a name it shares with others. */

const token = 'correct-horse-battery-staple'

async function hostBelow(context: TestContext, path: string): Promise<{ host: TestHost; proxy: PathProxy }> {
  const proxy = await createPathProxy(context, path)
  const host = await startHostFor(context, { settings: { token, publicUrl: proxy.url } })
  proxy.target = host.url
  return { host, proxy }
}

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const all = { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers }
  return fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) })
}

async function pageOf(url: string): Promise<string> {
  const answer = await fetch(url)
  assert.equal(answer.status, 200, url)
  return answer.text()
}

test('what names an address of the host names it as it is called from outside', async (context) => {
  const { host, proxy } = await hostBelow(context, '/lupine')
  const { origin } = new URL(proxy.url)
  for (const [path, body] of [
    ['plugins/install', { fullId: '@fixtures/hello' }],
    ['repositories', { name: 'again', url: host.repository }],
  ] as const) {
    const answer = await post(`${proxy.url}/api/${path}`, body)
    const location = answer.headers.get('location') ?? ''
    assert.match(location, /^\/lupine\/api\/(plugins\/%40fixtures%2Fhello|repositories\/again)$/)
    // The proxy knows it; a single repository can only be removed.
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(origin + location, { headers })
    assert.equal(status, path === 'repositories' ? 405 : 200)
  }
  const description = await fetch(`${proxy.url}/api/openapi.json`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.deepEqual(((await description.json()) as { servers: unknown }).servers, [{ url: '/lupine' }])
})

test('the page and its files are found by the proxy, and at the address of the host itself', async (context) => {
  const { host, proxy } = await hostBelow(context, '/lupine')
  const throughProxy = await pageOf(`${proxy.url}/plugins/@fixtures/hello/settings`)
  const files = [...throughProxy.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file]) => file ?? '')
  assert.equal(files.length, 2)
  for (const file of files) {
    assert.ok(file.startsWith('/lupine/assets/'), file)
    for (const { origin } of [new URL(proxy.url), new URL(host.url)]) await pageOf(origin + file)
  }
  for (const path of ['/', '/plugins', '/lupine', '/lupine/', '/lupine?a=b', '/lupine/plugins'])
    assert.equal(await pageOf(host.url + path), throughProxy)
  for (const path of ['/lupines', '/lupines/plugins', '/lupine/lupine/plugins'])
    assert.equal((await fetch(host.url + path)).status, 404, path)
})

test('the cookie of a login goes to the path of the host alone, and is taken there', async (context) => {
  const { host, proxy } = await hostBelow(context, '/lupine')
  const { origin } = new URL(proxy.url)
  const login = await post(`${proxy.url}/api/session`, { token }, { authorization: '', origin })
  assert.equal(login.status, 201)
  const cookie = login.headers.get('set-cookie') ?? ''
  assert.match(
    cookie,
    /^lupine-session-\d+=[\w-]{43}; Path=\/lupine\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
  )
  const [own = ''] = cookie.split(';')
  // A browser sends the one of the longer path first; the other may be of a host at the root of the name.
  const other = `${own.split('=', 1)[0]}=another`
  for (const [given, status] of [
    [`${own}; ${other}`, 200],
    [other, 401],
  ] as const) {
    const answer = await fetch(`${proxy.url}/api/plugins`, { headers: { cookie: given } })
    assert.equal(answer.status, status)
  }
  const ended = await fetch(`${proxy.url}/api/session`, {
    method: 'DELETE',
    headers: { cookie: own, origin },
  })
  assert.match(ended.headers.get('set-cookie') ?? '', /^lupine-session-\d+=; Path=\/lupine\/; Max-Age=0; /)
  assert.equal((await fetch(`${host.url}/api/plugins`, { headers: { cookie: own } })).status, 401)
})

test('with encryption the cookie of a path says so in its name, as far as browsers let it', async (context) => {
  const publicUrl = 'https://home.example/lupine'
  const host = await startHostFor(context, { settings: { token, publicUrl } })
  const origin = 'https://home.example'
  const login = await post(`${host.url}/api/session`, { token }, { authorization: '', origin })
  const cookie = login.headers.get('set-cookie') ?? ''
  assert.match(cookie, /^__Secure-lupine-session-\d+=[\w-]{43}; Path=\/lupine\/; .*; Secure$/)
  const headers = { cookie: cookie.split(';', 1)[0] ?? '' }
  assert.equal((await fetch(`${host.url}/api/plugins`, { headers })).status, 200)
})

test('WebSockets and requests for plugins come through with the path and without it', async (context) => {
  const proxy = await createPathProxy(context, '/lupine')
  const lua = `local plugin = Plugin:new("bell")
    plugin:onInit(function()
      plugin:httpHandler("ring", function(request) return { body = tostring(request.headers.cookie) } end, { auth = "token" })
    end)`
  const settings = { token, publicUrl: proxy.url }
  const host = await startHostFor(context, { settings, plugins: [{ id: 'bell', lua }] })
  proxy.target = host.url
  await command(host, 'install', { fullId: '@fixtures/bell' })
  await command(host, '@fixtures/bell/toggle')
  const { body } = await host.request('GET', '/api/plugins/@fixtures/bell/hooks')
  const [{ url }] = body.hooks
  assert.ok(url.startsWith(`${proxy.url}/hooks/`), url)
  for (const base of [proxy.url, host.url, `${host.url}/lupine`]) {
    const inspector = new WebSocket(`${base.replace('http', 'ws')}/api/inspect`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await new Promise((resolve, reject) => inspector.once('message', resolve).once('error', reject))
    inspector.terminate()
    const answer = await fetch(base + url.slice(proxy.url.length), {
      headers: { authorization: `Bearer ${token}`, cookie: '__Secure-lupine-session-1=x; a=b' },
    })
    assert.deepEqual([answer.status, await answer.text()], [200, 'a=b'])
  }
})

test('without a path all is at the root, and a path that begins as one of the host is the proxy alone', async (context) => {
  const { host, proxy } = await hostBelow(context, '')
  assert.match(
    await pageOf(`${host.url}/plugins`),
    / href="\/assets\/[^"]+">\n<script type="module" src="\/assets\//,
  )
  assert.match(await pageOf(`${proxy.url}/`), / is at \/api, too/)
  const own = ['/', '/plugins', '/plugins/:id', '/hooks/:namespace']
  const inside = (path: string, target: string): string => createBasePathStripper(path, own)(target)
  assert.deepEqual(
    [
      inside('', '/plugins'),
      inside('/plugins', '/plugins/plugins'),
      inside('/hooks/mine', '/hooks/mine/plugins'),
      inside('/a/b', '/a/b/plugins?c=/a/b'),
      inside('/a/b', '/a/plugins'),
      inside('/a/b', '*'),
      inside('/a/b', '/a/b//elsewhere'),
    ],
    [
      '/plugins',
      '/plugins/plugins',
      '/hooks/mine/plugins',
      '/plugins?c=/a/b',
      '/a/plugins',
      '*',
      '//elsewhere',
    ],
  )
})
