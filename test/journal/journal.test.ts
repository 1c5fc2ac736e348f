import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { appendFile, cp, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { Problem } from '../../src/base/problem.ts'
import { fold } from '../../src/journal/fold/evolve.ts'
import { DamagedJournalError } from '../../src/journal/segments/damaged-journal.ts'
import { decodeLine, encodeLine } from '../../src/journal/lines/journal-line.ts'
import { repairJournal } from '../../src/journal/repair/repair.ts'
import { createSecretVault } from '../../src/lifecycle/secrets/secret-vault.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { bytesAtOnce } from '../../src/journal/segments/segment-lines.ts'
import { readSnapshot, snapshotOf } from '../../src/journal/snapshot/snapshot.ts'
import type { Fact } from '../../src/schema/journal/journal-event.ts'
import { anyFact, configured, id, installation, other } from '../helpers/any-fact.ts'
import { createDiskAccount } from '../helpers/disk-account.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { assertKept, createTestSnapshots, openTestJournal, plainState } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { journalContract } from './journal-contract.ts'

journalContract('a journal on disk', async (context, options) => {
  const directory = await temporaryDirectory(context)
  return () => openTestJournal(directory, options)
})

async function journalOf(context: TestContext, facts: Fact[]) {
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory)
  await journal.append(facts, 'http')
  await journal.close()
  return { directory, path: join(directory, journalFileName) }
}

test('an event is numbered, stamped with who asked, and readable as JSON by any tool', async (context) => {
  const { path } = await journalOf(context, installation(id))
  const lines = (await readFile(path, 'utf8')).trim().split('\n')
  const [first] = lines.map((line) => JSON.parse(line))
  assert.match(first.id, /^[0-9a-f-]{36}$/)
  assert.match(first.checksum, /^[0-9a-f]{16}$/)
  assert.deepEqual(
    { ...first, id: '', checksum: '' },
    {
      version: 1,
      seq: 1,
      id: '',
      at: '2026-01-01T00:00:00.000Z',
      type: 'PluginInstallRequested',
      plugin: id,
      data: { repository: null, version: '1.0.0' },
      revision: 1,
      by: 'http',
      state: 'installing',
      checksum: '',
    },
  )
  assert.equal((await stat(path)).mode & 0o777, 0o600)
})

test('opening an empty directory writes nothing', async (context) => {
  const directory = await temporaryDirectory(context)
  await (await openTestJournal(directory)).close()
  await assert.rejects(stat(join(directory, journalFileName)), { code: 'ENOENT' })
})

/** `syncs`: how many writes it has brought to the disk. */
async function openCountingJournal(context: TestContext) {
  let syncs = 0
  const files = failingFileSystem((operation) => {
    if (operation === 'datasync') syncs += 1
    return false
  })
  const journal = await openTestJournal(await temporaryDirectory(context), { files })
  context.after(() => journal.close())
  return { journal, syncs: () => syncs }
}

test('many appends at once are written in one group, and each gets its own events in order', async (context) => {
  const { journal, syncs } = await openCountingJournal(context)
  const plugins = Array.from({ length: 50 }, (_, number) => `@fixtures/p${number}`)
  const answers = await Promise.all(plugins.map((plugin) => journal.append(installation(plugin), 'http')))
  assert.deepEqual(
    answers.map((events) => events.map(({ seq, plugin }) => [seq, plugin])),
    plugins.map((plugin, index) => [
      [2 * index + 1, plugin],
      [2 * index + 2, plugin],
    ]),
  )
  assert.ok(syncs() <= 2, `${syncs()} syncs for 50 appends`)
})

test('callers that append again as soon as they are answered share each write with those that wait', async (context) => {
  const { journal, syncs } = await openCountingJournal(context)
  const callers = Array.from({ length: 8 }, (_, number) => `@fixtures/p${number}`)
  const rounds = 10
  await Promise.all(
    callers.map(async (plugin, index) => {
      await journal.append(installation(plugin), 'http')
      for (let round = 0; round < rounds; round += 1)
        await journal.append(
          [{ type: 'PluginConfigured', plugin, data: { config: { index, round } } }],
          'http',
        )
    }),
  )
  // One write for the first caller, whom nobody has waited with, and one for each round of all.
  assert.ok(syncs() <= rounds + 3, `${syncs()} syncs for ${rounds} rounds`)
})

for (const operation of ['write', 'datasync', 'open'] as const) {
  test(`when ${operation} fails the append is refused with storage_full, and works again when there is room`, async (context) => {
    const directory = await temporaryDirectory(context)
    let full = false
    const files = failingFileSystem(
      (name, path) => full && name === operation && path.endsWith(journalFileName),
    )
    const journal = await openTestJournal(directory, { files })
    if (operation !== 'open') await journal.append(installation(id), 'http')
    const before = plainState(journal.state)
    full = true
    await assert.rejects(journal.append(installation(other), 'http'), { code: 'storage_full' })
    assert.deepEqual(plainState(journal.state), before)
    full = false
    await journal.append(installation(other), 'http')
    await assertKept(context, journal, directory)
  })
}

test('an append to a copy does not wait for the disk; what the disk refuses is told with the next one', async (context) => {
  const directory = await temporaryDirectory(context)
  let full = true
  let syncs = 0
  const files = failingFileSystem((name, path) => {
    const isSync = name === 'datasync' && path.endsWith(journalFileName)
    syncs += isSync ? 1 : 0
    return full && isSync
  })
  const journal = await openTestJournal(directory, { files, isCopy: true })
  await journal.append(installation(id), 'http')
  assert.equal(syncs, 1)
  await assert.rejects(journal.append(installation(other), 'http'), { code: 'storage_full' })
  full = false
  await journal.append(installation(other), 'http')
  await assertKept(context, journal, directory)
  assert.equal(syncs, 2)
})

test('bytes that a failed write left are cut off before the next append, even when cutting failed at first', async (context) => {
  const directory = await temporaryDirectory(context)
  let full = false
  const files = failingFileSystem((operation) => full && (operation === 'write' || operation === 'truncate'))
  const journal = await openTestJournal(directory, { files })
  await journal.append(installation(id), 'http')
  full = true
  // Half of them is more than what comes next, and whole lines are among it.
  const refused = Array.from({ length: 10 }, (_, index) => configured(id, { a: index }))
  await assert.rejects(journal.append(refused, 'http'), { code: 'storage_full' })
  full = false
  await journal.append([configured(id, { b: 2 })], 'http')
  context.after(() => journal.close())
  // As it is for the next start should the host be killed now: its end cuts off what is left, too.
  const killed = await temporaryDirectory(context)
  await cp(directory, killed, { recursive: true })
  const again = await openTestJournal(killed)
  context.after(() => again.close())
  assert.deepEqual(again.state.plugins.get(id)?.context.config, { b: 2 })
  assert.equal(again.state.seq, installation(id).length + 1)
})

test('what a refused write has left is gone for good before anybody hears that it was refused', async (context) => {
  const directory = await temporaryDirectory(context)
  let full = false
  const { files, unsynced } = createDiskAccount(
    failingFileSystem((operation) => full && operation === 'write'),
  )
  const journal = await openTestJournal(directory, { files })
  context.after(() => journal.close())
  await journal.append(installation(id), 'http')
  full = true
  const refused = journal.append(installation(other), 'http')
  // The next start would believe what a power cut brings back.
  await assert.rejects(
    refused.catch((error: unknown) => {
      assert.deepEqual(unsynced(), [])
      throw error
    }),
    { code: 'storage_full' },
  )
})

test('an incomplete last line is cut off with a warning', async (context) => {
  const { directory, path } = await journalOf(context, installation(id))
  const whole = await readFile(path)
  await appendFile(path, '{"version":1,"seq":3,"id":"')
  const warnings: string[] = []
  const journal = await openTestJournal(directory, {
    logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    acknowledged: 2,
  })
  assert.equal(journal.state.seq, 2)
  assert.equal(warnings.length, 1)
  await journal.append([configured(id, { a: 1 })], 'http')
  await journal.close()
  const content = await readFile(path)
  assert.deepEqual(content.subarray(0, whole.length), whole)
  assert.equal(content.toString().trim().split('\n').length, 3)
})

test('a journal that is shorter than what the snapshot has seen is refused', async (context) => {
  const { directory } = await journalOf(context, installation(id))
  await assert.rejects(openTestJournal(directory, { acknowledged: 3 }), DamagedJournalError)
})

test('a flipped byte anywhere is found, and told with its line and position', async (context) => {
  const { directory, path } = await journalOf(context, [...installation(id), configured(id, { a: 1 })])
  const whole = await readFile(path)
  const lineOf = (offset: number): number => whole.subarray(0, offset).toString('latin1').split('\n').length
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (offset, flip) => {
      const damaged = Buffer.from(whole)
      damaged[offset] = (damaged[offset] ?? 0) ^ flip
      await writeFile(path, damaged)
      await assert.rejects(openTestJournal(directory, { acknowledged: 3 }), (error) => {
        assert.ok(error instanceof DamagedJournalError, String(error))
        assert.equal(error.line, lineOf(offset))
        assert.match(error.message, /repair/)
        return true
      })
      assert.deepEqual(await readFile(path), damaged)
    }),
    { numRuns: 200 },
  )
})

test('bytes that read as the same text are another line all the same', async (context) => {
  // A replacement character, as it stands in many a text, and what a decoder makes one of.
  const { directory, path } = await journalOf(context, [
    ...installation(id),
    configured(id, { name: 'M\ufffdller', city: 'Ulm' }),
    configured(id, {}),
  ])
  const original = await readFile(path)
  const place = original.indexOf('\ufffd')
  for (const [at, bytes] of [
    [place, [0xf0, 0xbf, 0xbd]],
    [place, [0xf0, 0x90, 0x80]],
    [0, [0xef, 0xbb, 0xbf, ...original.subarray(0, 3)]],
  ] as const) {
    const damaged = Buffer.concat([original.subarray(0, at), Buffer.from(bytes), original.subarray(at + 3)])
    await writeFile(path, damaged)
    await assert.rejects(openTestJournal(directory, { acknowledged: 4 }), /its checksum does not match/)
  }
  await writeFile(path, original)
  await (await openTestJournal(directory, { acknowledged: 4 })).close()
})

test('a line that is missing, doubled or out of order is found though every checksum is right', async (context) => {
  const { directory, path } = await journalOf(context, [...installation(id), configured(id, { a: 1 })])
  const [first = '', second = '', third = ''] = (await readFile(path, 'utf8')).trim().split('\n')
  for (const lines of [
    [first, third],
    [first, first, second, third],
    [first, third, second],
  ]) {
    await writeFile(path, `${lines.join('\n')}\n`)
    await assert.rejects(openTestJournal(directory, { acknowledged: 3 }), DamagedJournalError)
  }
})

test('after a repair the host starts, with the settings of the snapshot and a copy of the damaged file', async (context) => {
  const { directory, path } = await journalOf(context, [...installation(id), configured(id, { a: 1 })])
  const journal = await openTestJournal(directory)
  const writer = createTestSnapshots(directory, { state: () => journal.state })
  await writer.flush()
  await journal.close()
  const damaged = (await readFile(path, 'utf8')).replace('PluginInstalled', 'PluginInstAlled')
  await writeFile(path, damaged)
  const snapshot = await readSnapshot(systemFileSystem, directory)
  const check = async (): Promise<void> => {
    const opened = await openTestJournal(directory, { acknowledged: snapshot?.journal?.seq ?? 0 })
    await opened.close()
  }
  const [done] = await repairJournal(directory, systemFileSystem, 0, snapshot, check)
  assert.deepEqual([done?.line, done?.cut], [2, true])
  assert.equal(await readFile(done?.copies[0] ?? '', 'utf8'), damaged)
  const file = await readSnapshot(systemFileSystem, directory)
  assert.deepEqual([file?.journal, file?.plugins], [{}, snapshot?.plugins])
  const again = await openTestJournal(directory, { acknowledged: file?.journal?.seq ?? 0 })
  context.after(() => again.close())
  assert.equal(again.state.seq, 1)
})

test('events of an older format are lifted step by step', async (context) => {
  const directory = await temporaryDirectory(context)
  const data = { repository: null, version: '1.0.0' }
  const current = {
    seq: 1,
    id: 'x',
    at: '2026-01-01T00:00:00.000Z',
    type: 'PluginInstallRequested',
    plugin: id,
    data,
    revision: 1,
    by: 'http',
    state: 'installing',
  }
  const { data: details, ...old } = current
  await writeFile(join(directory, journalFileName), `${encodeLine({ version: 0, ...old, details })}\n`)
  const journal = await openTestJournal(directory, {
    upcasters: { 0: ({ details: lifted = null, ...rest }) => ({ ...rest, data: lifted }) },
  })
  context.after(() => journal.close())
  assert.deepEqual(journal.read({ limit: 1 }), [current])
})

test('an event of a newer format stops the start and says so', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeFile(join(directory, journalFileName), `${encodeLine({ version: 2, seq: 1 })}\n`)
  await assert.rejects(openTestJournal(directory, { acknowledged: 1 }), /newer Lupine/)
})

test('a line is decoded to what was encoded, whatever it holds', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const clean: object = JSON.parse(JSON.stringify({ type: 'x', ...value }))
      const line = encodeLine(clean)
      assert.ok(!line.includes('\n'))
      assert.deepEqual(decodeLine(Buffer.from(line)), { ok: true, value: clean })
    }),
  )
})

type Step = { do: 'append'; facts: Fact[] } | { do: 'fail'; facts: Fact[]; at: string } | { do: 'restart' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(anyFact, { minLength: 1, maxLength: 3 })
      .map((facts): Step => ({ do: 'append', facts })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.array(anyFact, { minLength: 1, maxLength: 2 }),
        fc.constantFrom('write', 'datasync', 'rename', 'sync'),
      )
      .map(([facts, at]): Step => ({ do: 'fail', facts, at })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'restart' }) },
)

test('law: the fold of the journal is the live state and the snapshot, at every number, whatever fails or restarts, encrypted or not', async (context) => {
  const vault = createSecretVault(createKeyRing([randomBytes(32)]), () => undefined)
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 30, size: 'max' }),
      fc.boolean(),
      async (steps, secret) => {
        const encryption = secret ? { vault } : {}
        const directory = await temporaryDirectory(context)
        let failing: string | undefined
        const files: FileSystem = failingFileSystem((operation) => operation === failing)
        const states: unknown[] = []
        const start = async () => {
          const journal = await openTestJournal(directory, { files, ...encryption })
          const snapshots = createTestSnapshots(directory, {
            ...encryption,
            files,
            state: () => journal.state,
          })
          journal.subscribe(() => void states.push(plainState(journal.state)))
          return { journal, snapshots }
        }
        let { journal, snapshots } = await start()
        states.push(plainState(journal.state))
        for (const step of steps) {
          if (step.do === 'restart') {
            await journal.close()
            ;({ journal, snapshots } = await start())
            continue
          }
          failing = step.do === 'fail' ? step.at : undefined
          await journal
            .append(step.facts, 'http')
            .catch((error: unknown) => assert.ok(error instanceof Problem))
          await snapshots.flush()
          failing = undefined
        }
        await snapshots.flush()
        const live = plainState(journal.state)
        const events = journal.read({ limit: Number.MAX_SAFE_INTEGER })
        assert.deepEqual(plainState(fold(events)), live)
        assert.equal(events.length, journal.state.seq)
        for (const seq of states.keys())
          assert.deepEqual(plainState(journal.stateAt(seq)), states[seq], `state at ${seq}`)
        if (journal.state.seq > 0) {
          const file = await readSnapshot(systemFileSystem, directory, encryption.vault)
          assert.deepEqual(file, JSON.parse(JSON.stringify(snapshotOf(journal.state))))
        }
        await journal.close()
      },
    ),
    { numRuns: 60 },
  )
})

test('large events are read in pieces, however many are asked for', async (context) => {
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory)
  context.after(() => journal.close())
  await journal.append(installation(id), 'http')
  const large = (n: number) => configured(id, { n, text: 'x'.repeat(1024 * 1024) })
  for (let n = 1; n <= 20; n += 1) await journal.append([large(n)], 'http')
  await journal.append([configured(id, { huge: 'x'.repeat(bytesAtOnce + 1) })], 'http')
  for (const plugin of [undefined, id]) {
    const pages: number[][] = []
    for (let after = 0; ;) {
      const page = journal.read({ ...(plugin === undefined ? {} : { plugin }), after, limit: 10_000 })
      if (page.length === 0) break
      pages.push(page.map(({ seq }) => seq))
      after = page.at(-1)?.seq ?? after
    }
    assert.deepEqual(
      pages.flat(),
      Array.from({ length: 23 }, (_, index) => index + 1),
    )
    assert.deepEqual(
      pages.map(({ length }) => length),
      [9, 7, 6, 1],
    )
  }
  assert.deepEqual(journal.stateAt(22).plugins.get(id)?.context.config.n, 20)
})
