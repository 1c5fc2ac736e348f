import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '../src/base/time/clock.ts'
import { systemFileSystem } from '../src/base/files/file-system.ts'
import { silentLogger } from '../src/base/log/log.ts'
import { checkpointFileName } from '../src/journal/segments/checkpoint-file.ts'
import { type Journal, openJournal } from '../src/journal/journal.ts'
import { writeLongJournal } from '../test/helpers/long-journal.ts'
import { report, type Round } from './figure.ts'

/**
 * How much longer a start takes with a million events in the journal than with none: opening it, in a process of its
 * own each time. `COUNT=10000000` takes 6 GB and some minutes.
 */
const events = Number(process.env.COUNT ?? 1_000_000)
const rounds = Number(process.env.ROUNDS ?? 9)

const open = (directory: string): Promise<Journal> =>
  openJournal({ directory, files: systemFileSystem, clock: systemClock, logger: silentLogger })

const started = {
  type: 'HostStarted',
  plugin: null,
  data: { host: 'bench', hostVersion: '1.0.0' },
} as const

interface Start {
  seconds: number
}

/** One start, as a host makes it: the journal is opened, and the start written down. */
async function start(directory: string): Promise<Start> {
  const begun = performance.now()
  const journal = await open(directory)
  const seconds = (performance.now() - begun) / 1_000
  await journal.append([started], 'startup')
  await journal.close()
  return { seconds }
}

async function startElsewhere(directory: string): Promise<Start> {
  const file = fileURLToPath(import.meta.url)
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file, directory])
  return JSON.parse(stdout) as Start
}

async function prepare(directory: string): Promise<void> {
  await mkdir(directory)
  await writeLongJournal(directory, events)
  // The one file of an older version becomes segments, and a checkpoint is left.
  const journal = await open(directory)
  while (!(await readdir(directory)).includes(checkpointFileName)) {
    for (let count = 0; count < 100; count += 1) await journal.append([started], 'startup')
  }
  await journal.close()
}

async function measure(): Promise<void> {
  const base = await mkdtemp(join(process.env.BENCH_DIR ?? tmpdir(), 'lupine-restart-'))
  try {
    const [long, empty] = [join(base, 'long'), join(base, 'empty')]
    await prepare(long)
    const measured: Round[] = []
    for (let round = 1; round <= rounds; round += 1) {
      await rm(empty, { recursive: true, force: true })
      await mkdir(empty)
      const none = await startElsewhere(empty)
      const many = await startElsewhere(long)
      measured.push({ value: many.seconds, floor: none.seconds })
    }
    report(import.meta.filename, [
      {
        name: `restart with ${events} events, above an empty journal`,
        unit: 's',
        wanted: '< 0.5 s',
        compared: 'difference',
        rounds: measured,
      },
    ])
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

const [directory] = process.argv.slice(2)
if (directory === undefined) await measure()
else console.log(JSON.stringify(await start(directory)))
