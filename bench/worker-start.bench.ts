import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { testSandbox, createRecorder, pluginSource } from '../test/sandbox/stage.ts'
import { report, type Round } from './figure.ts'
import { heldMegabytes } from './memory.ts'

// A plugin in a worker of its own, of an empty Node worker: processor time from nothing to ready, and memory.

const rounds = 7
const workers = 10

const emptyProgram = "require('node:worker_threads').parentPort.on('message', () => undefined)"

interface Started {
  milliseconds: number
  megabytes: number
}

/** Processor time and memory of one worker; the first one warms up what the process itself needs for it. */
async function startSome(start: () => Promise<unknown>): Promise<Started> {
  await start()
  const memory = heldMegabytes()
  const before = process.cpuUsage()
  for (let count = 0; count < workers; count += 1) await start()
  const { user, system } = process.cpuUsage(before)
  return { milliseconds: (user + system) / 1000 / workers, megabytes: (heldMegabytes() - memory) / workers }
}

const starts: Record<string, () => Promise<unknown>> = {
  empty: () => once(new Worker(emptyProgram, { eval: true }), 'online'),
  plugin() {
    const source = pluginSource('plugin:onInit(function() end)')
    return sandbox.load(source, createRecorder().services)
  },
}
const sandbox = testSandbox()

/** In a process of its own: memory that has been used before would not count. */
function inOwnProcess(kind: string): Started {
  const arguments_ = ['--import', 'tsx', fileURLToPath(import.meta.url), kind]
  const { stdout, stderr, status } = spawnSync(process.execPath, arguments_, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Started
}

const start = starts[process.argv[2] ?? '']
if (start !== undefined) {
  console.log(JSON.stringify(await startSome(start)))
  process.exit()
}
const times: Round[] = []
const memories: Round[] = []
for (let round = 0; round < rounds; round += 1) {
  const floor = inOwnProcess('empty')
  const value = inOwnProcess('plugin')
  times.push({ value: value.milliseconds, floor: floor.milliseconds })
  memories.push({ value: value.megabytes, floor: floor.megabytes })
}
const name = 'a plugin in a worker of its own, of an empty worker'
report(import.meta.filename, [
  { name: `${name}: processor time`, unit: 'ms', wanted: '≤ 1.6', rounds: times },
  { name: `${name}: memory above it`, unit: 'MB', wanted: '≤ 3', rounds: memories, compared: 'difference' },
])
