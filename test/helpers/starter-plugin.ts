import { join } from 'node:path'
import mqtt from 'mqtt'
import type { Json } from '../../src/base/text/json.ts'
import type { Point } from '../../src/schema/api/api.ts'
import type { LogEntry, Plugin } from '../../src/schema/plugin/plugin.ts'
import type { FindersSettings } from '../../src/outside/outside.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { startTestHost, type TestAnswer, type TestHost } from './test-host.ts'

/** One of the starter plugins in a real host, with an MQTT client beside it. */
export interface StarterPlugin {
  readonly host: TestHost
  /** `host/plugins/@starter/<name>` */
  readonly topic: string
  publish(topic: string, payload: string, options?: { retain?: boolean }): Promise<void>
  /** Collects what is published from now on (and what is retained). */
  listen(filter: string): Promise<Inbox>
  /** Values by id, as HTTP answers them. */
  sensors(): Promise<Record<string, unknown>>
  objects(): Promise<Record<string, Record<string, unknown>>>
  /** Messages of one level, oldest first. */
  logs(level: 'warn' | 'error'): Promise<string[]>
  setControl(id: string, value: Json): Promise<TestAnswer>
  /** Runs another plugin, `@fixtures/<id>`, beside it. */
  runBeside(id: string, lua: string): Promise<void>
  /** Ends the host and starts it again on the same state. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface Inbox {
  /** The next message that was not taken yet; waits for it. */
  next(): Promise<{ topic: string; payload: string }>
  /** The payload of the next message, as JSON. */
  nextValue(): Promise<unknown>
}

const starterRepository = join(import.meta.dirname, '..', '..', 'repository')

/** `settings` are the host's: `httpRewrite` leads a plugin's fixed address to a replacement. */
export async function startStarterPlugin(
  name: string,
  config: Record<string, Json>,
  settings: Partial<Settings> = {},
  discovery?: FindersSettings,
): Promise<StarterPlugin> {
  let host = await startTestHost({
    settings,
    ...(discovery === undefined ? {} : { discovery }),
    hostFile: { repositories: [{ name: 'starter', url: starterRepository }] },
  })
  const path = `/api/plugins/@starter/${name}`
  const clients: mqtt.MqttClient[] = []
  let client: mqtt.MqttClient

  async function connect(): Promise<mqtt.MqttClient> {
    const connected = await mqtt.connectAsync(host.mqttUrl)
    clients.push(connected)
    return connected
  }
  async function disconnect(): Promise<void> {
    await Promise.all(clients.splice(0).map((each) => each.endAsync(true)))
  }

  try {
    client = await connect()
    await expectAnswer(host, 201, 'POST', '/api/plugins/install', { fullId: `@starter/${name}` })
    await expectAnswer(host, 200, 'POST', `${path}/config`, { config })
    const { state, error } = (await expectAnswer(host, 200, 'POST', `${path}/toggle`)) as Plugin
    if (state !== 'running') throw new Error(`${name} is ${state}: ${error?.message ?? 'no reason'}`)
  } catch (error) {
    await disconnect()
    await host.close()
    throw error
  }

  return {
    get host() {
      return host
    },
    topic: `host/plugins/@starter/${name}`,
    async publish(topic, payload, options = {}) {
      await client.publishAsync(topic, payload, { qos: 1, ...options })
    },
    async listen(filter) {
      const listener = await connect()
      const inbox = createInbox(listener)
      await listener.subscribeAsync(filter)
      return inbox
    },
    async sensors() {
      const { sensors } = (await expectAnswer(host, 200, 'GET', `${path}/sensors`)) as {
        sensors: Point[]
      }
      return Object.fromEntries(sensors.map(({ id, value }) => [id, value]))
    },
    async objects() {
      type Answer = { objects: Record<string, Record<string, unknown>> }
      return ((await expectAnswer(host, 200, 'GET', `${path}/objects`)) as Answer).objects
    },
    async logs(level) {
      const { logs } = (await expectAnswer(host, 200, 'GET', `${path}/logs?level=${level}`)) as {
        logs: LogEntry[]
      }
      return logs.map(({ message }) => message)
    },
    setControl: (id, value) => host.request('PUT', `${path}/controls/${id}`, { body: { value } }),
    async runBeside(id, lua) {
      await host.publish([{ id, lua }])
      const fixtures = { name: 'fixtures', url: host.repository }
      await expectAnswer(host, 201, 'POST', '/api/repositories', fixtures)
      await expectAnswer(host, 201, 'POST', '/api/plugins/install', { fullId: `@fixtures/${id}` })
      await expectAnswer(host, 200, 'POST', `/api/plugins/@fixtures/${id}/toggle`)
    },
    async restart() {
      await disconnect()
      host = await host.restart()
      client = await connect()
    },
    async close() {
      await disconnect()
      await host.close()
    },
  }
}

async function expectAnswer(
  host: TestHost,
  status: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const answer = await host.request(method, path, body === undefined ? {} : { body })
  if (answer.status !== status) {
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
  return answer.body
}

function createInbox(client: mqtt.MqttClient): Inbox {
  const arrived: { topic: string; payload: string }[] = []
  const waiting: ((message: { topic: string; payload: string }) => void)[] = []
  client.on('message', (topic, payload) => {
    const message = { topic, payload: payload.toString() }
    const taker = waiting.shift()
    if (taker === undefined) arrived.push(message)
    else taker(message)
  })
  async function next() {
    return (
      arrived.shift() ?? new Promise<{ topic: string; payload: string }>((resolve) => waiting.push(resolve))
    )
  }
  return { next, nextValue: async () => JSON.parse((await next()).payload) as unknown }
}
