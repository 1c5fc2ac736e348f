import { connectAsync } from 'mqtt'
import { received, startBareBroker, startPublisher, startSubscriber } from './bare-broker.ts'
import { quantile, report, type Round } from './figure.ts'
import { startHostStage } from './host-stage.ts'
import { findNodeRed, startNodeRed } from './node-red.ts'

// Events of plugins to subscribers in other processes, and messages of clients to a plugin, of the broker library by
// itself between two processes in the same rounds; and of what a Node-RED function emits to that broker.

const count = 50_000
/** Of each of four: in one callback they have to leave within its five seconds. */
const countOfEach = 15_000
const rounds = 5
const senders = ['one', 'two', 'three', 'four']

/** Emits as many as a message on `bench/go` says; without end while one says `forever`. */
const sender = `
local running = false
plugin:mqttSubscribe("bench/go/" .. plugin.id:match("[^/]+$"), function(_, payload)
  local n = tonumber(payload)
  for i = 1, n do plugin:emit("reading", { n = i, value = 21.5 }) end
end)
plugin:setInterval(5, function()
  if running then for i = 1, 2000 do plugin:emit("reading", { n = i, value = 21.5 }) end end
end)
plugin:mqttSubscribe("bench/forever", function(_, payload) running = payload == plugin.id:match("[^/]+$") end)
`

/** Says when it has had so many messages, and in how many seconds; and that it has begun to wait for them. */
const receiver = `
local expected, seen, first = 0, 0, nil
plugin:mqttSubscribe("bench/plugins/#", function()
  seen = seen + 1
  if seen == 1 then first = os.clock() end
  if seen == expected then plugin:mqttPublish("bench/took", tostring(os.clock() - first)) end
end)
plugin:mqttSubscribe("bench/expect", function(_, payload)
  expected, seen = tonumber(payload), 0
  plugin:mqttPublish("bench/expecting", "yes")
end)
`

const stage = await startHostStage({
  ...Object.fromEntries(senders.map((id) => [id, sender])),
  receiver,
})
const bare = await startBareBroker()
const publisher = await startPublisher(stage.port)
const subscribers = await Promise.all(
  senders.map((id) => startSubscriber(stage.port, `+/plugins/@bench/${id}/events/#`)),
)

const nodeRedProgram = findNodeRed()
const nodeRed =
  nodeRedProgram === undefined
    ? undefined
    : await startNodeRed(nodeRedProgram, bare.port, 'rival/go', 'rival/events')
const nodeRedReader = await startSubscriber(bare.port, 'rival/events')
const starter = await connectAsync({ host: '127.0.0.1', port: Number(bare.port) })

async function toLua(): Promise<number> {
  const expecting = await stage.next('bench/expecting')
  await stage.client.publishAsync('bench/expect', String(count))
  await expecting.message
  const took = await stage.next('bench/took')
  publisher.send({ publish: count, topic: 'bench/plugins/@bench/sender/events/reading' })
  return count / Number(await took.message)
}

/** Milliseconds of requests, one after the other. */
async function requests(): Promise<number> {
  const times: number[] = []
  for (let request = 0; request < 300; request += 1) {
    const begun = performance.now()
    await (await fetch(new URL('/livez', stage.http))).text()
    times.push(performance.now() - begun)
  }
  return quantile(times, 0.99)
}

const alone: Round[] = []
const againstNodeRed: Round[] = []
const together: Round[] = []
const fairness: Round[] = []
const intoLua: Round[] = []
const latency: Round[] = []
try {
  for (let round = 0; round < rounds; round += 1) {
    const floor = await bare.rate(count)
    const [first] = subscribers
    if (first === undefined) throw new Error('there is no subscriber')
    const value = await received(first, count, () => stage.client.publish('bench/go/one', String(count)))
    alone.push({ value, floor })
    if (nodeRed !== undefined) {
      const theirs = await received(nodeRedReader, count, () => starter.publish('rival/go', String(count)))
      againstNodeRed.push({ value, floor: theirs })
    }
    const rates = await Promise.all(
      subscribers.map((subscriber, index) =>
        received(subscriber, countOfEach, () =>
          stage.client.publish(`bench/go/${senders[index] ?? ''}`, String(countOfEach)),
        ),
      ),
    )
    together.push({ value: rates.reduce((sum, rate) => sum + rate, 0), floor })
    fairness.push({ value: Math.min(...rates), floor: Math.max(...rates) })
    intoLua.push({ value: await toLua(), floor })
    const rest = await requests()
    await stage.client.publishAsync('bench/forever', 'one')
    latency.push({ value: await requests(), floor: rest })
    await stage.client.publishAsync('bench/forever', 'nobody')
  }
} finally {
  starter.end(true)
  await nodeRed?.close()
  bare.close()
  for (const child of [publisher, nodeRedReader, ...subscribers]) child.end()
  await stage.close()
}
const ofBare = 'of the bare broker'
report(import.meta.filename, [
  {
    name: `events of a plugin to a subscriber, 50,000 in one callback, ${ofBare}`,
    unit: '/s',
    wanted: '≥ 0.7',
    rounds: alone,
  },
  {
    name: 'the same, of the function node of Node-RED with the bare broker',
    unit: '/s',
    wanted: '> 1',
    rounds: againstNodeRed,
    ...(nodeRed === undefined ? { leftOut: 'Node-RED is not installed' } : {}),
  },
  {
    name: `four plugins to four subscribers, all together, ${ofBare}`,
    unit: '/s',
    wanted: '≥ 0.4',
    rounds: together,
  },
  {
    name: 'four plugins to four subscribers, slowest to fastest',
    unit: '/s',
    wanted: '≥ 0.8',
    rounds: fairness,
  },
  {
    name: `a burst of 50,000 messages to a Lua callback, ${ofBare}`,
    unit: '/s',
    wanted: '≥ 20,000 a second',
    rounds: intoLua,
  },
  {
    name: 'HTTP p99 while a plugin emits at full speed, above that at rest',
    unit: 'ms',
    wanted: '< 30 ms',
    rounds: latency,
    compared: 'difference',
  },
])
