import assert from 'node:assert/strict'
import type { FileHandle } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { FileSystem } from '../../src/base/files/file-system.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { type HostState, initialState } from '../../src/journal/fold/evolve.ts'
import { type Journal, type JournalSettings, openJournal } from '../../src/journal/journal.ts'
import { createSnapshotWriter, type SnapshotWriter } from '../../src/journal/snapshot/snapshot-writer.ts'
import type { JournalEvent } from '../../src/schema/journal/journal-event.ts'
import { syncOfWrites } from './failing-file-system.ts'
import { createManualClock } from './manual-clock.ts'

/** Opening journals in tests, and comparing what they say. */

export function openTestJournal(directory: string, options: Partial<JournalSettings> = {}): Promise<Journal> {
  return openJournal({
    directory,
    files: systemFileSystem,
    clock: createManualClock(),
    logger: silentLogger,
    ...options,
  })
}

/** What writes the snapshots, and has begun to, of an empty state unless another one is given. */
export function createTestSnapshots(
  directory: string,
  options: Partial<Parameters<typeof createSnapshotWriter>[0]>,
): SnapshotWriter {
  const snapshots = createSnapshotWriter({
    ...{ directory, files: systemFileSystem, clock: createManualClock(), logger: silentLogger },
    ...{ kept: undefined, state: initialState },
    ...options,
  })
  snapshots.start()
  return snapshots
}

/** A state without the machines' inner parts, for comparison. */
export interface PlainState {
  seq: number
  host: unknown
  plugins: unknown[]
}

export function plainState(state: HostState): PlainState {
  return JSON.parse(JSON.stringify({ seq: state.seq, host: state.host, plugins: [...state.plugins] }))
}

/** Closes it: its files say what it had in memory. */
export async function assertKept(context: TestContext, journal: Journal, directory: string): Promise<void> {
  const state = plainState(journal.state)
  await journal.close()
  const again = await openTestJournal(directory)
  context.after(() => again.close())
  assert.deepEqual(plainState(again.state), state)
}

/** All that a journal can be asked for: every event, of all and of each plugin, and the state at each. */
export type Everything = ReturnType<typeof everythingOf>

export function everythingOf(journal: Journal, keys: readonly string[] = []) {
  const plugins = [...journal.state.plugins.keys()]
  const all = readAll(journal)
  return {
    state: plainState(journal.state),
    first: journal.first,
    all,
    states: all.map(({ seq }) => plainState(journal.stateAt(seq))),
    ofPlugins: plugins.map((plugin) => [plugin, readAll(journal, plugin), journal.last(plugin)]),
    ids: [journal.first - 1, ...all.map(({ seq }) => seq)].map((seq) => journal.eventId(seq)),
    requests: keys.map((key) => journal.recallRequest(key)),
  }
}

/** Reads on until there is no more. */
export function readAll(journal: Journal, plugin?: string): JournalEvent[] {
  const events: JournalEvent[] = []
  for (;;) {
    const filter = plugin === undefined ? {} : { plugin }
    const page = journal.read({ ...filter, after: events.at(-1)?.seq ?? 0, limit: 7 })
    if (page.length === 0) return events
    events.push(...page)
  }
}

/**
 * The process is killed at call `limit` (from 1): that one, and all after it, never happen and never answer. `ended` waits
 * for what it does, or for the kill, and closes what it still had open, as the system does.
 */
export function haltingFileSystem(limit: number): {
  files: FileSystem
  calls(): number
  ended(life: Promise<void>): Promise<void>
} {
  let calls = 0
  const opened = new Set<FileHandle>()
  const isHalted = (): boolean => {
    calls += 1
    return calls >= limit
  }
  const never = new Promise<never>(() => undefined)
  const changing = new Set<PropertyKey>(['write', 'writeFile', 'datasync', 'sync', 'truncate'])
  /** Calls that the disk has not answered yet. */
  let underWay = 0
  const track = async <Result>(call: Promise<Result>): Promise<Result> => {
    underWay += 1
    try {
      return await call
    } finally {
      underWay -= 1
    }
  }
  const guard =
    <Given extends unknown[], Result>(task: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      isHalted() ? never : task(...given)
  const files = {
    ...systemFileSystem,
    open: async (...given: Parameters<FileSystem['open']>) => {
      if (isHalted()) return never
      const handle = await track(systemFileSystem.open(...given))
      opened.add(handle)
      // What is written may be there, and nobody has heard of it.
      const isSynced = syncOfWrites(given[1]) !== undefined
      return new Proxy(handle, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          const bound = member.bind(target)
          if (!changing.has(name)) return bound
          return guard(async (...values: unknown[]) => {
            const result: unknown = await track(bound(...values) as Promise<unknown>)
            return isSynced && isHalted() ? never : result
          })
        },
      })
    },
    rename: guard((...given: Parameters<FileSystem['rename']>) => track(systemFileSystem.rename(...given))),
    rm: guard((...given: Parameters<FileSystem['rm']>) => track(systemFileSystem.rm(...given))),
  }
  const ended = async (life: Promise<void>): Promise<void> => {
    const done = life.then(() => true)
    // Whatever does not come any more is known when the loop has nothing else to do.
    for (let idle = 0, before = -1; idle < 20;) {
      if (await Promise.race([done, settle()])) break
      idle = calls === before && calls >= limit && underWay === 0 ? idle + 1 : 0
      before = calls
    }
    // A file descriptor of -1 is one that was closed before.
    for (const handle of opened) if (handle.fd !== -1) await handle.close()
  }
  return { files, calls: () => calls, ended }
}

/** A turn of the loop, its file operations included. */
async function settle(): Promise<false> {
  await systemFileSystem.stat('.')
  await setImmediate()
  return false
}
