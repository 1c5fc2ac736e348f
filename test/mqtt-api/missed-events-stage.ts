import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { JournalEventView } from '../../src/schema/journal/journal-event.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { collect, connect, createRecordingLogger } from '../bus/bus-fixture.ts'
import { startMosquitto } from '../bus/mosquitto.ts'
import { endLatestFirst } from '../helpers/end-latest-first.ts'
import { createTcpProxy } from '../helpers/tcp-proxy.ts'
import { openTestHost, startTestHost, type TestHost, type TestHostOptions } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** A Mosquitto, a way to it that can be cut, hosts on one data directory, and a witness who hears all that the broker is told. */
export async function createMissedEventsStage(context: TestContext, lines?: string[]) {
  const mosquitto = await startMosquitto(context, lines)
  const way = await createTcpProxy(context, mosquitto.url)
  const mqttUrl = `mqtt://127.0.0.1:${way.port}`
  const logger = createRecordingLogger()
  const witness = await connect(context, mosquitto.url)
  const received = collect(witness)
  await witness.subscribeAsync('+/lifecycle', { qos: 1 })
  let first: TestHost | undefined

  async function start(settings: Partial<Settings> = {}, more: TestHostOptions = {}): Promise<TestHost> {
    const options = { ...more, logger, settings: { mqttUrl, ...settings } }
    if (first !== undefined) {
      const host = await openTestHost(first.directory, first.repository, options)
      endLatestFirst(context, () => host.host.close())
      return host
    }
    const host = await startTestHost(options)
    first = host
    endLatestFirst(context, () => host.close())
    return host
  }

  const path = (): string => join(first?.directory ?? '', '.host.lifecycle')
  const events = (root = 'host'): JournalEventView[] =>
    received.all.filter(({ topic }) => topic === `${root}/lifecycle`).map(({ text }) => JSON.parse(text))
  const numbers = (root?: string): number[] => events(root).map(({ seq }) => seq)

  /** What the file says, and who may read it. */
  async function cursor() {
    return { ...JSON.parse(await readFile(path(), 'utf8')), mode: (await stat(path())).mode & 0o777 }
  }

  /** When all that a host has written down until now has come, and the host knows. */
  async function allToldBy({ host }: TestHost): Promise<void> {
    await until('the last event', async () => (await cursor()).seq === host.lifecycle.lastSeq)
  }

  /** Stops a host whose broker is there, and waits for the last that it says. Answers the number of its last event. */
  async function stop({ host }: TestHost, root?: string): Promise<number> {
    await host.close()
    const { lastSeq } = host.lifecycle
    await until('the end of the host', async () => numbers(root).at(-1) === lastSeq)
    return lastSeq
  }

  return {
    ...{ mqttUrl, way, logger, received, start, events, numbers, cursor, allToldBy, stop, path },
    messages: (level: string): string[] =>
      logger.lines.filter((line) => line.level === level).map(({ message }) => message),
  }
}

export const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** The way is cut, and the host knows. */
export async function cut({ way }: { way: { refuse(): void } }, { request }: TestHost): Promise<void> {
  way.refuse()
  await until('the end of the connection', async () => {
    const { body } = await request('GET', '/readyz')
    return String(body.reasons).includes('the broker is not connected')
  })
}

/** So many facts that change nothing. */
export async function recordMany({ host }: TestHost, count: number): Promise<void> {
  const { lastSeq } = host.lifecycle
  await Promise.all(
    upTo(count).map((nth) => {
      const data = { namespace: `n${lastSeq + nth}`, repository: 'fixtures' }
      return host.lifecycle.record([{ type: 'NamespaceClaimed', plugin: null, data }], 'startup')
    }),
  )
}
