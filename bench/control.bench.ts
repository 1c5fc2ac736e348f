import { quantile, report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'

// From a message on `…/set` to the sensor that the setter has changed, above a round trip through the same broker.

const rounds = 9
const times = 200

const lamp = `
local level = 0
local sensor = plugin:sensor("level", function() return level end)
plugin:control("dim", function() return level end, function(value)
  level = value
  sensor:notify()
end)
`

const stage = await startHostStage({ lamp })
const { client } = stage
let arrived: (payload: string) => void = () => undefined
client.on('message', (_topic, payload) => arrived(payload.toString()))
let lastValue = 0

/** Milliseconds of the median: each is sent when the one before has come. */
async function median(to: string): Promise<number> {
  const taken: number[] = []
  for (let time = 0; time < times; time += 1) {
    lastValue += 1
    const value = String(lastValue)
    const begun = performance.now()
    const back = new Promise<void>((resolve) => {
      arrived = (payload) => {
        if (payload === value) resolve()
      }
    })
    client.publish(to, value)
    await back
    taken.push(performance.now() - begun)
  }
  return quantile(taken, 0.5)
}

const measuredRounds: Round[] = []
const root = 'host'
const set = `${root}/plugins/@bench/lamp/controls/dim/set`
try {
  await client.subscribeAsync([`${root}/plugins/@bench/lamp/sensors/level`, 'bench/there-and-back'])
  await median(set)
  for (let round = 0; round < rounds; round += 1) {
    measuredRounds.push({ value: await median(set), floor: await median('bench/there-and-back') })
  }
} finally {
  await stage.close()
}
report(import.meta.filename, [
  {
    name: '`…/set` to the sensor, above a round trip through the broker, p50',
    unit: 'ms',
    wanted: '< 0.5 ms',
    rounds: measuredRounds,
    compared: 'difference',
  },
])
