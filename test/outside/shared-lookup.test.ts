import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { lookup as systemLookup } from 'node:dns'
import { once } from 'node:events'
import type { LookupFunction } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { openUdp } from '../../src/outside/connections/udp-link.ts'
import { createOwnListeners } from '../../src/outside/own-listeners.ts'
import { createSharedLookup } from '../../src/outside/shared-lookup.ts'

test('what is asked for differently is looked up apart, and who asks again later anew', () => {
  const asked: unknown[] = []
  const answers: (() => void)[] = []
  const heard: unknown[] = []
  const lookup = createSharedLookup((name, options, callback) => {
    asked.push([name, options])
    answers.push(() => callback(null, `${name} ${answers.length}`, 4))
  })
  const ask = (name: string, options: Parameters<LookupFunction>[1]): void =>
    lookup(name, options, (_error, address) => heard.push(address))
  ask('lamp', {})
  ask('lamp', { family: 0, all: false })
  ask('lamp', { family: 4 })
  assert.deepEqual(asked, [
    ['lamp', {}],
    ['lamp', { family: 4 }],
  ])
  answers[0]?.()
  ask('lamp', {})
  assert.equal(asked.length, 3)
  for (const answer of answers.slice(1)) answer()
  assert.deepEqual(heard, ['lamp 2', 'lamp 2', 'lamp 3', 'lamp 3'])
})

test('nobody waits for what could not even be asked', () => {
  let isFirst = true
  const lookup = createSharedLookup((_name, _options, callback) => {
    if (isFirst) {
      isFirst = false
      throw new Error('no such family')
    }
    callback(null, '192.0.2.1', 4)
  })
  const heard: unknown[] = []
  const ask = (): void => lookup('lamp', {}, (error, address) => heard.push(error?.message ?? address))
  ask()
  ask()
  assert.deepEqual(heard, ['no such family', '192.0.2.1'])
})

/** Look-ups that are answered when the test says so, after so many milliseconds. */
function stage() {
  let now = 0
  const asked: string[] = []
  const answers = new Map<string, () => void>()
  const lookup = createSharedLookup(
    (name, _options, callback) => {
      asked.push(name)
      answers.set(name, () => callback(null, '192.0.2.1', 4))
    },
    () => now,
  )
  return {
    asked,
    ask(...names: string[]): void {
      for (const name of names) lookup(name, {}, () => undefined)
    },
    answer(name: string, milliseconds: number): void {
      now += milliseconds
      answers.get(name)?.()
    },
  }
}

test('names whose name server is silent go one by one, and hold up none that was answered quickly the last time', () => {
  const { asked, ask, answer } = stage()
  ask('lamp')
  answer('lamp', 10)
  const clouds = ['cloud-1', 'cloud-2', 'cloud-3', 'cloud-4']
  // Nobody knows yet that their name server is silent.
  ask(...clouds, 'lamp')
  assert.deepEqual(asked.splice(0), ['lamp', 'cloud-1', 'cloud-2'])
  answer('cloud-1', 5_000)
  assert.deepEqual(asked.splice(0), ['lamp'], 'it goes first')
  answer('lamp', 10)
  answer('cloud-2', 0)
  assert.deepEqual(asked.splice(0), ['cloud-3'])
  ask('cloud-1', 'new', 'lamp')
  assert.deepEqual(asked.splice(0), ['lamp'])
  answer('lamp', 10)
  answer('cloud-3', 5_000)
  assert.deepEqual(asked.splice(0), ['cloud-4'])
  // The name server is there again.
  answer('cloud-4', 10)
  assert.deepEqual(asked.splice(0), ['cloud-1', 'new'])
})

test('quick names go first also while nothing is slow, and one that has become slow does not', () => {
  const { asked, ask, answer } = stage()
  for (const name of ['lamp', 'fan']) {
    ask(name)
    answer(name, 10)
  }
  asked.splice(0)
  ask('new-1', 'new-2', 'new-3', 'lamp')
  answer('new-1', 10)
  assert.deepEqual(asked.splice(0), ['new-1', 'new-2', 'lamp'])
  for (const name of ['new-2', 'lamp', 'new-3']) answer(name, 10)
  ask('lamp')
  answer('lamp', 5_000)
  asked.splice(0)
  ask('new-4', 'lamp', 'fan')
  assert.deepEqual(asked, ['new-4', 'fan'])
})

test('a UDP socket opens, and sends to an address, while a name server is silent', async (t) => {
  const silent = /\.silent$/
  const own = createOwnListeners({
    ports: () => [],
    lookup(name, options, callback) {
      if (!silent.test(name)) systemLookup(name, options, callback)
    },
  })
  for (const name of ['one.silent', 'two.silent', 'three.silent']) own.anyLookup(name, {}, () => undefined)
  const device = createSocket('udp4')
  device.bind(0, '127.0.0.1')
  t.after(() => device.close())
  await once(device, 'listening')
  const peer = { host: '127.0.0.1', port: device.address().port }
  const link = openUdp(
    { kind: 'udp', groups: [], broadcast: false },
    {
      opened: () => link.write(Buffer.from('on'), { text: false, peer }, () => undefined),
      message: () => undefined,
      silence: () => undefined,
      ended: () => undefined,
      warn: () => undefined,
    },
    { clock: systemClock, own },
  )
  t.after(() => link.destroy())
  const [heard] = (await once(device, 'message', { signal: AbortSignal.timeout(10_000) })) as [Buffer]
  assert.equal(heard.toString(), 'on')
})
