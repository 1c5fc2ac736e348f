import { received, startBareBroker, startSubscriber } from './bare-broker.ts'
import { report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// Values of sensors and objects of plugins, which are retained, to a subscriber in another process, of the broker library
// by itself in the same rounds.

/** In one callback they have to leave within its five seconds. */
const count = 20_000
const rounds = 5

const plugin = `
local value = 0
local sensor = plugin:sensor("temperature", function() return value end)
plugin:mqttSubscribe("bench/go/sensors", function(_, payload)
  for _ = 1, tonumber(payload) do
    value = value + 1
    sensor:_notify()
  end
end)
plugin:mqttSubscribe("bench/go/objects", function(_, payload)
  for i = 1, tonumber(payload) do plugin:upsertObject("now", { n = i, value = 21.5, unit = "C" }) end
end)
`

const stage = await startHostStage({ weather: plugin })
const bare = await startBareBroker()
const kinds = ['sensors', 'objects'] as const
const measured: Record<(typeof kinds)[number], Round[]> = { sensors: [], objects: [] }
const subscribers = await Promise.all(
  kinds.map((kind) => startSubscriber(stage.port, `+/plugins/@bench/weather/${kind}/#`)),
)
try {
  for (let round = 0; round < rounds; round += 1) {
    const floor = await bare.rate(count)
    for (const [index, kind] of kinds.entries()) {
      const subscriber = subscribers[index]
      if (subscriber === undefined) throw new Error('there is no subscriber')
      const start = (): unknown => stage.client.publish(`bench/go/${kind}`, String(count))
      measured[kind].push({ value: await received(subscriber, count, start), floor })
    }
  }
} finally {
  bare.close()
  for (const child of subscribers) child.end()
  await stage.close()
}
report(
  import.meta.filename,
  kinds.map((kind) => ({
    name: `new values of ${kind} to a subscriber, 20,000 in one callback, of the bare broker`,
    unit: '/s',
    wanted: '–',
    rounds: measured[kind],
  })),
)
