import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectAsync, type MqttClient } from 'mqtt'
import { Agent, request } from 'undici'
import { type HostProcess, startHostProcess } from '../test/helpers/host-process.ts'

/** Many MQTT and HTTP clients at once, while plugins load and unload: does anything fail, does anything grow? */

export interface LoadOptions {
  mqttClients: number
  httpClients: number
  /** How long all of them are at work. */
  seconds: number
}

export interface LoadReport {
  /** Answers that were not 200, and connections that broke; the first few. */
  errors: string[]
  requests: number
  /** Messages with QoS 1 that clients sent to each other, and how many of them came. */
  sent: number
  received: number
  /** Plugins that were loaded, and unloaded again. */
  loads: number
  /** Open files and sockets of the host before the first client and after the last one. */
  files: { before: number; after: number }
  /** Resident memory in the last third of the time, in relation to the second third; the first is for warming up. */
  memoryGrowth: number
  /** Milliseconds in which 50 and 99 of 100 clients' requests were answered; loading a plugin takes its own time. */
  p50: number
  p99: number
}

const token = 'load-bench'
const plugins = ['@starter/counter', '@starter/sun', '@starter/threshold']
const paths = ['/api/plugins', '/api/history?limit=20', '/livez', '/api/plugins/@starter/clock', '/metrics']
/** Milliseconds that a client rests between two messages or requests, as a page or a sensor does. */
const rest = 1_000
/** Connections that are made at the same time. */
const connectingAtOnce = 25
const errorsShown = 10
const samplesPerRun = 60

export async function runLoad({ mqttClients, httpClients, seconds }: LoadOptions): Promise<LoadReport> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-load-'))
  const host = await startHostProcess(directory, { environment: { HOST_TOKEN: token } })
  const agent = new Agent({ connections: httpClients, pipelining: 1 })
  const errors: string[] = []
  const times: number[] = []
  const memory: number[] = []
  const counts = { requests: 0, sent: 0, received: 0, loads: 0 }
  let over = false
  const fail = (what: string): void => {
    if (errors.length < errorsShown) errors.push(what)
  }

  async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<void> {
    const begun = performance.now()
    try {
      const answer = await request(new URL(path, host.http), {
        method,
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      })
      const text = await answer.body.text()
      if (answer.statusCode >= 300) fail(`${method} ${path} answered ${answer.statusCode} ${text}`)
    } catch (error) {
      fail(`${method} ${path}: ${String(error)}`)
    }
    if (method === 'GET') times.push(performance.now() - begun)
    counts.requests += 1
  }

  async function useHttp(number: number): Promise<void> {
    await pause(rest * (number / httpClients))
    for (let turn = number; !over; turn += 1) {
      await ask('GET', paths[turn % paths.length] ?? '/livez')
      await pause(rest)
    }
  }

  async function useMqtt(client: MqttClient, number: number): Promise<void> {
    await pause(rest * (number / mqttClients))
    while (!over) {
      const sent = client.publishAsync(`load/${(number + 1) % mqttClients}`, String(counts.sent), { qos: 1 })
      counts.sent += 1
      await sent.catch((error: unknown) => fail(`publish: ${String(error)}`))
      await pause(rest)
    }
  }

  async function usePlugins(): Promise<void> {
    for (let turn = 0; !over; turn += 1) {
      const plugin = plugins[turn % plugins.length] ?? ''
      await ask('POST', `/api/plugins/${plugin}/toggle`, { enabled: true })
      await ask('POST', `/api/plugins/${plugin}/toggle`, { enabled: false })
      counts.loads += 1
    }
  }

  async function watchMemory(): Promise<void> {
    while (!over) {
      memory.push(await residentMemory(host))
      await pause((seconds * 1_000) / samplesPerRun)
    }
  }

  const clients: MqttClient[] = []
  try {
    await ask('POST', '/api/plugins/install', { fullId: '@starter/clock' })
    await ask('POST', '/api/plugins/@starter/clock/toggle', { enabled: true })
    for (const fullId of plugins) await ask('POST', '/api/plugins/install', { fullId })
    const before = await steadyFiles(host)
    for (let first = 0; first < mqttClients; first += connectingAtOnce) {
      const numbers = Array.from(
        { length: Math.min(connectingAtOnce, mqttClients - first) },
        (_, i) => first + i,
      )
      clients.push(...(await Promise.all(numbers.map((number) => connect(host, number, counts, fail)))))
    }
    const work = [
      ...clients.map(useMqtt),
      ...Array.from({ length: httpClients }, (_, number) => useHttp(number)),
      usePlugins(),
      watchMemory(),
    ]
    await pause(seconds * 1_000)
    over = true
    await Promise.all(work)
    for (let waited = 0; counts.received < counts.sent && waited < 100; waited += 1) await pause(100)
    await Promise.all(clients.splice(0).map((client) => client.endAsync()))
    await agent.close()
    const after = await settledFiles(host, before)
    if ((await host.stop('SIGTERM')) !== 0)
      fail(`the host did not end in order: ${host.output().slice(-500)}`)
    times.sort((left, right) => left - right)
    return {
      ...{ errors, ...counts, files: { before, after }, memoryGrowth: growth(memory) },
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
    }
  } finally {
    over = true
    for (const client of clients) client.end(true)
    await agent.destroy()
    await host.stop('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  }
}

async function connect(
  host: HostProcess,
  number: number,
  counts: { received: number },
  fail: (what: string) => void,
): Promise<MqttClient> {
  const options = { username: 'load', password: token, reconnectPeriod: 0, clientId: `load-${number}` }
  const client = await connectAsync(host.mqtt, options, false)
  client.on('error', (error) => fail(`MQTT client: ${error.message}`))
  client.on('close', () => {
    if (!client.disconnecting) fail('an MQTT client was cut off')
  })
  client.on('message', () => (counts.received += 1))
  await client.subscribeAsync(`load/${number}`, { qos: 1 })
  return client
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function growth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / 3)
  const median = (part: readonly number[]): number =>
    quantile(
      part.toSorted((left, right) => left - right),
      0.5,
    )
  return median(samples.slice(-third)) / median(samples.slice(third, 2 * third))
}

/** Bytes, as Linux counts them. */
async function residentMemory({ process }: HostProcess): Promise<number> {
  const status = await readFile(`/proc/${process.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) * 1024
}

async function openFiles({ process }: HostProcess): Promise<number> {
  return (await readdir(`/proc/${process.pid}/fd`)).length
}

/** A second after the first plugin there is one worker more, which is kept ready. */
async function steadyFiles(host: HostProcess): Promise<number> {
  let count = await openFiles(host)
  for (let same = 0; same < 20; same += 1) {
    await pause(100)
    const now = await openFiles(host)
    if (now !== count) same = 0
    count = now
  }
  return count
}

/** The host closes its side of a connection a moment after the client. */
async function settledFiles(host: HostProcess, expected: number): Promise<number> {
  let count = await openFiles(host)
  for (let waited = 0; count > expected && waited < 100; waited += 1) {
    await pause(100)
    count = await openFiles(host)
  }
  return count
}
