import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type DigestOptions, startDigestServer } from '../outside/http/digest-server.ts'
import { type Respond, startWebServer } from '../outside/web-server.ts'
import { printedBy, requestsInTurn, withServer } from './outside-stage.ts'
import { linesOf, pluginSource } from './stage.ts'

/** What `httpRequest` has learnt with section 15 of the plugin API. */

/** Shows each answer. */
const answers = (base: string, requests: string[], show: string): Promise<string[]> =>
  printedBy(pluginSource(requestsInTurn(base, requests, show)))

const outcome = 'tostring(answer.status) .. " " .. tostring(err) .. " " .. answer.body'
const digest = `auth = { type = "digest", user = "Mufasa", password = 'Circle of "Life"' }`

const digests: [title: string, options: DigestOptions, requests: number, status: string][] = [
  ['MD5', {}, 2, '200 nil in: x'],
  ['SHA-256', { algorithms: ['SHA-256'] }, 2, '200 nil in: x'],
  ['the stronger of two', { algorithms: ['MD5', 'SHA-256'] }, 2, '200 nil in: x'],
  ['one that it knows among others', { algorithms: ['SHA-512-256', 'MD5'] }, 2, '200 nil in: x'],
  ['without qop, as older devices have it', { qop: '' }, 2, '200 nil in: x'],
  ['with a nonce that was too old', { stale: 1 }, 3, '200 nil in: x'],
  ['with one that is always too old, which is given up', { stale: 9 }, 3, '401 HTTP 401 who are you?'],
  ['with nothing that it knows', { algorithms: ['SHA-512-256'] }, 1, '401 HTTP 401 who are you?'],
  ['with integrity alone, which it does not know', { qop: 'auth-int' }, 1, '401 HTTP 401 who are you?'],
]
for (const [title, options, requests, expected] of digests)
  test(`§15 auth of type digest: ${title}`, async () => {
    await withServer(startDigestServer(options), async ({ url, seen }) => {
      const request = `{ url = base .. "/a?b=c,d", method = "POST", body = "x", ${digest} }`
      assert.deepEqual(await answers(url, [request], outcome), [expected])
      assert.equal(seen.length, requests)
      assert.equal(seen[0]?.headers.authorization, undefined)
    })
  })

test('§15 auth of type digest: names and passwords are UTF-8', async () => {
  const user = { user: 'Łukasz', password: 'żółw' }
  await withServer(startDigestServer({ user, realm: 'Küche' }), async ({ url }) => {
    const request = `{ url = base, auth = { type = "digest", user = "${user.user}", password = "${user.password}" } }`
    assert.deepEqual(await answers(url, [request], outcome), ['200 nil in: '])
  })
})

test('§15 a wrong password is refused after one attempt', async () => {
  await withServer(startDigestServer(), async ({ url, seen }) => {
    const request = '{ url = base, auth = { type = "digest", user = "Mufasa", password = "no" } }'
    assert.deepEqual(await answers(url, [request], 'answer.status'), ['401'])
    assert.equal(seen.length, 2)
  })
})

test('§15 a password for digest authentication goes to no other host', async () => {
  await withServer(startDigestServer(), async (other) => {
    const redirect: Respond = (_seen, response) => response.writeHead(302, { Location: other.url }).end()
    await withServer(startWebServer(redirect), async ({ url }) => {
      assert.deepEqual(await answers(url, [`{ url = base, ${digest} }`], 'answer.status'), ['401'])
      assert.equal(other.seen.length, 1)
    })
  })
})

test('§15 auth of type basic and bearer, and what is wrong with others', async () => {
  const echo: Respond = ({ headers }, response) => response.end(headers.authorization ?? 'none')
  await withServer(startWebServer(echo), async ({ url }) => {
    assert.deepEqual(
      await answers(
        url,
        [
          '{ url = base, auth = { type = "basic", user = "a", password = "100%25ü" } }',
          '{ url = base, auth = { type = "basic", user = "a" } }',
          '{ url = base, auth = { type = "bearer", token = "t" } }',
          '{ url = base, auth = { type = "bearer", token = "t" }, headers = { authorization = "mine" } }',
          '{ url = base, auth = { type = "bearer", token = "Łuk" } }',
          '{ url = base, auth = { type = "ntlm" } }',
          '{ url = base, auth = { type = "bearer" } }',
        ],
        'err or answer.body',
      ),
      [
        `Basic ${Buffer.from('a:100%25ü').toString('base64')}`,
        `Basic ${Buffer.from('a:').toString('base64')}`,
        ...['Bearer t', 'mine', Buffer.from('Bearer Łuk').toString('latin1')],
        ...['auth.type is "basic", "bearer" or "digest", not ntlm', 'auth needs token'],
      ],
    )
  })
})

test('§15 query is added to what the url has already', async () => {
  const echo: Respond = ({ target }, response) => response.end(target)
  await withServer(startWebServer(echo), async ({ url }) => {
    const requests = [
      '{ url = base .. "/a", query = { b = "x y", a = 1 } }',
      '{ url = base .. "/a?c=(d)#e", query = { a = true } }',
      '{ url = base .. "/a", query = {} }',
    ]
    assert.deepEqual(await answers(url, requests, 'answer.body'), ['/a?a=1&b=x%20y', '/a?c=(d)&a=true', '/a'])
  })
})

test('§15 multipart sends parts with names, files and types', async () => {
  const echo: Respond = ({ body, headers }, response) => response.end(`${headers['content-type']}\n${body}`)
  await withServer(startWebServer(echo), async ({ url }) => {
    const request = `{ url = base, method = "POST", multipart = {
      { name = "chat", value = 7 },
      { name = "pic\\"ture", data = "\\1\\2", filename = "a.png", type = "image/png" },
      { name = "raw", data = "x", filename = "b" },
    } }`
    const [text = ''] = await answers(url, [request], 'answer.body')
    const [, boundary = ''] = /^multipart\/form-data; boundary=(\S+)/.exec(text) ?? []
    assert.equal(
      text.slice(text.indexOf('\n') + 1),
      [
        `--${boundary}\r\nContent-Disposition: form-data; name="chat"\r\n\r\n7\r\n`,
        `--${boundary}\r\nContent-Disposition: form-data; name="pic%22ture"; filename="a.png"\r\n`,
        'Content-Type: image/png\r\n\r\n\u0001\u0002\r\n',
        `--${boundary}\r\nContent-Disposition: form-data; name="raw"; filename="b"\r\n`,
        'Content-Type: application/octet-stream\r\n\r\nx\r\n',
        `--${boundary}--\r\n`,
      ].join(''),
    )
    const wrong = '{ url = base, multipart = { { name = "a" } } }'
    assert.deepEqual(await answers(url, [wrong], 'err'), ['part 1 needs a value or data: a string'])
  })
})

test('§15 names, files and types of multipart count as the values do', async () => {
  const never: Respond = (_seen, response) => response.end()
  await withServer(startWebServer(never), async ({ url, seen }) => {
    const requests = ['name = long', 'name = "a", filename = long', 'name = "a", type = long'].map(
      (part) => `(function()
        local long, parts = ("x"):rep(1000000), {}
        for index = 1, 100 do parts[index] = { value = "", ${part} } end
        return { url = base, method = "POST", multipart = parts }
      end)()`,
    )
    const refused = 'the value is too large: it takes more than 16777216 bytes'
    assert.deepEqual(await answers(url, requests, 'err'), [refused, refused, refused])
    assert.deepEqual(seen, [])
  })
})

test('§15 maxBody is how much is read, before and after it is decoded', async () => {
  const large: Respond = ({ target }, response) => {
    if (target === '/bomb') response.setHeader('Content-Encoding', 'gzip')
    response.end(target === '/bomb' ? gzipSync(Buffer.alloc(1_000_000)) : 'x'.repeat(Number(target.slice(1))))
  }
  await withServer(startWebServer(large), async ({ url }) => {
    const asked = (path: string, limit: string): string => `{ url = base .. "/${path}", maxBody = ${limit} }`
    const requests = [
      ...[asked('10', '10'), asked('11', '10'), asked('bomb', '5000'), asked('6000000', '16777216')],
      ...[asked('1', '16777217'), '{ url = base .. "/5242881" }'],
    ]
    const show =
      'tostring(answer.ok) .. " " .. answer.status .. " " .. tostring(answer.errCode) .. " " .. #answer.body .. " " .. tostring(err)'
    assert.deepEqual(await answers(url, requests, show), [
      'true 200 nil 10 nil',
      'false 200 too_large 0 the body is larger than 10 bytes',
      'false 200 too_large 0 the body is larger than 5000 bytes',
      'true 200 nil 6000000 nil',
      'false 0 network 0 maxBody is a number of bytes up to 16777216',
      'false 200 too_large 0 the body is larger than 5 MiB',
    ])
  })
})

/** Sets cookies at `/set…`, and says which ones came. */
const cookieServer: Respond = ({ target, headers }, response) => {
  if (target.startsWith('/deep/set'))
    response.setHeader('Set-Cookie', [
      'session=abc; Path=/; HttpOnly',
      'folder=here',
      'date=x; Expires=Thu, 01 Jan 2099 00:00:00 GMT; Path=/',
      'safe=1; Secure; Path=/',
      'other=1; Path=/elsewhere',
      'wide=1; Domain=.example.com; Path=/',
    ])
  if (target === '/end')
    response.setHeader('Set-Cookie', ['session=; Max-Age=0; Path=/', 'date=; Expires=x; Path=/'])
  if (target === '/login') {
    response.writeHead(302, { 'Set-Cookie': 'login=yes', Location: '/shown' }).end()
    return
  }
  response.end(headers.cookie ?? 'none')
}

test('§15 saveCookies keeps what a server sets, for its host and path, and the answer shows it', async () => {
  await withServer(startWebServer(cookieServer), async ({ url }) => {
    await withServer(startWebServer(cookieServer), async (second) => {
      const asked = (path: string, save = true): string =>
        `{ url = base .. "${path}"${save ? ', saveCookies = true' : ''} }`
      const lines = await answers(
        url,
        [
          asked('/deep/set'),
          ...[asked('/deep/er'), asked('/deeper'), asked('/elsewhere/x'), asked('/deep/er', false)],
          `{ url = "${second.url}/deep/er", saveCookies = true }`,
          `{ url = base .. "/deep/er", saveCookies = true, headers = { Cookie = "mine=1" } }`,
          ...[asked('/end'), asked('/deep/er'), asked('/login'), asked('/deeper')],
        ],
        'answer.body',
      )
      assert.deepEqual(lines, [
        'none',
        'folder=here; session=abc; date=x; wide=1',
        'session=abc; date=x; wide=1',
        'other=1; session=abc; date=x; wide=1',
        ...['none', 'none', 'mine=1'],
        'session=abc; date=x; wide=1',
        'folder=here; wide=1; date=',
        'wide=1; date=; login=yes',
        'wide=1; date=; login=yes',
      ])
      const show =
        'answer.cookies.session .. " " .. answer.cookies.date .. " " .. #answer.headers["Set-Cookie"] .. " " .. answer.headers["set-cookie"][3]'
      assert.deepEqual(await answers(url, [asked('/deep/set')], show), [
        'abc x 6 date=x; Expires=Thu, 01 Jan 2099 00:00:00 GMT; Path=/',
      ])
      const without = 'tostring(next(answer.cookies)) .. tostring(answer.headers["set-cookie"])'
      assert.deepEqual(await answers(url, [asked('/x')], without), ['nilnil'])
    })
  })
})

test('the bodies of requests that were refused as too many wait are not kept until the plugin hears of it', async () => {
  const source = pluginSource(`
    local body = string.rep("x", 1000000)
    for _ = 1, 600 do plugin:httpRequest({ url = "http://nobody.invalid/", method = "POST", body = body }, function() end) end
    -- A look at the memory that is in use: with all bodies it would be more than a plugin may have.
    print(pcall(string.rep, "y", 8000000) and "there is room")`)
  assert.deepEqual(await linesOf(source), ['there is room'])
})

test('§1 headers and cookies of an answer have the bytes that came', async () => {
  const respond: Respond = (_request, response) => {
    const value = Buffer.from('ä').toString('latin1')
    response.setHeader('Set-Cookie', `name=${value}`)
    response.setHeader('X-Bytes', `${value}\u00ff`).end()
  }
  await withServer(startWebServer(respond), async ({ url }) => {
    const show =
      '#answer.headers["x-bytes"] .. " " .. answer.headers["x-bytes"]:byte(3) .. " " .. #answer.cookies.name .. answer.headers["set-cookie"][1]'
    assert.deepEqual(await answers(url, ['{ url = base .. "/" }'], show), ['3 255 2name=ä'])
  })
})
