import { startBareCalls } from './bare-calls.ts'
import { report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// A call from plugin to plugin, with an answer, of two bare workers that call each other through the main thread.

const rounds = 15
/** Before V8 has compiled what a call passes in three threads, it takes three times as long. */
const warmUp = 15
/** At a time: a plugin in a shared worker has 0.4 s for them. */
const calls = 200

/** Says the median of so many calls, in microseconds. */
const caller = `
plugin:mqttSubscribe("bench/call", function(_, payload)
  local callee, times = Plugin.get("@bench/callee"), {}
  for i = 1, tonumber(payload) do
    local begun = os.clock()
    callee:value()
    times[i] = os.clock() - begun
  end
  table.sort(times)
  plugin:mqttPublish("bench/took", tostring(times[math.ceil(#times / 2)] * 1e6))
end)
`
const plugins = { callee: 'function plugin:value() return 21.5 end', caller }

const own = await startHostStage(plugins, { HOST_ISOLATION: 'dedicated' })
const shared = await startHostStage(plugins, { HOST_ISOLATION: 'shared' })
const bare = await startBareCalls()
const inTwo: Round[] = []
const inOne: Round[] = []

async function microseconds(stage: typeof own): Promise<number> {
  const took = await stage.next('bench/took')
  await stage.client.publishAsync('bench/call', String(calls))
  return Number(await took.message)
}

try {
  for (let round = 0; round < warmUp; round += 1) {
    for (const stage of [own, shared]) await microseconds(stage)
    await bare.median(calls)
  }
  for (let round = 0; round < rounds; round += 1) {
    const floor = await bare.median(calls)
    inTwo.push({ value: await microseconds(own), floor })
    inOne.push({ value: await microseconds(shared), floor })
  }
} finally {
  await bare.close()
  await Promise.all([own.close(), shared.close()])
}
const ofBare = 'of two bare workers by way of the main thread'
report(import.meta.filename, [
  {
    name: `a call between plugins in two workers, p50, ${ofBare}`,
    unit: 'µs',
    wanted: '≤ 60 µs',
    rounds: inTwo,
  },
  {
    name: `a call between plugins in one worker, p50, ${ofBare}`,
    unit: 'µs',
    wanted: '≤ 10 µs',
    rounds: inOne,
  },
])
