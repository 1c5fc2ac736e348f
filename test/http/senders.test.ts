import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { handshake } from './clients.ts'

/**
 * What a web page elsewhere, or a name that somebody has pointed here, could send: refused at every way in, in
 * whatever form the names are written.
 */

const token = 'correct-horse-battery-staple'
let open: TestHost
let locked: TestHost
let cookie = ''
before(async () => {
  open = await startTestHost()
  locked = await startTestHost({ settings: { token } })
  const login = await locked.request('POST', '/api/session', { body: { token } })
  cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
})
after(async () => {
  await open.close()
  await locked.close()
})

type Headers = Readonly<Record<string, string | readonly string[]>>

/** Every way in, and what it answers when it lets somebody through. */
const waysIn: { name: string; line: string; through: number; headers: Headers }[] = [
  { name: 'a question', line: 'GET /api/plugins', through: 200, headers: {} },
  { name: 'a command', line: 'POST /plugins/nobody/toggle', through: 404, headers: {} },
  { name: 'the event stream', line: 'GET /api/events', through: 200, headers: {} },
  { name: 'the inspector', line: 'GET /api/inspect', through: 101, headers: handshake },
  {
    name: 'MQTT over WebSocket',
    line: 'GET /mqtt',
    through: 101,
    headers: { ...handshake, 'Sec-WebSocket-Protocol': 'mqtt' },
  },
]

/** The status that comes back; the connection is ended then. */
function statusOf(host: TestHost, line: string, headers: Headers): Promise<number> {
  const { port, host: own } = new URL(host.url)
  const all: Headers = { Host: own, ...headers }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().map((text) => `${name}: ${text}\r\n`),
  )
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', reject)
    socket.on('data', (data) => {
      resolve(Number(data.toString('latin1').split(' ')[1]))
      socket.destroy()
    })
    socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
  })
}

/** `PORT` stands for the port of the host. */
const withPort = (headers: Headers, port: string): Headers =>
  JSON.parse(JSON.stringify(headers).replaceAll('PORT', port)) as Headers

const ownForms: Headers[] = [
  { Host: '127.0.0.1:PORT' },
  { Host: 'localhost:PORT' },
  { Host: 'LocalHost:PORT' },
  { Host: '[::1]:PORT' },
  { Host: '127.255.255.254:PORT' },
  { Origin: 'http://127.0.0.1:PORT' },
  { Origin: 'http://localhost:PORT' },
  { Origin: 'http://[::1]:PORT', Host: '[::1]:PORT' },
  { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://127.0.0.1:PORT' },
  { 'X-Names': ['Host', 'Origin'], Origin: 'http://127.0.0.1:PORT' },
]

const foreignForms: Headers[] = [
  // Names
  { Host: 'evil.example:PORT' },
  { Host: 'evil.example' },
  { Host: 'localhost.:PORT' },
  { Host: '127.0.0.1.:PORT' },
  { Host: 'localhost.evil.example:PORT' },
  { Host: '127.0.0.1.nip.io:PORT' },
  { Host: '127.1:PORT' },
  { Host: '2130706433:PORT' },
  { Host: '0x7f.0.0.1:PORT' },
  { Host: '127.0.0.01:PORT' },
  { Host: '0.0.0.0:PORT' },
  { Host: '[::]:PORT' },
  { Host: '[::ffff:127.0.0.1]:PORT' },
  { Host: '[::1%25lo]:PORT' },
  { Host: '[::1]evil.example:PORT' },
  { Host: '[::1]' },
  { Host: '::1' },
  { Host: 'xn--lcalhost-54a:PORT' },
  { Host: 'lo\u00e7alhost:PORT' },
  { Host: 'user@127.0.0.1:PORT' },
  { Host: '127.0.0.1:PORT@evil.example' },
  { Host: '127.0.0.1:PORT, evil.example' },
  { Host: '127.0.0.1:PORT/' },
  { Host: '127.0.0.1:+PORT' },
  { Host: '127.0.0.1:' },
  { Host: '' },
  // Origins
  { Origin: 'null' },
  { Origin: '' },
  { Origin: 'http://evil.example' },
  { Origin: 'http://evil.example:PORT' },
  { Origin: 'http://127.0.0.1' },
  { Origin: 'http://127.0.0.1:1' },
  { Origin: 'https://127.0.0.1:PORT' },
  { Origin: 'ws://127.0.0.1:PORT' },
  { Origin: 'http://localhost.:PORT' },
  { Origin: 'http://127.0.0.1.evil.example:PORT' },
  { Origin: 'http://127.0.0.1:PORT.evil.example' },
  { Origin: 'http://evil.example/127.0.0.1:PORT' },
  { Origin: 'http://evil.example#127.0.0.1:PORT' },
  { Origin: 'http://user@127.0.0.1:PORT' },
  { Origin: 'http://127.0.0.1:PORT http://evil.example' },
  { Origin: 'http://xn--lcalhost-54a:PORT' },
  { Origin: 'file://' },
  { Origin: 'file://127.0.0.1:PORT' },
  { Origin: 'chrome-extension://abcdefgh' },
  // What browsers say of who asks
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'websocket', 'Sec-Fetch-Dest': 'websocket' },
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' },
]

/** Which of two counts is not certain, so neither does; and who names none does not speak HTTP/1.1. */
const unclearForms: Headers[] = [
  { Host: [] },
  { Host: ['127.0.0.1:PORT', 'evil.example'] },
  { Host: ['evil.example', '127.0.0.1:PORT'] },
  { Origin: ['http://127.0.0.1:PORT', 'http://evil.example'] },
]

for (const { name, line, through, headers } of waysIn) {
  test(`without a token ${name} is there for this machine and its own pages, under every name of it`, async () => {
    const { port } = new URL(open.url)
    for (const form of ownForms) {
      const given = { ...headers, ...withPort(form, port) }
      assert.equal(await statusOf(open, line, given), through, JSON.stringify(form))
    }
  })

  test(`without a token ${name} is refused to pages and names of others, however they are written`, async () => {
    const { port } = new URL(open.url)
    for (const form of foreignForms) {
      const given = { ...headers, ...withPort(form, port) }
      assert.equal(await statusOf(open, line, given), 403, JSON.stringify(form))
    }
    for (const form of unclearForms) {
      const given = { ...headers, ...withPort(form, port) }
      assert.equal(await statusOf(open, line, given), 400, JSON.stringify(form))
    }
  })
}

/** With a login: the page that asks must have the name by which the host is called. */
const loginForms: [form: Headers, isOwn: boolean][] = [
  [{ Origin: 'http://127.0.0.1:PORT' }, true],
  [{ Host: '[fd00::1]:PORT', Origin: 'http://[fd00::1]:PORT' }, true],
  [{ Host: 'LUPINE.example:PORT', Origin: 'http://lupine.example:PORT' }, true],
  [{ Host: 'lupine.example', Origin: 'https://lupine.example' }, true],
  [{ Host: 'lupine.example', Origin: 'https://lupine.example:443' }, true],
  [{ Host: 'lupine.example:80', Origin: 'http://lupine.example' }, true],
  [{ Host: 'xn--grn-2na.example', Origin: 'https://xn--grn-2na.example' }, true],
  [{ 'Sec-Fetch-Site': 'same-origin' }, true],
  [{}, false],
  [{ Origin: 'null' }, false],
  [{ Origin: '' }, false],
  [{ Origin: 'null', 'Sec-Fetch-Site': 'same-origin' }, false],
  [{ Origin: 'http://evil.example' }, false],
  [{ Host: 'lupine.example', Origin: 'http://lupine.example.' }, false],
  [{ Host: 'lupine.example', Origin: 'http://sub.lupine.example' }, false],
  [{ Host: 'lupine.example', Origin: 'http://xn--lupine-example' }, false],
  [{ Host: 'lupine.example', Origin: 'http://lupine.example:8080' }, false],
  [{ Host: 'lupine.example', Origin: 'http://user@lupine.example' }, false],
  [{ Host: 'lupine.example', Origin: 'http://lupine.example/x' }, false],
  [{ Host: 'lupine.example', Origin: 'ftp://lupine.example' }, false],
  [{ Host: '', Origin: 'http://' }, false],
  [{ 'Sec-Fetch-Site': 'same-site' }, false],
  [{ 'Sec-Fetch-Site': 'cross-site' }, false],
  [{ 'Sec-Fetch-Site': 'none' }, false],
]

for (const { name, line, through, headers } of waysIn.filter(({ line }) => /POST|inspect/.test(line))) {
  test(`with a login ${name} must come from a page that has the host's own name`, async () => {
    const { port } = new URL(locked.url)
    for (const [form, isOwn] of loginForms) {
      const given = { ...headers, Cookie: cookie, ...withPort(form, port) }
      assert.equal(await statusOf(locked, line, given), isOwn ? through : 403, JSON.stringify(form))
    }
  })
}

test('an address with the name of the host in it, as some proxies send it, must have the name that Host has', async () => {
  const { host: own, port } = new URL(open.url)
  for (const { name, line, through, headers } of waysIn) {
    const askAt = (start: string, host: string): Promise<number> =>
      statusOf(open, line.replace('/', `${start}/`), { ...headers, Host: host })
    assert.equal(await askAt(`http://${own}`, own), through, name)
    assert.equal(await askAt(`HTTP://LOCALHOST:${port}`, `localhost:${port}`), through, name)
    for (const [start, host] of [
      [`http://evil.example:${port}`, `evil.example:${port}`],
      [`http://evil.example:${port}`, own],
      [`http://${own}`, `evil.example:${port}`],
      [`http://user@${own}`, own],
      [`http://${own}@evil.example`, own],
      [`ftp://${own}`, own],
    ] as const)
      assert.ok(![through, 500].includes(await askAt(start, host)), `${name} ${start}`)
  }
  assert.equal(await statusOf(open, `GET http://${own}`, { Host: own }), 200)
  assert.equal(await statusOf(open, `GET http://${own}?q=x`, { Host: own }), 200)
})
