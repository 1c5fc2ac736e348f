import { createServer, type Server } from 'node:http'
import type { TestContext } from 'node:test'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { problemDocument } from '../../src/base/problem.ts'
import { type LogFields, type Logger, silentLogger, writtenFields } from '../../src/base/log/log.ts'
import type { Bus, BusMessage } from '../../src/bus/bus.ts'
import { refuseConnection } from '../../src/http/answers/problem-answer.ts'
import { createEmbeddedBus, type EmbeddedBusSettings } from '../../src/bus/embedded/embedded-bus.ts'
import { createExternalBus, type ExternalBusSettings } from '../../src/bus/external/external-bus.ts'
import { listen } from '../helpers/listen.ts'

/** A bus on a free port with the root `host`, closed after the test. */
export async function startBus(context: TestContext, settings: Partial<EmbeddedBusSettings> = {}) {
  const bus = createEmbeddedBus({
    bind: '127.0.0.1',
    port: 0,
    root: 'host',
    logger: silentLogger,
    clock: systemClock,
    ...settings,
  })
  context.after(() => bus.close())
  await bus.start()
  return bus
}

/** The host as a client of another broker, with the root `host`; closed after the test. */
export async function startExternalBus(
  context: TestContext,
  url: string,
  settings: Partial<ExternalBusSettings> = {},
) {
  const bus = createExternalBus({ url, root: 'host', logger: silentLogger, clock: systemClock, ...settings })
  context.after(() => bus.close())
  await bus.start()
  return bus
}

/** A clock whose waits of just so many milliseconds are over when the test says so: `late` has what is called then. */
export function lateClock(delay: number) {
  const late = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds !== delay) return systemClock.schedule(milliseconds, callback)
      late.add(callback)
      return { cancel: () => void late.delete(callback) }
    },
  }
  return { clock, late }
}

/** A connected client, ended after the test. It does not reconnect: a cut-off must be seen. */
export async function connect(
  context: TestContext,
  url: string,
  options: IClientOptions = {},
): Promise<MqttClient> {
  const client = await mqtt.connectAsync(url, { reconnectPeriod: 0, ...options }, false)
  client.on('error', () => undefined)
  context.after(() => client.endAsync(true))
  return client
}

export interface Received {
  topic: string
  text: string
  qos: number
  retain: boolean
}

/** Collects what arrives, and waits for it. */
export interface Collector<T> {
  readonly all: T[]
  /** The first `count` items, when there are so many. */
  take(count: number): Promise<T[]>
}

function createCollector<T>(): Collector<T> & { push(item: T): void } {
  const all: T[] = []
  const waiting = new Set<{ count: number; resolve: (items: T[]) => void }>()
  return {
    all,
    push(item) {
      all.push(item)
      for (const each of waiting) {
        if (all.length < each.count) continue
        waiting.delete(each)
        each.resolve(all.slice(0, each.count))
      }
    },
    take: (count) =>
      all.length >= count
        ? Promise.resolve(all.slice(0, count))
        : new Promise((resolve) => void waiting.add({ count, resolve })),
  }
}

/** All that a client receives from now on. */
export function collect(client: MqttClient): Collector<Received> {
  const collector = createCollector<Received>()
  client.on('message', (topic, payload, packet) =>
    collector.push({ topic, text: payload.toString(), qos: packet.qos, retain: packet.retain }),
  )
  return collector
}

/**
 * A client that hears from its first packet on. What has waited for its session comes right behind the broker's
 * answer: whoever listens only when it is connected may be too late.
 */
export function connectListening(context: TestContext, url: string, options: IClientOptions = {}) {
  const client = mqtt.connect(url, { reconnectPeriod: 0, ...options })
  client.on('error', () => undefined)
  context.after(() => client.endAsync(true))
  return { client, received: collect(client) }
}

/** All that the host receives by a subscription of its own. */
export async function collectFromBus(bus: Bus, filter: string) {
  const collector = createCollector<BusMessage>()
  const subscription = await bus.subscribe(filter, collector.push)
  return { ...collector, all: collector.all, subscription }
}

/** `topic text` of each, for one deep comparison. */
export const lines = (received: readonly Received[]): string[] =>
  received.map(({ topic, text }) => `${topic} ${text}`)

export function textOf(message: BusMessage): string {
  return `${message.topic} ${Buffer.from(message.payload).toString()}`
}

/** An HTTP server that hands every upgrade to the bus, as the host's does below `/mqtt`. */
export async function startUpgradeServer(
  context: TestContext,
  bus: Pick<Bus, 'handleUpgrade'>,
): Promise<string> {
  const server: Server = createServer()
  server.on('upgrade', (request, socket, head) => {
    try {
      bus.handleUpgrade(request, socket, head)
    } catch (error) {
      refuseConnection(socket, problemDocument(error, request.url), systemClock)
    }
  })
  const port = await listen(server)
  context.after(() => new Promise((resolve) => server.close(resolve)))
  return `ws://127.0.0.1:${port}/mqtt`
}

export type Way = 'TCP' | 'WebSocket'
export const ways: readonly Way[] = ['TCP', 'WebSocket']

/** A bus, and where clients reach it in either way. */
export async function startBothWays(context: TestContext, settings: Partial<EmbeddedBusSettings> = {}) {
  const bus = await startBus(context, settings)
  const urls: Record<Way, string> = { TCP: bus.url, WebSocket: await startUpgradeServer(context, bus) }
  return { bus, urls }
}

export interface LoggedLine {
  level: string
  message: string
  fields: LogFields | undefined
}

export function createRecordingLogger(): Logger & { lines: LoggedLine[] } {
  const recorded: LoggedLine[] = []
  const write = (level: string) => (message: string, fields?: LogFields) =>
    void recorded.push({ level, message, fields: fields && writtenFields(fields) })
  return {
    lines: recorded,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}
