import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../src/base/files/file-system.ts'
import { silentLogger } from '../src/base/log/log.ts'
import { type Journal, openJournal } from '../src/journal/journal.ts'
import type { PluginFact } from '../src/schema/journal/journal-event.ts'
import { report, type Round } from './figure.ts'

/**
 * Appends to the journal, in relation to the disk alone: the same bytes in the same groups, each written and synced
 * (fdatasync), with nothing else done. Rounds are short and take turns, as others may use the disk.
 */
const events = Number(process.env.COUNT ?? 1_000)
const rounds = Number(process.env.ROUNDS ?? 61)
/** How many wait for their append at a time. */
const callers = Number(process.env.CALLERS ?? 16)

const directory = await mkdtemp(join(process.env.BENCH_DIR ?? tmpdir(), 'lupine-append-'))
/** Bytes of each write to the journal. */
let groups: number[] = []
const files: FileSystem = {
  ...systemFileSystem,
  async open(path, flags, mode) {
    const handle = await systemFileSystem.open(path, flags, mode)
    if (!String(path).endsWith('.host.journal')) return handle
    const write = handle.write.bind(handle)
    handle.write = ((...given: Parameters<typeof write>) => {
      groups.push((given[0] as unknown as Uint8Array).length)
      return write(...given)
    }) as typeof handle.write
    return handle
  },
}

const idOf = (caller: number): string => `@bench/plugin-${caller}`
const install = (plugin: string): PluginFact[] => [
  { type: 'PluginInstallRequested', plugin, data: { repository: null, version: '1.0.0' } },
  {
    type: 'PluginInstalled',
    plugin,
    data: { version: '1.0.0', indexVersion: '1.0.0', repository: null, integrity: {} },
  },
]

/** Milliseconds. */
async function ours(journal: Journal): Promise<number> {
  groups = []
  let left = events
  const start = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (; left > 0;) {
        left -= 1
        const config = { interval: left, url: 'http://127.0.0.1:8080/values', room: 'cellar' }
        await journal.append([{ type: 'PluginConfigured', plugin: idOf(caller), data: { config } }], 'http')
      }
    }),
  )
  return performance.now() - start
}

async function disk(sizes: readonly number[]): Promise<number> {
  const handle = await open(join(directory, 'disk'), 'w')
  try {
    const bytes = Buffer.alloc(Math.max(...sizes), 'x')
    const start = performance.now()
    let position = 0
    for (const size of sizes) {
      await handle.write(bytes, 0, size, position)
      await handle.datasync()
      position += size
    }
    return performance.now() - start
  } finally {
    await handle.close()
  }
}

const journal = await openJournal({ directory, files, clock: systemClock, logger: silentLogger })
try {
  for (let caller = 0; caller < callers; caller += 1) await journal.append(install(idOf(caller)), 'http')
  await ours(journal)
  const measured: Round[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const mine = await ours(journal)
    const floor = await disk(groups)
    measured.push({ value: events / mine, floor: events / floor })
  }
  report(import.meta.filename, [
    {
      name: `appends by ${callers} callers, of the disk's own group commit`,
      unit: '/ms',
      wanted: '≥ 0.8',
      rounds: measured,
    },
  ])
} finally {
  await journal.close()
  await rm(directory, { recursive: true, force: true })
}
