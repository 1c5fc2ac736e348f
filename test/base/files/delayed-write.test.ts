import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createDelayedWrite, writeDelay } from '../../../src/base/files/delayed-write.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('who lets go of what waits for no write has it written, and leaves no timer, whenever it has changed', async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const clock = createManualClock()
    let value = 'first'
    let written = ''
    let isHeld = true
    const file = createDelayedWrite(
      clock,
      async () => {
        const taken = value
        await Promise.resolve()
        written = taken
      },
      (error) => assert.ifError(error),
    )
    async function changeLater() {
      for (let passed = 0; passed < turns; passed += 1) await Promise.resolve()
      if (!isHeld) return
      value = 'second'
      file.changed()
    }
    file.changed()
    const changing = changeLater()
    await file.flush()
    isHeld = file.isWaiting
    await changing
    assert.equal(clock.waiting, isHeld ? 1 : 0, `after ${turns} turns`)
    if (!isHeld) assert.equal(written, value, `after ${turns} turns`)
    clock.advance(1_000)
    await file.flush()
    assert.deepEqual([written, clock.waiting], [value, 0], `after ${turns} turns`)
  }
})

/** A file that is written when the clock says so, and a disk that takes nothing while it `isFull`. */
function stage() {
  const clock = createManualClock()
  const seen: string[] = []
  const disk = { isFull: false, turn: Promise.resolve() }
  const file = createDelayedWrite(
    clock,
    async () => {
      await disk.turn
      seen.push(disk.isFull ? 'tried' : 'written')
      if (disk.isFull) throw new Error('full')
    },
    () => void seen.push('told as failed'),
    () => void seen.push('told as over'),
  )
  async function pass(milliseconds: number): Promise<void> {
    clock.advance(milliseconds)
    await setImmediate()
  }
  return { clock, disk, file, pass, taken: () => seen.splice(0) }
}

test('changes are written once, within the delay, and nothing waits then', async () => {
  const { clock, file, pass, taken } = stage()
  await file.flush()
  assert.deepEqual(taken(), [])
  file.changed()
  await pass(writeDelay - 1)
  file.changed()
  assert.deepEqual(taken(), [])
  await pass(1)
  assert.deepEqual([taken(), clock.waiting, file.isWaiting], [['written'], 0, false])
})

test('a write that fails is tried again by itself until it succeeds, and each trouble is told once, with its end', async () => {
  const { clock, disk, file, pass, taken } = stage()
  for (let trouble = 0; trouble < 2; trouble += 1) {
    disk.isFull = true
    file.changed()
    await pass(writeDelay)
    await pass(writeDelay)
    assert.deepEqual([taken(), file.isWaiting], [['tried', 'told as failed', 'tried'], true])
    // Whoever asks for it at once is not the last one to try either.
    await file.flush()
    assert.deepEqual([taken(), clock.waiting], [['tried'], 1])
    disk.isFull = false
    await pass(writeDelay)
    assert.deepEqual([taken(), clock.waiting, file.isWaiting], [['written', 'told as over'], 0, false])
    file.changed()
    await pass(writeDelay)
    assert.deepEqual(taken(), ['written'])
  }
})

test('what is discarded is not written any more, whatever waits, is under way or comes later', async () => {
  const waiting = stage()
  waiting.file.changed()
  await waiting.file.discard()
  assert.deepEqual([waiting.clock.waiting, waiting.file.isWaiting], [0, false])
  await waiting.pass(writeDelay)
  waiting.file.changed()
  await waiting.pass(writeDelay)
  assert.deepEqual([waiting.taken(), waiting.clock.waiting], [[], 0])

  const failing = stage()
  let answer = (): void => undefined
  failing.disk.turn = new Promise((resolve) => (answer = resolve))
  failing.disk.isFull = true
  failing.file.changed()
  await failing.pass(writeDelay)
  let isOver = false
  const discarded = failing.file.discard().then(() => (isOver = true))
  await failing.pass(0)
  assert.equal(isOver, false, 'it waits for the write that is under way')
  answer()
  await discarded
  // Nobody wants to be told of it any more.
  assert.deepEqual([failing.taken(), failing.clock.waiting, failing.file.isWaiting], [['tried'], 0, false])
  failing.file.changed()
  await failing.pass(writeDelay)
  assert.deepEqual(failing.taken(), [])
})
