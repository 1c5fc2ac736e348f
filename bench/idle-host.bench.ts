import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { manyPlugins } from './many-plugins.ts'
import { report, type Round } from './figure.ts'
import { heldMegabytes } from './memory.ts'
import { wakeUps } from './wake-ups.ts'

// A host without plugins: its memory, and what `npm start` costs above the program itself; one with twenty that have a sensor each, and
// nothing else to do: how often it wakes the machine. `npm run build` first.

const rounds = 3

/** After so many milliseconds what the start leaves behind is over. */
const settled = 30_000

async function ofBareNode(measure: (pid: number) => number | Promise<number>): Promise<number> {
  const child = spawn(process.execPath, ['-e', "console.log('on'); setInterval(() => undefined, 1000)"])
  await once(child.stdout, 'data')
  const found = await measure(child.pid ?? 0)
  child.kill()
  return found
}

/** Processor time: what else the machine does is not to count. */
function seconds(...line: string[]): number {
  const timed = ['-c', '"$@" > /dev/null || exit; times', 'bash', ...line]
  const { status, stdout } = spawnSync('bash', timed, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (status !== 0) throw new Error(`${line.join(' ')} ended with ${status}`)
  // The last line is that of the children: user and system, as in 0m0.120s.
  const parts =
    stdout
      .trim()
      .split('\n')
      .at(-1)
      ?.matchAll(/\b(\d+)m([\d.]+)s/g) ?? []
  return [...parts].reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0)
}

const host = await manyPlugins(0)
const memory: Round[] = []
const starts: Round[] = []
for (let round = 0; round < rounds; round += 1) {
  memory.push({ value: (await host.start('dedicated')).megabytes, floor: await ofBareNode(heldMegabytes) })
  const value = seconds('npm', 'start', '--silent', '--', '--version')
  starts.push({ value, floor: seconds(process.execPath, 'dist/main.js', '--version') })
}
await host.close()
const resting = await manyPlugins(20)
const wakes: Record<'auto' | 'dedicated', Round[]> = { auto: [], dedicated: [] }
for (let round = 0; round < rounds; round += 1) {
  const floor = await ofBareNode(wakeUps)
  for (const isolation of ['auto', 'dedicated'] as const) {
    await resting.start(isolation, async (_, pid) => {
      await wait(settled)
      wakes[isolation].push({ value: await wakeUps(pid), floor })
    })
  }
}
await resting.close()
report(import.meta.filename, [
  {
    name: 'an idle host: memory above bare Node',
    unit: 'MB',
    wanted: '≤ 35',
    rounds: memory,
    compared: 'difference',
  },
  {
    name: '`npm start` above the program, nothing changed',
    unit: 's',
    wanted: '≤ 0.3',
    rounds: starts,
    compared: 'difference',
  },
  ...(['auto', 'dedicated'] as const).map((isolation) => ({
    name: `${isolation}: wake-ups of an idle host with 20 plugins, above bare Node with a timer`,
    unit: '/s',
    wanted: '–',
    rounds: wakes[isolation],
    compared: 'difference' as const,
  })),
])
