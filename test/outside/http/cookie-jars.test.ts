import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCookieJars } from '../../../src/outside/http/cookie-jars.ts'
import { parseHttpAddress } from '../../../src/outside/http/http-address.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'

function addressOf(url: string) {
  const address = parseHttpAddress(url)
  assert.ok(address !== undefined)
  return address
}

const elapsedOf = ({ monotonic }: ManualClock) => monotonic
const here = addressOf('http://a.example/x/y?z')

test('a cookie ends with its time, with another that is over, and with its plugin', () => {
  const clock = createManualClock()
  const jars = createCookieJars(clock.now, elapsedOf(clock))
  jars.save('p', here, ['short=1; Max-Age=10', 'long=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT', 'gone=3'])
  assert.equal(jars.header('p', here), 'short=1; long=2; gone=3')
  assert.equal(jars.header('q', here), undefined)
  clock.advance(10_000)
  assert.equal(jars.header('p', here), 'long=2; gone=3')
  jars.save('p', here, ['gone=; Max-Age=0'])
  assert.equal(jars.header('p', here), 'long=2')
  jars.forget('p')
  assert.equal(jars.header('p', here), undefined)
})

test('a cookie with a date ends then, and at once where that is over, as a logout has it', () => {
  const clock = createManualClock()
  const jars = createCookieJars(clock.now, elapsedOf(clock))
  jars.save('p', here, ['dated=1; Expires=Thu, 01 Jan 2026 00:00:10 GMT', 'session=2'])
  clock.advance(9_999)
  assert.equal(jars.header('p', here), 'dated=1; session=2')
  clock.advance(1)
  assert.equal(jars.header('p', here), 'session=2')
  jars.save('p', here, ['session=; expires=Thu, 01 Jan 1970 00:00:00 GMT'])
  assert.equal(jars.header('p', here), undefined)
})

test('blanks around what is set are left out, and a path may end in a slash', () => {
  const jars = createCookieJars(() => 0)
  jars.save('p', here, [' a = 1 ; Path=/x/; Max-Age=soon', 'b=2;Path=elsewhere'])
  assert.equal(jars.header('p', here), 'a=1; b=2')
  assert.equal(jars.header('p', addressOf('http://a.example/x')), 'b=2')
})

test('a cookie with an age grows older by time that passes, not by a clock that is set', () => {
  const clock = createManualClock()
  let ahead = 0
  const jars = createCookieJars(() => clock.now() + ahead, elapsedOf(clock))
  jars.save('p', here, ['session=1; Max-Age=10; Expires=Thu, 01 Jan 2026 00:00:10 GMT'])
  const year = 365 * 24 * 3_600_000
  for (ahead of [year, -year]) assert.equal(jars.header('p', here), 'session=1')
  clock.advance(10_000)
  assert.equal(jars.header('p', here), undefined)
})

test('a cookie that is to be secure goes over https alone, and to its own port', () => {
  const jars = createCookieJars(() => 0)
  jars.save('p', addressOf('https://a.example/'), ['safe=1; Secure'])
  assert.equal(jars.header('p', addressOf('https://a.example/')), 'safe=1')
  assert.equal(jars.header('p', addressOf('http://a.example/')), undefined)
  assert.equal(jars.header('p', addressOf('https://a.example:8443/')), undefined)
  assert.equal(jars.header('p', addressOf('https://b.a.example/')), undefined)
})

test('a jar has a bound, and what is no cookie is not kept', () => {
  const jars = createCookieJars(() => 0)
  jars.save('p', here, ['', '=x', 'none', `large=${'x'.repeat(5_000)}`, 'bad=\u0007'])
  assert.equal(jars.header('p', here), undefined)
  for (let count = 0; count < 400; count += 1) jars.save('p', here, [`c${count}=1`])
  const names = jars.header('p', here)?.split('; ') ?? []
  assert.deepEqual([names.length, names[0]], [300, 'c100=1'])
})
