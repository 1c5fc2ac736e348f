import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../src/base/time/clock.ts'
import { systemFileSystem } from '../src/base/files/file-system.ts'
import { silentLogger } from '../src/base/log/log.ts'
import { type Journal, openJournal } from '../src/journal/journal.ts'
import { writeLongJournal } from '../test/helpers/long-journal.ts'

/**
 * How long a journal of years takes to open, what it leaves in memory, and how long it takes to answer.
 * `node --expose-gc --import tsx bench/journal.ts 25000 100000 1000000`
 */

const plugins = 10

function milliseconds(task: () => unknown): number {
  const start = performance.now()
  task()
  return Math.round(performance.now() - start)
}

async function bytesInUse(): Promise<number> {
  // Buffers go a turn after the objects that held them.
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.()
    await setImmediate()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const open = (directory: string): Promise<Journal> =>
  openJournal({ directory, files: systemFileSystem, clock: systemClock, logger: silentLogger })

const counts = process.argv.slice(2).map(Number)
if (counts.length === 0 || !counts.every((count) => Number.isInteger(count) && count > 0)) {
  console.error('How many events? For example: node --expose-gc --import tsx bench/journal.ts 25000 100000')
  process.exit(2)
}
for (const count of counts) {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-journal-'))
  try {
    await writeLongJournal(directory, count, plugins)
    const bytes = await bytesInUse()
    const cpu = process.cpuUsage()
    const journal = await open(directory)
    const { user, system } = process.cpuUsage(cpu)
    const middle = Math.floor(count * 0.7777)
    console.log({
      events: count,
      openProcessorMs: Math.round((user + system) / 1_000),
      bytesInMemoryPerEvent: Math.round(((await bytesInUse()) - bytes) / count),
      last1000Ms: milliseconds(() => journal.read({ after: count - 1_000, limit: 1_000 })),
      onePlugin1000Ms: milliseconds(() =>
        journal.read({ plugin: '@fixtures/plugin-3', after: middle, limit: 1_000 }),
      ),
      stateInTheMiddleMs: milliseconds(() => journal.stateAt(middle)),
    })
    await journal.close()
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
