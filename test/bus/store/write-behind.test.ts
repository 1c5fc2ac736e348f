import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diskRetryDelays } from '../../../src/base/files/disk-retry-delays.ts'
import { type RecordFolder, RecordsUnavailable } from '../../../src/bus/store/record-folder.ts'
import {
  createWriteBehind,
  unreadDeletionsLimit,
  writeBehindDelay,
  type WritePhase,
  writtenTimeout,
} from '../../../src/bus/store/write-behind.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { createRecordingLogger } from '../bus-fixture.ts'

function phaseOf(key: string): WritePhase {
  if (key.startsWith('last/')) return 'last'
  return key.startsWith('after/') ? 'after' : 'alone'
}

/** A folder in memory whose disk can refuse, in front of it what is written behind. */
function createStage(content: Record<string, string> = {}) {
  const disk = new Map(Object.entries(content))
  const state = {
    full: false,
    unavailable: false,
    anew: false,
    batches: [] as string[][],
    /** Which of them were written through. */
    through: [] as boolean[],
    /** Whether the end has come in the midst of a batch, or before one. */
    broken: false,
    /** Before a batch is on disk. */
    answer: (): Promise<void> => Promise.resolve(),
    /** Before it is open, and all in it has been read. */
    read: (): Promise<void> => Promise.resolve(),
    meanwhile: (): void => undefined,
    opened: 0,
  }
  const refuse = (): void => {
    if (state.unavailable) throw new RecordsUnavailable('there is no binary')
    if (state.full) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  }
  let isWriting = false
  let isClosed = false
  const folder: RecordFolder = {
    exists: () => Promise.resolve(disk.size > 0),
    async open(take) {
      await state.read()
      refuse()
      state.opened += 1
      isClosed = false
      for (const key of [...disk.keys()].sort()) take?.(key, Buffer.from(disk.get(key) ?? ''))
      const { anew } = state
      if (anew) disk.clear()
      return {
        anew,
        records: {
          async write(changes, through) {
            refuse()
            state.broken ||= isClosed
            isWriting = true
            await state.answer()
            isWriting = false
            state.meanwhile()
            state.through.push(through)
            state.batches.push(changes.map(({ key, value }) => `${value === undefined ? '-' : '+'}${key}`))
            for (const { key, value } of changes) {
              if (value === undefined) disk.delete(key)
              else disk.set(key, value.toString())
            }
          },
          async close() {
            isClosed = true
            state.broken ||= isWriting
          },
        },
      }
    },
  }
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const behind = createWriteBehind({ folder, phaseOf, clock, logger })
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    behind,
    disk,
    state,
    set: (key: string, value: string) => behind.set(key, () => Buffer.from(value)),
    async elapse(milliseconds = writeBehindDelay): Promise<void> {
      clock.advance(milliseconds)
      await settle()
    },
    logged: () => logger.lines.map(({ level, message }) => `${level}: ${message}`),
    clock,
    /** Takes everything, and tells what. */
    async load(): Promise<string[]> {
      const told: string[] = []
      await behind.load(
        (key, value) => {
          told.push(`${key}=${value.toString()}`)
          if (!key.startsWith('bad')) behind.set(key, () => value)
        },
        () => told.push('all'),
      )
      return told
    },
  }
}

test('All that has changed is written at once half a second after the first change; what came and went meanwhile never', async () => {
  const { behind, disk, state, set, elapse, clock } = createStage()
  set('last/a', '1')
  set('b', '1')
  await elapse(writeBehindDelay - 1)
  set('a', '1')
  set('b', '2')
  set('short', 'x')
  behind.delete('short')
  assert.deepEqual(state.batches, [])
  await elapse(1)
  assert.deepEqual(state.batches, [['+b', '+a', '+last/a']])
  assert.equal(disk.get('b'), '2')
  await elapse(60_000)
  assert.equal(state.batches.length, 1)
  behind.delete('a')
  set('short', 'y')
  behind.delete('short')
  await elapse()
  assert.deepEqual([state.batches[1], clock.waiting, state.opened], [['-a'], 0, 1])
  // It is known that it is gone.
  set('a', '2')
  behind.delete('a')
  await elapse()
  assert.equal(state.batches.length, 2)
})

/** Notes when a wait is over. */
function noted(waits: Record<string, Promise<void> | undefined>): string[] {
  const over: string[] = []
  for (const [name, wait] of Object.entries(waits)) {
    assert.ok(wait !== undefined, `${name} has to wait`)
    void wait.then(() => over.push(name))
  }
  return over
}

test('What somebody waits for is written at once, through the memory of the system, with all that has changed before', async () => {
  const { behind, disk, state, set, elapse, clock } = createStage()
  assert.equal(behind.written(), undefined)
  set('a', '1')
  set('b', '1')
  const over = noted({ first: behind.written(), second: behind.written() })
  assert.deepEqual(over, [])
  await elapse(0)
  assert.deepEqual([over, state.batches, state.through], [['first', 'second'], [['+a', '+b']], [true]])
  assert.deepEqual([behind.written(), clock.waiting], [undefined, 0])
  set('c', '1')
  await elapse()
  behind.delete('c')
  const gone = noted({ gone: behind.written() })
  await elapse(0)
  assert.deepEqual([gone, state.through, disk.has('c')], [['gone'], [true, false, true], false])
})

test('Who waits during a write waits for the next one, also if nothing has changed since: the first may be in the memory of the system alone', async () => {
  const { behind, state, set, elapse } = createStage()
  const answers: (() => void)[] = []
  state.answer = () => new Promise((resolve) => answers.push(resolve))
  set('a', '1')
  await elapse()
  const over = noted({ a: behind.written() })
  set('b', '1')
  const later = noted({ b: behind.written() })
  answers.shift()?.()
  await elapse(0)
  assert.deepEqual([over, later, state.batches], [[], [], [['+a']]])
  answers.shift()?.()
  await elapse(0)
  assert.deepEqual([over, later, state.through], [['a'], ['b'], [false, true]])

  set('c', '1')
  await elapse()
  const unchanged = noted({ c: behind.written() })
  answers.shift()?.()
  await elapse(0)
  assert.deepEqual(unchanged, [])
  answers.shift()?.()
  await elapse(0)
  assert.deepEqual(
    [unchanged, state.batches.slice(2), state.through],
    [['c'], [['+c'], []], [false, true, false, true]],
  )
})

test('Nobody waits for a disk that refuses, or that has not answered in time, until it takes something again', async () => {
  const { behind, disk, state, set, elapse, clock, logged } = createStage()
  state.full = true
  set('a', '1')
  const refused = noted({ a: behind.written() })
  await elapse(0)
  assert.deepEqual(refused, ['a'])
  set('b', '1')
  assert.equal(behind.written(), undefined)
  state.full = false
  await elapse(diskRetryDelays[0])
  assert.deepEqual([...disk.keys()], ['a', 'b'])

  const answers: (() => void)[] = []
  state.answer = () => new Promise((resolve) => answers.push(resolve))
  set('c', '1')
  const stuck = noted({ c: behind.written() })
  await elapse(0)
  set('d', '1')
  const behindIt = noted({ d: behind.written() })
  await elapse(writtenTimeout - 1)
  assert.deepEqual([stuck, behindIt], [[], []])
  await elapse(1)
  assert.deepEqual([stuck, behindIt, behind.written()], [['c'], ['d'], undefined])
  const slow =
    'warn: The disk is slow to take what the broker keeps; until it has, all is confirmed from memory'
  assert.deepEqual(logged().slice(2), [slow])
  answers.shift()?.()
  await elapse()
  const again = noted({ d: behind.written() })
  answers.shift()?.()
  await elapse(0)
  answers.shift()?.()
  await elapse(0)
  assert.deepEqual([again, disk.has('d')], [['d'], true])
  assert.deepEqual(logged().slice(2), [slow, 'info: The disk has taken what the broker keeps'])
  assert.equal(clock.waiting, 0)
})

test('A disk that refuses after it has been silent for long is told of once, and what an earlier run has kept may take long to be read', async () => {
  const { behind, disk, state, set, elapse, load, clock, logged } = createStage({ kept: '1' })
  const answers: (() => void)[] = []
  const silent = (): Promise<void> => new Promise((resolve) => answers.push(resolve))
  state.read = silent
  const loaded = load()
  await elapse(0)
  await elapse(writtenTimeout)
  answers.shift()?.()
  assert.deepEqual([await loaded, logged()], [['kept=1', 'all'], []])

  state.full = true
  set('a', '1')
  await elapse()
  state.read = silent
  for (const delay of diskRetryDelays.slice(0, 2)) {
    await elapse(delay)
    await elapse(writtenTimeout)
    assert.equal(behind.written(), undefined)
    state.full = delay !== diskRetryDelays[1]
    answers.shift()?.()
    await elapse(0)
  }
  assert.deepEqual(
    logged().map((line) => line.split(' ')[0]),
    ['error:', 'info:'],
  )
  assert.deepEqual([[...disk.keys()], clock.waiting], [['kept', 'a'], 0])
})

test('A disk that takes long for each thing, but answers, is waited for, by who comes during a write and with many pieces as well', async () => {
  const { behind, state, set, elapse, clock } = createStage()
  const answers: (() => void)[] = []
  state.answer = () => new Promise((resolve) => answers.push(resolve))
  const answerLate = async (): Promise<void> => {
    await elapse(writtenTimeout - 1)
    answers.shift()?.()
    await elapse(0)
  }
  set('a', '1')
  const first = noted({ a: behind.written() })
  await elapse(0)
  for (const key of ['b', 'c']) set(key, 'x'.repeat(1024 * 1024))
  const second = noted({ b: behind.written() })
  await answerLate()
  assert.deepEqual([first, second], [['a'], []])
  await answerLate()
  assert.deepEqual(second, [])
  await answerLate()
  assert.deepEqual([second, state.batches, clock.waiting], [['b'], [['+a'], ['+b'], ['+c']], 0])
})

for (const isChanged of [true, false])
  test(`At the end nobody is kept waiting, and what they waited for is written${isChanged ? '' : ', also if it has been a moment ago'}`, async () => {
    const { behind, disk, state, set, elapse, clock } = createStage()
    const answers: (() => void)[] = []
    state.answer = () => new Promise((resolve) => answers.push(resolve))
    set('a', '1')
    await elapse()
    if (isChanged) set('b', '1')
    const over = noted({ last: behind.written() })
    const closed = behind.close()
    assert.equal(behind.written(), undefined)
    for (let count = 0; count < 2; count += 1) {
      answers.shift()?.()
      await elapse(0)
    }
    await closed
    await elapse(0)
    assert.deepEqual([over, state.broken, clock.waiting], [['last'], false, 0])
    assert.deepEqual([...disk.keys()], isChanged ? ['a', 'b'] : ['a'])
    assert.deepEqual(state.through, [false, true])
  })

test('Much is written in pieces of a thousand records, or of a mebibyte, between which others have their turn', async () => {
  const { state, set, elapse } = createStage()
  for (let n = 0; n < 2_500; n += 1) set(`n${n}`, '1')
  await elapse()
  assert.deepEqual(
    state.batches.splice(0).map(({ length }) => length),
    [1_000, 1_000, 500],
  )
  for (const key of ['a', 'b', 'c', 'd']) set(key, 'x'.repeat(600 * 1024))
  await elapse()
  assert.deepEqual(state.batches, [
    ['+a', '+b'],
    ['+c', '+d'],
  ])
})

test('What is written last is as it was when the rest was: it does not tell of what comes while that is written', async () => {
  const { behind, disk, state, set, elapse } = createStage()
  set('last/a', 'told of a')
  set('last/gone', 'told of what goes meanwhile')
  for (let n = 0; n < 1_000; n += 1) set(`a${n}`, '1')
  state.meanwhile = () => {
    state.meanwhile = () => undefined
    set('b', '1')
    set('last/a', 'told of b')
    behind.delete('last/gone')
  }
  await elapse()
  assert.deepEqual(state.batches.slice(1), [['+last/a', '+last/gone']])
  assert.equal(disk.get('last/a'), 'told of a')
  await elapse()
  assert.deepEqual(state.batches[2], ['+b', '+last/a', '-last/gone'])
  assert.deepEqual([disk.get('last/a'), disk.has('last/gone')], ['told of b', false])
})

test('What takes the place of something is on disk before that goes, also if both happen while it is being written', async () => {
  const { behind, state, set, elapse } = createStage()
  for (const key of ['old', 'after/a', 'after/b']) set(key, '1')
  await elapse()
  set('after/a', '2')
  behind.delete('after/b')
  behind.delete('old')
  for (let n = 0; n < 1_000; n += 1) set(`a${n}`, '1')
  set('moves', '1')
  state.meanwhile = () => {
    state.meanwhile = () => undefined
    behind.delete('moves')
    set('new', '1')
  }
  await elapse()
  assert.deepEqual(state.batches.slice(2), [['+moves', '+after/a', '-after/b', '-old']])
  await elapse()
  assert.deepEqual(state.batches.slice(3), [['+new', '-moves']])
})

test('On a full disk everything goes on in memory, is told once, and is written when there is room', async () => {
  const { behind, disk, state, set, elapse, logged } = createStage()
  set('a', '1')
  set('gone', '1')
  await elapse()
  state.full = true
  set('a', '2')
  behind.delete('gone')
  await elapse()
  set('b', '1')
  await elapse(diskRetryDelays[0])
  assert.match(behind.failure?.reason ?? '', /disk of the data directory is full/)
  assert.deepEqual([...disk].sort(), [
    ['a', '1'],
    ['gone', '1'],
  ])
  set('short', 'x')
  behind.delete('short')
  // Its removal has not come to the disk.
  set('gone', '2')
  behind.delete('gone')
  state.full = false
  await elapse(diskRetryDelays[1] ?? 0)
  assert.equal(behind.failure, undefined)
  assert.deepEqual([...disk].sort(), [
    ['a', '2'],
    ['b', '1'],
  ])
  assert.deepEqual(logged(), [
    'error: What the broker keeps cannot be written to disk; it goes on in memory, and tries again',
    'info: What the broker keeps is written to disk again',
  ])
})

test('What a start on a full disk could not read is taken over later, but for what has changed since', async () => {
  const { behind, disk, state, set, elapse, load } = createStage({
    bad: 'x',
    changed: 'old',
    cleared: 'old',
    same: 'old',
  })
  state.full = true
  const told = await load()
  assert.deepEqual(told, [])
  set('changed', 'new')
  behind.delete('cleared')
  state.full = false
  await elapse(diskRetryDelays[0])
  assert.deepEqual(told, ['bad=x', 'same=old', 'all'])
  await elapse()
  assert.deepEqual([...disk].sort(), [
    ['changed', 'new'],
    ['same', 'old'],
  ])
})

test('While the disk cannot be read, clients that come and go without end are not all remembered', async () => {
  const { behind, disk, state, elapse, load } = createStage({ first: 'old', last: 'old' })
  state.full = true
  await load()
  behind.delete('first')
  for (let number = 0; number <= unreadDeletionsLimit; number += 1) behind.delete(`client/${number}`)
  behind.delete('last')
  state.full = false
  await elapse(diskRetryDelays[0])
  assert.deepEqual([...disk], [['last', 'old']])
  assert.equal(state.batches.flat().length, unreadDeletionsLimit)
})

test('What was read is not written again, what nobody took goes, and a folder that begins anew gets everything', async () => {
  const { disk, state, set, elapse, load } = createStage({ bad: 'x', good: 'y' })
  assert.deepEqual(await load(), ['bad=x', 'good=y', 'all'])
  await elapse()
  assert.deepEqual(state.batches, [['-bad']])
  state.full = true
  set('more', 'z')
  await elapse()
  state.full = false
  state.anew = true
  await elapse(diskRetryDelays[0])
  assert.deepEqual([...disk].sort(), [
    ['good', 'y'],
    ['more', 'z'],
  ])
})

test('Where there is nothing to write with, nothing is held for it, and it is told once', async () => {
  const { behind, state, set, elapse, logged, clock } = createStage()
  state.unavailable = true
  set('a', '1')
  await elapse()
  set('b', '1')
  assert.deepEqual(behind.failure, { reason: 'there is no binary', lasting: true })
  assert.equal(clock.waiting, 0)
  await behind.close()
  assert.deepEqual(logged(), ['error: The broker keeps everything in memory only: a restart forgets it'])
})

test('At the end what waits is written, and told if it cannot be', async () => {
  const good = createStage()
  good.set('a', '1')
  await good.behind.close()
  assert.deepEqual([...good.disk], [['a', '1']])
  const bad = createStage()
  bad.set('a', '1')
  bad.state.full = true
  await bad.behind.close()
  assert.match(bad.logged().at(-1) ?? '', /could not be written to disk, and is lost/)
  assert.equal(bad.clock.waiting, 0)
  // Nor is it tried again when a write was under way.
  const late = createStage()
  late.set('a', '1')
  late.state.full = true
  late.clock.advance(writeBehindDelay)
  await late.behind.close()
  assert.equal(late.clock.waiting, 0)
})

test('What was read changes on disk, and goes there, like anything else, and is not told again', async () => {
  const { behind, disk, state, set, load, elapse } = createStage({ changed: '1', gone: '1', last: '1' })
  const told = await load()
  state.full = true
  behind.delete('gone')
  set('changed', '2')
  set('last', '2')
  await elapse()
  state.full = false
  await elapse(diskRetryDelays[0])
  assert.deepEqual(told, ['changed=1', 'gone=1', 'last=1', 'all'])
  assert.deepEqual([...disk].sort(), [
    ['changed', '2'],
    ['last', '2'],
  ])
})
