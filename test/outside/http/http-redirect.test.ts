import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHttpAddress } from '../../../src/outside/http/http-address.ts'
import { redirected } from '../../../src/outside/http/http-redirect.ts'

function addressOf(url: string) {
  const address = parseHttpAddress(url)
  assert.ok(address !== undefined)
  return address
}

const digest = { user: 'me', password: 'secret' }

for (const [from, to, isSame] of [
  ['http://a.example/x', 'http://a.example/y', true],
  ['http://a.example:80/', 'https://a.example:443/', true],
  ['https://a.example:8443/', 'https://a.example:8443/y', true],
  ['https://a.example/', 'http://a.example/', false],
  ['http://a.example/', 'https://b.example/', false],
  ['https://a.example/', 'https://b.example/', false],
  ['http://a.example:8080/', 'https://a.example/', false],
  ['http://a.example/', 'https://a.example:8443/', false],
  ['http://a.example:8080/', 'https://a.example:8080/', false],
] as const)
  test(`what is for the host of ${from} alone ${isSame ? 'goes along' : 'does not go along'} to ${to}`, () => {
    const address = addressOf(from.replace('//', '//user:word@'))
    const headers = ['Authorization', 'Cookie', 'X-Other'].map((name): [string, string] => [name, 'x'])
    const hop = redirected({ address, method: 'GET', headers, body: undefined, digest }, 302, addressOf(to))
    assert.deepEqual(
      [hop.headers.map(([name]) => name), hop.digest, hop.address.authorization],
      isSame
        ? [['Authorization', 'Cookie', 'X-Other'], digest, address.authorization]
        : [['X-Other'], undefined, undefined],
    )
  })
