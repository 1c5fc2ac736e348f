import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import mqtt from 'mqtt'
import { createMosquitto } from '../test/bus/mosquitto.ts'
import { writeFixtureRepository } from '../test/helpers/fixture-repository.ts'
import { launchHostProcess, type LaunchedProcess } from '../test/helpers/host-process.ts'
import { startNatsServer } from '../test/helpers/nats-server.ts'
import { temporaryDirectory } from '../test/helpers/temporary-directory.ts'

/**
 * What a fleet costs the plugins of one of its hosts: `npm run build && node --import tsx --test bench/fleet-hosts.ts`. The built
 * program, with and without a fleet, on the same real Mosquitto.
 */

/** An event comes back for each message; so do those that are told to wait for it. */
const echo = `
local plugin = Plugin:new("echo")
plugin:onInit(function()
  plugin:mqttSubscribe("bench/in", function(payload) plugin:emit("echo", payload) end)
end)
return plugin
`
const rounds = 6
const turns = 2_000
const manyPlugins = 100

interface Stage {
  start(id: string, inFleet: boolean, root?: string): Promise<{ host: LaunchedProcess; http: string }>
  repository: string
  broker: string
}

async function createStage(context: TestContext, plugins: { id: string; lua: string }[]): Promise<Stage> {
  const folder = await temporaryDirectory(context)
  const store = await startNatsServer(await temporaryDirectory(context))
  context.after(() => store.stop())
  const mosquitto = await createMosquitto(context)
  await mosquitto.start()
  const repository = join(folder, 'repository')
  await writeFixtureRepository(repository, plugins)
  const key = join(folder, 'key')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })
  return {
    repository,
    broker: mosquitto.url,
    async start(id, inFleet, root = id) {
      const host = launchHostProcess(join(folder, id), {
        environment: {
          ...{ HOST_MQTT_URL: mosquitto.url, HOST_SECRET_KEY_FILE: key, HOST_MQTT_ROOT: root, HOST_ID: id },
          ...(inFleet ? { HOST_FLEET: 'bench', HOST_FLEET_URL: store.url } : {}),
        },
      })
      context.after(() => host.stop('SIGTERM'))
      return { host, http: String((await host.ready).http) }
    },
  }
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
}

async function installAll(http: string, repository: string, ids: string[]): Promise<void> {
  await post(`${http}/api/repositories`, { name: 'fixtures', url: repository })
  for (const id of ids) {
    await post(`${http}/api/plugins/install`, { fullId: `@fixtures/${id}` })
    await post(`${http}/api/plugins/${id}/toggle`, { enabled: true })
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}

void test('an event of a plugin, from the message that causes it to a subscriber', async (context) => {
  const stage = await createStage(context, [{ id: 'echo', lua: echo }])
  for (const [id, inFleet] of [
    ['alone', false],
    ['member', true],
  ] as const)
    await installAll((await stage.start(id, inFleet)).http, stage.repository, ['echo'])
  const client = await mqtt.connectAsync(stage.broker)
  context.after(() => client.endAsync(true))
  let heard = (): void => undefined
  let count = 0
  client.on('message', () => {
    count += 1
    heard()
  })

  /** Microseconds of one message and its event, one after the other; and for each of a burst. */
  async function measure(root: string): Promise<{ one: number; burst: number }> {
    const topic = `${root}/plugins/@fixtures/echo/events/echo`
    await client.subscribeAsync(topic)
    const times: number[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      const begin = performance.now()
      const next = new Promise<void>((resolve) => (heard = resolve))
      client.publish('bench/in', 'x')
      await next
      times.push(performance.now() - begin)
    }
    count = 0
    const begin = performance.now()
    const all = new Promise<void>((resolve) => {
      heard = () => {
        if (count >= turns) resolve()
      }
    })
    for (let turn = 0; turn < turns; turn += 1) client.publish('bench/in', 'x')
    await all
    const burst = (performance.now() - begin) / turns
    heard = () => undefined
    await client.unsubscribeAsync(topic)
    return { one: medianOf(times) * 1_000, burst: burst * 1_000 }
  }

  const found: Record<'one' | 'burst', number[]> = { one: [], burst: [] }
  for (let round = 0; round < rounds; round += 1) {
    const [alone, member] = [await measure('alone'), await measure('member')]
    for (const kind of ['one', 'burst'] as const) found[kind].push(member[kind] / alone[kind])
    context.diagnostic(
      `alone ${Math.round(alone.one)}, ${Math.round(alone.burst)} µs; in a fleet ${Math.round(member.one)}, ${Math.round(member.burst)} µs`,
    )
  }
  for (const kind of ['one', 'burst'] as const) {
    const all = found[kind].map((ratio) => ratio.toFixed(2)).sort()
    context.diagnostic(
      `${kind}: ${medianOf(found[kind]).toFixed(2)} of a host alone (${all[0]} to ${all.at(-1)})`,
    )
  }
})

void test('a host with many plugins comes to its fleet', async (context) => {
  const ids = Array.from({ length: manyPlugins }, (_, index) => `p${index}`)
  const lua = (id: string): string => `
local plugin = Plugin:new("${id}")
plugin:onInit(function() plugin:upsertObject("state", { on = true }) end)
return plugin
`
  const stage = await createStage(
    context,
    ids.map((id) => ({ id, lua: lua(id) })),
  )
  for (const [id, inFleet] of [
    ['alone', false],
    ['member', true],
  ] as const) {
    const first = await stage.start(id, inFleet)
    await installAll(first.http, stage.repository, ids)
    await first.host.stop('SIGTERM')
    const times: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const begin = performance.now()
      const { host, http } = await stage.start(id, inFleet)
      const ready = performance.now() - begin
      for (;;) {
        const { plugins } = (await (await fetch(`${http}/api/plugins`)).json()) as {
          plugins: { state: string }[]
        }
        if (plugins.every(({ state }) => state === 'running')) break
        await wait(20)
      }
      times.push(`${Math.round(ready)} ms ready, ${Math.round(performance.now() - begin)} ms all run`)
      await host.stop('SIGTERM')
    }
    context.diagnostic(`${id}: ${times.join('; ')}`)
  }
})
