import { quantile, report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'
import { createToggleWrites } from './toggle-writes.ts'

// A plugin switched off and on again, each answered when it is on disk, above two requests that change nothing; and
// beside what the disk takes of it.

const rounds = 7
const times = 15

const lua = `
plugin:onInit(function()
  plugin:sensor("value", function() return 21.5 end)
  plugin:setInterval(60000, function() end)
end)
`

const stages = {
  shared: await startHostStage({ lamp: lua }, { HOST_ISOLATION: 'shared' }),
  dedicated: await startHostStage({ lamp: lua }, { HOST_ISOLATION: 'dedicated' }),
}
type Stage = (typeof stages)['shared']

async function median(task: () => Promise<unknown>): Promise<number> {
  const taken: number[] = []
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now()
    await task()
    taken.push(performance.now() - begun)
  }
  return quantile(taken, 0.5)
}

const toggle = (stage: Stage, enabled: boolean): Promise<void> =>
  stage.post('/api/plugins/@bench/lamp/toggle', { enabled })

async function offAndOn(stage: Stage): Promise<void> {
  await toggle(stage, false)
  await toggle(stage, true)
}

async function unchanged(stage: Stage): Promise<void> {
  await toggle(stage, true)
  await toggle(stage, true)
}

const found: Record<keyof typeof stages, Round[]> = { shared: [], dedicated: [] }
const ofWrites: Round[] = []
const writes = await createToggleWrites()
try {
  for (const stage of Object.values(stages)) await median(() => offAndOn(stage))
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['shared', 'dedicated'] as const) {
      const value = await median(() => offAndOn(stages[kind]))
      found[kind].push({ value, floor: await median(() => unchanged(stages[kind])) })
      if (kind === 'shared') ofWrites.push({ value, floor: await median(writes.offAndOn) })
    }
  }
} finally {
  await Promise.all([writes, ...Object.values(stages)].map((each) => each.close()))
}
report(import.meta.filename, [
  ...(['shared', 'dedicated'] as const).map((kind) => ({
    name: `off and on in a ${kind === 'shared' ? 'shared worker' : 'worker of its own'}, above requests that change nothing, p50`,
    unit: 'ms',
    wanted: kind === 'shared' ? '< 5 ms' : '< 40 ms',
    rounds: found[kind],
    compared: 'difference' as const,
  })),
  {
    name: 'off and on in a shared worker with its requests, of the same writes with nothing else, p50',
    unit: 'ms',
    wanted: '–',
    rounds: ofWrites,
  },
])
