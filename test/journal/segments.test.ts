import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { Problem } from '../../src/base/problem.ts'
import { checkpointFileName } from '../../src/journal/segments/checkpoint-file.ts'
import { DamagedJournalError } from '../../src/journal/segments/damaged-journal.ts'
import type { Journal, JournalSettings } from '../../src/journal/journal.ts'
import { decodeLine, encodeLine } from '../../src/journal/lines/journal-line.ts'
import { repairJournal } from '../../src/journal/repair/repair.ts'
import { rewriteJournal } from '../../src/journal/repair/rewrite.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { changeStoredState, foldVersion } from '../../src/journal/fold/stored-state.ts'
import { changeEvent } from '../../src/journal/vault.ts'
import { createSecretVault } from '../../src/lifecycle/secrets/secret-vault.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { parseCheckpoint, type SegmentBase } from '../../src/schema/journal/stored-state.ts'
import { anyFact, configured, id, installation, other } from '../helpers/any-fact.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import {
  type Everything,
  everythingOf,
  haltingFileSystem,
  openTestJournal,
  plainState,
  readAll,
} from '../helpers/journal-stage.ts'
import { writeLargeTexts } from '../helpers/large-texts.ts'
import { writeLongJournal } from '../helpers/long-journal.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** A segment ends after a handful of events, so that there are many. */
const segmentBytes = 2_000

const small = (options: Partial<JournalSettings> = {}): Partial<JournalSettings> => ({
  segmentBytes,
  ...options,
})

/** Appends `count` events of two plugins, each acknowledged before the next; answers the numbers. */
async function use(journal: Journal, count: number, from = 0): Promise<number[]> {
  const numbers: number[] = []
  for (let n = from; n < from + count; n += 1) {
    const [plugin, about] = n % 3 === 0 ? [other, id] : [id, other]
    const fact = configured(plugin, { n, about, text: 'x'.repeat(n % 50) })
    for (const { seq } of await journal.append([fact], 'http', n % 6 === 0 ? `key-${n}` : undefined))
      numbers.push(seq)
  }
  return numbers
}

/** A directory with a journal of several segments, closed in order. */
async function usedDirectory(context: { after(task: () => unknown): void }): Promise<string> {
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory, small())
  await journal.append([...installation(id), ...installation(other)], 'http')
  await use(journal, 60)
  await journal.close()
  assert.ok((await segmentsIn(directory)).length > 4)
  return directory
}

async function segmentsIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => /^\.host\.journal\.\d+$/.test(name)).sort()
}

/** Of requests that `use` has made, and of some that nobody made. */
const keys = Array.from({ length: 70 }, (_, n) => `key-${n}`)

/** What a start says, from the checkpoint or without it; both have to be the same. */
async function bothWays(directory: string, options: Partial<JournalSettings> = {}): Promise<Everything> {
  const found: Everything[] = []
  for (const whole of [false, true]) {
    const journal = await openTestJournal(directory, small({ ...options, whole }))
    found.push(everythingOf(journal, keys))
    await journal.close()
  }
  assert.deepEqual(found[0], found[1], 'the checkpoint with what follows it is the fold of all')
  const [everything] = found
  assert.ok(everything)
  return everything
}

test('law: a start from the checkpoint is a start from the first event, whatever was appended, failed, was cut off or restarted', async (context) => {
  const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => undefined)
  const step = fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({ facts: fc.array(anyFact, { minLength: 1, maxLength: 3 }), key: fc.nat(20) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        facts: fc.array(anyFact, { minLength: 1, maxLength: 2 }),
        key: fc.nat(20),
        fail: fc.constantFrom('write', 'datasync', 'rename', 'sync', 'writeFile', 'truncate', 'open'),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom('restart', 'restart without a checkpoint', 'kill') },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.constantFrom(300, 1_500, 100_000),
      fc.boolean(),
      async (steps, bytes, secret) => {
        const directory = await temporaryDirectory(context)
        let failing: string | undefined
        const files = failingFileSystem((operation) => operation === failing)
        const options = { segmentBytes: bytes, files, ...(secret ? { vault } : {}) }
        let journal = await openTestJournal(directory, options)
        for (const action of steps) {
          if (typeof action === 'object') {
            failing = 'fail' in action ? action.fail : undefined
            await journal
              .append(action.facts, 'http', `key-${action.key}`)
              .catch((error: unknown) => assert.ok(error instanceof Problem))
            failing = undefined
            continue
          }
          const live = plainState(journal.state)
          if (action !== 'kill') await journal.close()
          else {
            // What is under way gets to its end: the file handles are this process's own.
            await setImmediate()
            await journal.close()
            await rm(join(directory, checkpointFileName), { force: true })
          }
          if (action === 'restart without a checkpoint')
            await rm(join(directory, checkpointFileName), { force: true })
          const { state } = await bothWays(directory, options)
          assert.deepEqual(state, live)
          journal = await openTestJournal(directory, options)
        }
        const live = plainState(journal.state)
        await journal.close()
        assert.deepEqual((await bothWays(directory, options)).state, live)
      },
    ),
    { numRuns: 40 },
  )
})

test('journals of older versions become segments, a part or more at each start, with the same numbers and states', async (context) => {
  const options = { segmentBytes: 4_000 }
  for (const [least, write] of [
    [4, (directory: string) => writeLongJournal(directory, 300, 7)],
    [1, (directory: string) => writeLargeTexts(directory, [40_000, 3_000, 10, 10, 10_000])],
  ] as const) {
    const directory = await temporaryDirectory(context)
    await write(directory)
    const before = await openTestJournal(directory, options)
    const expected = everythingOf(before)
    await before.close()
    let starts = 0
    // There is no checkpoint before all is done.
    for (; !(await readdir(directory)).includes(checkpointFileName); starts += 1) {
      const journal = await openTestJournal(directory, options)
      const started = {
        type: 'HostStarted',
        plugin: null,
        data: { host: 'h', hostVersion: '1.0.0' },
      } as const
      await journal.append([started], 'startup')
      assert.deepEqual(readAll(journal).slice(0, expected.all.length), expected.all)
      await journal.close()
    }
    assert.ok(starts < 50, `${starts} starts`)
    assert.ok((await segmentsIn(directory)).length >= least)
    assert.ok(starts >= Math.min(least, 2), `${starts} starts`)
    const { all, states } = await bothWays(directory, options)
    const { length } = expected.all
    assert.deepEqual([all.slice(0, length), states.slice(0, length)], [expected.all, expected.states])
  }
})

test('a checkpoint from before a large file was cut is not believed beside the pieces, while the file is still whole', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeLongJournal(directory, 100, 7)
  await (await openTestJournal(directory)).close()
  let journal = await openTestJournal(directory)
  await journal.append([...installation(id), ...installation(other)], 'http')
  await journal.close()
  const [whole, checkpoint] = await Promise.all(
    [journalFileName, checkpointFileName].map((name) => readFile(join(directory, name))),
  )
  // It could not be read at the start that cut the file, and that was killed before the file was shortened.
  await rm(join(directory, checkpointFileName))
  journal = await openTestJournal(directory, small())
  await use(journal, 1)
  await journal.close()
  const expected = await bothWays(directory)
  const [first = ''] = await segmentsIn(directory)
  await writeFile(join(directory, first), whole ?? '')
  await writeFile(join(directory, checkpointFileName), checkpoint ?? '')
  assert.deepEqual(await bothWays(directory), expected)
})

test('segments that are moved away leave no gap: numbers go on, states stay, and what is not here is told', async (context) => {
  const directory = await usedDirectory(context)
  const archive = await temporaryDirectory(context)
  const names = await segmentsIn(directory)
  const before = await openTestJournal(directory, small())
  const whole = everythingOf(before, keys)
  await before.close()
  // Two of them, then all; from the checkpoint, and without.
  for (const [count, checkpoint] of [
    [2, true],
    [2, false],
    [names.length, true],
    [names.length, false],
  ] as const) {
    for (const name of names.slice(0, count))
      await rename(join(directory, name), join(archive, name)).catch(() => undefined)
    if (!checkpoint) await rm(join(directory, checkpointFileName), { force: true })
    const now = await bothWays(directory)
    const { first } = now
    assert.ok(first > 1)
    assert.deepEqual(now.state, whole.state)
    assert.deepEqual(now.all, whole.all.slice(first - 1))
    assert.deepEqual(now.states, whole.states.slice(first - 1))
    assert.deepEqual(now.ids, whole.ids.slice(first - 1))
    assert.deepEqual(now.requests, whole.requests)
    const journal = await openTestJournal(directory, small())
    assert.deepEqual(plainState(journal.stateAt(first - 1)), whole.states[first - 2])
    for (const seq of [0, first - 2]) {
      assert.throws(() => journal.stateAt(seq), { code: 'not_found', message: /moved away.*begins with/ })
    }
    assert.equal(journal.read({ after: 0, limit: 3 })[0]?.seq, first)
    assert.deepEqual(
      journal.read({ plugin: id, limit: 100 }),
      whole.all.filter((event) => event.plugin === id && event.seq >= first),
    )
    await journal.close()
  }
  const journal = await openTestJournal(directory, small())
  const [next] = await use(journal, 1)
  assert.equal(next, whole.state.seq + 1)
  await journal.close()
  // And back again, as if they had never been away.
  for (const name of names) await rename(join(archive, name), join(directory, name))
  const now = await bothWays(directory)
  assert.equal(now.first, 1)
  assert.deepEqual(now.all.slice(0, -1), whole.all)
})

test('of the events of one plugin no more are read than were asked for, and the pages have them all', async (context) => {
  const directory = await usedDirectory(context)
  const journal = await openTestJournal(directory, small())
  context.after(() => journal.close())
  const whole = readAll(journal).filter(({ plugin }) => plugin === id)
  for (const limit of [1, 2, 3]) {
    for (const [index, event] of whole.entries()) {
      const after = event.seq - 1
      assert.deepEqual(journal.read({ plugin: id, after, limit }), whole.slice(index, index + limit))
    }
  }
})

test('a segment that is moved away while the host runs is told as one that was away before', async (context) => {
  const directory = await usedDirectory(context)
  const journal = await openTestJournal(directory, small())
  context.after(() => journal.close())
  const whole = readAll(journal)
  const [first = '', ...others] = await segmentsIn(directory)
  let gone = first
  for (const next of others.slice(0, 2)) {
    await rm(join(directory, gone))
    const from = Number(next.split('.').at(-1))
    const here = whole.filter(({ seq }) => seq >= from)
    assert.deepEqual(
      readAll(journal, id),
      here.filter(({ plugin }) => plugin === id),
    )
    assert.deepEqual(readAll(journal), here)
    assert.throws(() => journal.stateAt(1), { code: 'not_found' })
    assert.equal(journal.stateAt(from).seq, from)
    gone = next
  }
})

test('segments whose directory is away for a while are not taken for moved away, and are read again when it is back', async (context) => {
  const directory = await usedDirectory(context)
  const journal = await openTestJournal(directory, small())
  context.after(() => journal.close())
  const whole = everythingOf(journal, keys)
  const away = `${directory}-away`
  // Gone as a whole, and a mount point without its disk.
  for (const replace of [() => Promise.resolve(), () => mkdir(directory)]) {
    await rename(directory, away)
    await replace()
    for (const plugin of [undefined, id]) assert.throws(() => readAll(journal, plugin), { code: 'ESTALE' })
    await rm(directory, { recursive: true, force: true })
    await rename(away, directory)
    assert.deepEqual(everythingOf(journal, keys), whole)
  }
})

test('a segment that cannot be read for a while is told so, and is not taken for one that was moved away', async (context) => {
  const directory = await usedDirectory(context)
  const journal = await openTestJournal(directory, small())
  context.after(() => journal.close())
  const whole = readAll(journal)
  const [first = ''] = await segmentsIn(directory)
  const [path, elsewhere] = [join(directory, first), join(await temporaryDirectory(context), first)]
  await rename(path, elsewhere)
  await mkdir(path)
  assert.throws(() => readAll(journal), { code: 'EISDIR' })
  await rmdir(path)
  await rename(elsewhere, path)
  assert.deepEqual(readAll(journal), whole)
})

test('a segment whose last line feed is overwritten while the host runs is told as changed', async (context) => {
  const directory = await usedDirectory(context)
  const journal = await openTestJournal(directory, small())
  context.after(() => journal.close())
  readAll(journal)
  const [first = ''] = await segmentsIn(directory)
  const path = join(directory, first)
  const bytes = await readFile(path)
  bytes[bytes.length - 1] = 0x20
  await writeFile(path, bytes)
  for (const plugin of [undefined, id])
    assert.throws(() => readAll(journal, plugin), /was changed while the host was running/)
})

test('a segment that is missing in between stops the start, and the repair puts those before it aside', async (context) => {
  const directory = await usedDirectory(context)
  const [first = '', second = '', third = ''] = await segmentsIn(directory)
  const before = await openTestJournal(directory, small())
  await before.close()
  await rm(join(directory, second))
  await assert.rejects(openTestJournal(directory, small()), {
    name: 'DamagedJournalError',
    message: /its events end with \d+, and the next file begins with \d+.*lupine repair.*aside/,
  })
  const [done] = await repair(directory)
  assert.deepEqual([done?.cut, done?.path], [false, join(directory, first)])
  const after = await bothWays(directory)
  assert.equal(after.first, Number(third.split('.').at(-1)))
  assert.deepEqual(after.state, plainState(before.state))
})

test('a journal of another time that was put back over a newer one is told as such, and nothing is put aside', async (context) => {
  for (const eventsBefore of [1, 40]) {
    const directory = await temporaryDirectory(context)
    const backup = await temporaryDirectory(context)
    const journal = await openTestJournal(directory, small())
    await journal.append([...installation(id), ...installation(other)], 'http')
    await use(journal, eventsBefore)
    await journal.close()
    await cp(directory, backup, { recursive: true })
    const before = await bothWays(directory)
    const later = await openTestJournal(directory, small())
    await use(later, 30)
    await later.close()
    const known = await segmentsIn(backup)
    const newer = (await segmentsIn(directory)).filter((name) => !known.includes(name))
    assert.ok(newer.length > 1)

    await cp(backup, directory, { recursive: true })
    const names = await readdir(directory)
    const told = new RegExp(
      `begins with event \\d+, and .* in ${newer[0]} to ${newer.at(-1)}, too.*Nothing is damaged`,
    )
    await assert.rejects(openTestJournal(directory, small()), told)
    await assert.rejects(repair(directory), told)
    assert.deepEqual(await readdir(directory), names)

    for (const name of newer) await rm(join(directory, name))
    assert.deepEqual(await bothWays(directory), before)
  }
})

function repair(directory: string) {
  return repairJournal(directory, systemFileSystem, 0, undefined, async () => {
    await (await openTestJournal(directory, small({ whole: true }))).close()
  })
}

test('a flipped byte in any segment stops the start with its place, whatever the checkpoint says; the repair keeps the state', async (context) => {
  const source = await usedDirectory(context)
  const whole = await openTestJournal(source, small())
  const live = plainState(whole.state)
  await whole.close()
  const names = [...(await segmentsIn(source)), journalFileName]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.integer({ min: 1, max: 255 }),
      async (name, place, flip) => {
        const directory = await temporaryDirectory(context)
        await cp(source, directory, { recursive: true })
        const bytes = await readFile(join(directory, name))
        const offset = Math.floor(place * bytes.length)
        bytes[offset] = (bytes[offset] ?? 0) ^ flip
        await writeFile(join(directory, name), bytes)
        await assert.rejects(openTestJournal(directory, small({ acknowledged: 64 })), (error) => {
          assert.ok(error instanceof DamagedJournalError, String(error))
          assert.equal(error.path, join(directory, name))
          return true
        })
        const repairs = await repair(directory)
        const journal = await openTestJournal(directory, small())
        if (name !== journalFileName) {
          assert.deepEqual(
            repairs.map(({ cut }) => cut),
            [false],
          )
          assert.deepEqual(plainState(journal.state), live)
        }
        // It goes on.
        await use(journal, 20)
        await journal.close()
        await bothWays(directory)
      },
    ),
    { numRuns: 60 },
  )
})

test('a checkpoint with any byte flipped, cut off or of another journal is thrown away', async (context) => {
  const directory = await usedDirectory(context)
  const path = join(directory, checkpointFileName)
  const whole = await readFile(path)
  const { state } = await bothWays(directory)
  const contents = fc.oneof(
    fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })).map(([offset, flip]) => {
      const damaged = Buffer.from(whole)
      damaged[offset] = (damaged[offset] ?? 0) ^ flip
      return damaged
    }),
    fc.nat(whole.length - 1).map((length) => whole.subarray(0, length)),
    fc.uint8Array({ maxLength: 300, size: 'max' }).map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(contents, async (content) => {
      await writeFile(path, content)
      const journal = await openTestJournal(directory, small())
      assert.deepEqual(plainState(journal.state), state)
      await journal.close()
    }),
    { numRuns: 150 },
  )
})

test('a checkpoint that lies is not believed where the bytes of the journal are others', async (context) => {
  const directory = await usedDirectory(context)
  const path = join(directory, checkpointFileName)
  const decoded = decodeLine((await readFile(path)).subarray(0, -1))
  assert.ok(decoded.ok)
  const parsed = parseCheckpoint(decoded.value)
  assert.ok(parsed.ok)
  const checkpoint = parsed.value
  const lie = structuredClone(checkpoint)
  for (const { context: lying } of lie.base.plugins) lying.config = { lie: true }
  const isLying = async (content: object, whole = false): Promise<boolean> => {
    await writeFile(path, `${encodeLine(content)}\n`)
    const journal = await openTestJournal(directory, small({ whole }))
    await journal.close()
    return journal.state.plugins.get(id)?.context.config.lie === true
  }
  // The test sees whether it was asked at all.
  assert.equal(await isLying(lie), true)
  assert.equal(await isLying(lie, true), false, 'who wants the whole journal asks no checkpoint')
  assert.equal(await isLying({ ...lie, fold: foldVersion + 1 }), false, 'made by other rules')
  const change = (entry: number, members: object) => ({
    ...lie,
    segments: lie.segments.map((segment, position) =>
      position === entry ? { ...segment, ...members } : segment,
    ),
  })
  assert.equal(await isLying(change(1, { sha256: '0'.repeat(64), changed: null })), false)
  assert.equal(await isLying(change(lie.segments.length - 1, { sha256: '0'.repeat(64) })), false)
  assert.equal(await isLying(change(lie.segments.length - 1, { bytes: 1e9 })), false)
  assert.equal(await isLying({ ...lie, segments: lie.segments.slice(0, 2) }), false)
  // An older journal is put back.
  const backup = await temporaryDirectory(context)
  await cp(directory, backup, { recursive: true })
  const journal = await openTestJournal(directory, small())
  await use(journal, 3)
  await journal.close()
  const newer = await readFile(path)
  await cp(join(backup, journalFileName), join(directory, journalFileName))
  await writeFile(path, newer)
  const put = await openTestJournal(directory, small())
  assert.equal(put.state.seq, 64)
  await put.close()
  await bothWays(directory)
})

test('a file whose time says that nobody has written to it is not read again', async (context) => {
  const directory = await usedDirectory(context)
  const clock = { now: () => Date.now() + 3_600_000 }
  const later = { ...(await import('../helpers/manual-clock.ts')).createManualClock(), ...clock }
  const journal = await openTestJournal(directory, small({ clock: later }))
  await use(journal, 1)
  await journal.close()
  const opened: string[] = []
  const files = failingFileSystem((operation, path) => {
    if (operation === 'open') opened.push(path)
    return false
  })
  const again = await openTestJournal(directory, small({ files }))
  await again.close()
  assert.deepEqual([...new Set(opened)], [join(directory, journalFileName)])
  const [name = ''] = await segmentsIn(directory)
  const path = join(directory, name)
  await writeFile(path, await readFile(path))
  opened.length = 0
  await (await openTestJournal(directory, small({ files }))).close()
  assert.ok(opened.includes(path), 'a file that was written to is read')
  const bytes = await readFile(path)
  bytes[700] = (bytes[700] ?? 0) ^ 1
  await writeFile(path, bytes)
  await assert.rejects(openTestJournal(directory, small()), DamagedJournalError)
})

test('a kill at any call to the file system loses nothing that was acknowledged, and the next start goes on', async (context) => {
  const run = async (directory: string, limit: number): Promise<{ acknowledged: number; calls: number }> => {
    const { files, calls, ended } = haltingFileSystem(limit)
    let acknowledged = 0
    const life = async (): Promise<void> => {
      const journal = await openTestJournal(directory, small({ files }))
      await journal.append([...installation(id), ...installation(other)], 'http')
      acknowledged = 4
      for (let n = 0; n < 24; n += 1) for (const seq of await use(journal, 1, n)) acknowledged = seq
      await journal.close()
    }
    await ended(life())
    return { acknowledged, calls: calls() }
  }
  const { calls } = await run(await temporaryDirectory(context), Infinity)
  assert.ok(calls > 100)
  for (let limit = 1 + (Date.now() % everyCall); limit <= calls; limit += everyCall) {
    const directory = await temporaryDirectory(context)
    const { acknowledged } = await run(directory, limit)
    const { state } = await bothWays(directory)
    assert.ok(
      state.seq >= acknowledged && state.seq <= acknowledged + 4,
      `${state.seq} of ${acknowledged} at ${limit}`,
    )
    const journal = await openTestJournal(directory, small())
    if (journal.state.plugins.size === 2) await use(journal, 12, 30)
    await journal.close()
    await bothWays(directory)
  }
})

/** Of the calls so many are left out between two that are tried; all: `LUPINE_DISK_STEP=1`. */
const everyCall = Number(process.env.LUPINE_DISK_STEP ?? 5)

for (const operation of ['open', 'writeFile', 'sync', 'rename'] as const) {
  test(`where ${operation} of a checkpoint or a new segment fails, every command is taken, once it is told, and it is made up for`, async (context) => {
    const directory = await temporaryDirectory(context)
    let full = true
    const warnings: string[] = []
    const isUpkeep = (path: string): boolean =>
      path.endsWith('.tmp') || path.endsWith(checkpointFileName) || /\.\d{12}$/.test(path)
    const files = failingFileSystem((name, path) => full && name === operation && isUpkeep(path))
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    const journal = await openTestJournal(directory, small({ files, logger }))
    await journal.append([...installation(id), ...installation(other)], 'http')
    await use(journal, 60)
    assert.equal(journal.state.seq, 64)
    assert.equal((await segmentsIn(directory)).length, 0)
    assert.equal(warnings.length, 1)
    full = false
    await use(journal, 40, 60)
    assert.ok((await segmentsIn(directory)).length > 0)
    await journal.close()
    assert.equal((await bothWays(directory)).state.seq, 104)
  })
}

test('secrets in the states at the top of segments and in the checkpoint are encrypted, and get the new key', async (context) => {
  const rings = [createKeyRing([randomBytes(32)]), createKeyRing([randomBytes(32)])]
  const [vault, next] = rings.map((ring) => createSecretVault(ring, () => undefined))
  assert.ok(vault !== undefined && next !== undefined)
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory, small({ vault }))
  await journal.append([...installation(id), ...installation(other)], 'http')
  await journal.append(
    [{ type: 'RepositoryAdded', plugin: null, data: { name: 'r', url: 'https://canary:canary@a.example' } }],
    'http',
  )
  const hookSecret = 'canary'
  await journal.append([{ type: 'PluginHookSecretChanged', plugin: id, data: { hookSecret } }], 'http')
  const update = { version: '2.0.0', indexVersion: null, repository: null, integrity: { a: 'b' } }
  await journal.append([configured(id, { apiKey: 'canary' })], 'http')
  await journal.append([{ type: 'PluginUpdated', plugin: id, data: update }], 'http')
  for (let n = 0; n < 30; n += 1) await journal.append([configured(other, { n, apiKey: 'canary' })], 'http')
  await journal.close()
  const content = async (): Promise<string> =>
    (
      await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name), 'utf8')))
    ).join()
  assert.ok(!(await content()).includes('canary'))
  const expected = await bothWays(directory, { vault })
  await rewriteJournal(systemFileSystem, directory, {
    event: (event) => changeEvent(next.seal, changeEvent(vault.open, event)),
    state: (state) => changeStoredState(next.seal, changeStoredState(vault.open, state)),
  })
  assert.ok(!(await readdir(directory)).includes(checkpointFileName))
  assert.ok(!(await content()).includes('canary'))
  assert.deepEqual(await bothWays(directory, { vault: next }), expected)
  await assert.rejects(openTestJournal(directory, small({ vault })), { name: 'SecretKeyError' })
})

test('a state that other rules have made is only taken with the events that it follows from', async (context) => {
  const directory = await usedDirectory(context)
  const names = await segmentsIn(directory)
  const live = await bothWays(directory)
  const originals = new Map<string, string>()
  for (const name of [...names.slice(1), journalFileName])
    originals.set(name, await readFile(join(directory, name), 'utf8'))
  const changeTops = async (change: (top: SegmentBase, name: string) => void): Promise<void> => {
    for (const [name, original] of originals) {
      const [line = '', ...rest] = original.split('\n')
      const { checksum: _checksum, ...top } = JSON.parse(line)
      change(top, name)
      await writeFile(join(directory, name), [encodeLine(top), ...rest].join('\n'))
    }
  }
  const lie = ({ base }: SegmentBase): void => {
    for (const { context } of base.plugins) context.config = { lie: true }
  }
  const assertRefused = (name = ''): Promise<void> =>
    assert.rejects(openTestJournal(directory, small()), (error) => {
      assert.ok(error instanceof DamagedJournalError, String(error))
      assert.match(error.message, /does not begin with the state that follows from the events before it/)
      assert.equal(error.path, join(directory, name))
      return true
    })
  await changeTops(lie)
  await assertRefused(names[1])
  await changeTops((top) => {
    lie(top)
    top.fold = foldVersion + 1
  })
  assert.deepEqual((await bothWays(directory)).state, live.state)
  await rm(join(directory, checkpointFileName), { force: true })
  await rm(join(directory, names[0] ?? ''))
  await assert.rejects(
    openTestJournal(directory, small()),
    /another version of Lupine.*Put the files .* back/,
  )
  // The first one that is here is believed, those after it are held against the events.
  await changeTops((top, name) => {
    if (name !== names[1]) lie(top)
  })
  await assertRefused(names[2])
})

test('bytes behind the place where the next segment begins are no part of the journal', async (context) => {
  const directory = await usedDirectory(context)
  const [first = '', second = ''] = await segmentsIn(directory)
  const before = await bothWays(directory)
  const lines = (await readFile(join(directory, second), 'utf8')).split('\n').slice(1)
  await appendFile(join(directory, first), lines.join('\n'))
  assert.deepEqual(await bothWays(directory), before)
})
