import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import {
  addressesLimit,
  createGuessLimit,
  cutOffTime,
  ownCutOffTime,
  triesWindow,
  wrongTriesAllowed,
} from '../../../src/base/network/guess-limit.ts'
import type { LogFields } from '../../../src/base/log/log.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

function createTestLimit() {
  const clock = createManualClock()
  const lines: LogFields[] = []
  const limit = createGuessLimit({ clock, warn: (_message, fields) => lines.push(fields) })
  const wrong = (address: string, times = wrongTriesAllowed): void => {
    for (let count = 0; count < times; count += 1) limit.recordWrong(address)
  }
  return { clock, limit, lines, wrong }
}

test('an address is cut off for a minute, this machine for a second, and IPv6 by its network', () => {
  const { limit, wrong, clock, lines } = createTestLimit()
  const own = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .map(({ address }) => address)
  for (const address of ['198.51.100.1', '::1', '127.0.0.9', ...own]) wrong(address)
  for (let count = 0; count < wrongTriesAllowed; count += 1) limit.recordWrong(`2001:db8:1:2:${count}::1`)
  const table: [address: string, wait: number][] = [
    ['198.51.100.1', cutOffTime],
    ['::ffff:198.51.100.1', cutOffTime],
    ['198.51.100.2', 0],
    ['2001:db8:1:2::9', cutOffTime],
    ['2001:0db8:1:2::9%eth0', cutOffTime],
    ['2001:db8:1:3::9', 0],
    ['::1', ownCutOffTime],
    ['127.0.0.9', ownCutOffTime],
    ['127.0.0.8', 0],
    ...own.map((address): [string, number] => [address, ownCutOffTime]),
  ]
  assert.deepEqual(
    table.map(([address]) => [address, limit.cutOffLeft(address)]),
    table,
  )
  assert.deepEqual(lines[0], { address: '198.51.100.1', seconds: 60 })
  assert.equal(limit.cutOffs, lines.length)
  clock.advance(ownCutOffTime)
  assert.deepEqual(
    [limit.cutOffLeft('::1'), limit.cutOffLeft('198.51.100.1')],
    [0, cutOffTime - ownCutOffTime],
  )
  clock.advance(cutOffTime)
  assert.equal(limit.cutOffLeft('198.51.100.1'), 0)
  // It begins anew.
  wrong('198.51.100.1', wrongTriesAllowed - 1)
  assert.equal(limit.cutOffLeft('198.51.100.1'), 0)
})

test('whoever guesses in the network of this machine does not cut it off, nor this machine its network', () => {
  const own = '2001:db8:1:2:0:0:0:1'
  const limit = createGuessLimit({
    clock: createManualClock(),
    warn: () => undefined,
    isOwnAddress: (address) => address === own,
  })
  const guess = (address: string): void => {
    for (let count = 0; count < wrongTriesAllowed; count += 1) limit.recordWrong(address)
  }
  guess('2001:db8:1:2::1')
  assert.deepEqual(['2001:db8:1:2::1', '2001:db8:1:2::9'].map(limit.cutOffLeft), [ownCutOffTime, 0])
  guess('2001:db8:1:2::9')
  assert.deepEqual(['2001:db8:1:2::1', '2001:db8:1:2::9'].map(limit.cutOffLeft), [ownCutOffTime, cutOffTime])
})

test("where this machine's own addresses cannot be listed, whoever guesses is cut off as a stranger", () => {
  const limit = createGuessLimit({
    clock: createManualClock(),
    warn: () => undefined,
    isOwnAddress: () => {
      throw new Error('too many open files')
    },
  })
  for (let count = 0; count < wrongTriesAllowed; count += 1) limit.recordWrong('198.51.100.1')
  assert.equal(limit.cutOffLeft('198.51.100.1'), cutOffTime)
})

test('what is longer ago than five minutes does not count', () => {
  const { limit, wrong, clock } = createTestLimit()
  wrong('198.51.100.1', wrongTriesAllowed - 1)
  clock.advance(triesWindow)
  wrong('198.51.100.1', 1)
  assert.equal(limit.cutOffLeft('198.51.100.1'), 0)
  wrong('198.51.100.1', wrongTriesAllowed - 1)
  assert.equal(limit.cutOffLeft('198.51.100.1'), cutOffTime)
})

test('a crowd of addresses takes bounded memory: those that were wrong longest ago are forgotten', () => {
  const { limit, wrong } = createTestLimit()
  limit.recordWrong('198.51.100.1')
  wrong('198.51.100.2')
  // Wrong again, and so later than the other one.
  wrong('198.51.100.1', wrongTriesAllowed - 1)
  for (let count = 0; count < addressesLimit - 2; count += 1)
    limit.recordWrong(`10.${count >> 8}.${count & 255}.1`)
  assert.deepEqual(['198.51.100.1', '198.51.100.2'].map(limit.cutOffLeft), [cutOffTime, cutOffTime])
  limit.recordWrong('198.51.100.3')
  assert.deepEqual(['198.51.100.1', '198.51.100.2'].map(limit.cutOffLeft), [cutOffTime, 0])
  limit.recordWrong('198.51.100.4')
  assert.equal(limit.cutOffLeft('198.51.100.1'), 0)
})
