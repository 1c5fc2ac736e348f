import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { manyPlugins, type StartOfMany } from './many-plugins.ts'
import { report, type Round } from './figure.ts'

// How long a host with many plugins takes from the start of its process until all of them run. `npm run build` first.

const rounds = 3

/** So many empty workers, started at once, until all of them run. */
async function emptyWorkers(count: number): Promise<number> {
  const began = performance.now()
  const program = "require('node:worker_threads').parentPort.on('message', () => undefined)"
  const workers = Array.from({ length: count }, () => new Worker(program, { eval: true }))
  await Promise.all(workers.map((worker) => once(worker, 'online')))
  const milliseconds = performance.now() - began
  await Promise.all(workers.map((worker) => worker.terminate()))
  return milliseconds
}

const hosts = { none: await manyPlugins(0), fifty: await manyPlugins(50), many: await manyPlugins(500) }
const own: Round[] = []
const shared: Record<'fifty' | 'many', Round[]> = { fifty: [], many: [] }
const usual: Round[] = []
const memory: Record<'shared' | 'auto', Round[]> = { shared: [], auto: [] }
for (let round = 0; round < rounds; round += 1) {
  const none = await hosts.none.start('shared')
  const since = ({ milliseconds }: StartOfMany): number => milliseconds - none.milliseconds
  own.push({ value: since(await hosts.fifty.start('dedicated')), floor: await emptyWorkers(50) })
  const fifty = await hosts.fifty.start('shared')
  shared.fifty.push({ value: since(fifty) / 1000, floor: 0 })
  const many = await hosts.many.start('shared')
  shared.many.push({ value: since(many) / 1000, floor: 0 })
  const auto = await hosts.many.start('auto')
  usual.push({ value: since(auto) / 1000, floor: 0 })
  for (const [isolation, { megabytes }] of [
    ['shared', many],
    ['auto', auto],
  ] as const)
    memory[isolation].push({ value: megabytes / 500, floor: none.megabytes / 500 })
}
await Promise.all(Object.values(hosts).map((host) => host.close()))
report(import.meta.filename, [
  {
    name: '50 plugins in workers of their own ready, of 50 empty workers',
    unit: 'ms',
    wanted: '≤ 1.8',
    rounds: own,
  },
  ...(['fifty', 'many'] as const).map((of) => ({
    name: `${of === 'fifty' ? 50 : 500} plugins in shared workers ready, after an empty host`,
    ...{
      unit: 's',
      wanted: of === 'fifty' ? '0.5' : '2.5',
      rounds: shared[of],
      compared: 'difference' as const,
    },
  })),
  {
    name: '500 plugins with `auto` ready, after an empty host',
    unit: 's',
    wanted: '–',
    rounds: usual,
    compared: 'difference',
  },
  {
    name: 'one of 500 in shared workers: memory',
    unit: 'MB',
    wanted: '≤ 0.4',
    rounds: memory.shared,
    compared: 'difference',
  },
  {
    name: 'one of 500 with `auto`: memory',
    unit: 'MB',
    wanted: '–',
    rounds: memory.auto,
    compared: 'difference',
  },
])
