import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFixtureRepository } from '../test/helpers/fixture-repository.ts'
import { startHostProcess } from '../test/helpers/host-process.ts'
import { type Child, startChild } from './peers/child.ts'
import { connectAsync } from 'mqtt'

/** Events of one plugin to a subscriber in another process, in relation to the broker library by itself. */
const count = Number(process.env.COUNT ?? 50_000)
const rounds = Number(process.env.ROUNDS ?? 7)

async function received(subscriber: Child, start: () => void): Promise<number> {
  subscriber.send({ expect: count })
  await subscriber.says('ready')
  start()
  const { milliseconds } = await subscriber.says<{ milliseconds: number }>('received')
  return count / (milliseconds / 1000)
}

const lua = `
local plugin = Plugin:new("sender")
plugin:onInit(function()
  plugin:mqttSubscribe("bench/go", function(_, payload)
    local n = tonumber(payload)
    for i = 1, n do plugin:emit("reading", { n = i, value = 21.5 }) end
  end)
end)`

const directory = await mkdtemp(join(tmpdir(), 'lupine-emit-'))
const folder = join(directory, 'repository')
await writeFixtureRepository(folder, [{ id: 'sender', lua }], 'bench')
const host = await startHostProcess(join(directory, 'data'), {})
const ask = async (method: string, path: string, body: object): Promise<void> => {
  const answer = await fetch(new URL(path, host.http), {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
}
await ask('POST', '/api/repositories', { name: 'bench', url: folder })
await ask('POST', '/api/plugins/install', { fullId: '@bench/sender' })
await ask('POST', '/api/plugins/@bench/sender/toggle', { enabled: true })
const bare = startChild('bare-broker.ts')
const { port } = await bare.says<{ port: number }>('port')
const bareSubscriber = startChild('subscriber.ts', String(port), 'bench/#')
await bareSubscriber.says('subscribed')
const barePublisher = startChild('publisher.ts', String(port))
await barePublisher.says('ready')
const hostPort = new URL(host.mqtt).port
const subscriber = startChild('subscriber.ts', hostPort, '+/plugins/+/+/events/#')
await subscriber.says('subscribed')
const client = await connectAsync(host.mqtt)
try {
  for (let round = 1; round <= rounds; round += 1) {
    const topic = 'bench/plugins/@bench/sender/events/reading'
    const theirs = await received(bareSubscriber, () => barePublisher.send({ publish: count, topic }))
    const ours = await received(subscriber, () => client.publish('bench/go', String(count)))
    const shown = (rate: number): string => `${Math.round(rate)}/s`
    console.log(`bare broker ${shown(theirs)}, host ${shown(ours)}: ${(ours / theirs).toFixed(2)}`)
  }
} catch (error) {
  console.log(String(error))
  console.log(host.output().slice(-1500))
} finally {
  for (const child of [bare, bareSubscriber, barePublisher, subscriber]) child.end()
  client.end(true)
  await host.stop('SIGTERM')
  await rm(directory, { recursive: true, force: true })
}
