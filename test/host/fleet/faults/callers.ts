import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import mqtt from 'mqtt'

/**
 * Clients of a fleet that keep commands going whatever happens to its hosts, one after another each: what is not answered is
 * sent again, with the same key or transaction, until it is.
 */
export interface Callers {
  /** Marks of the configurations that were acknowledged, by plugin. */
  readonly configured: ReadonlyMap<string, string[]>
  /** How often each plugin was flipped, as far as that was acknowledged. */
  readonly flipped: ReadonlyMap<string, number>
  readonly acknowledged: number
  /** Commands that were sent more than once. */
  readonly repeated: number
  /** Answers that nobody should get. */
  readonly surprises: string[]
  /** Nothing new is begun. Resolves when everything under way is acknowledged. */
  finish(): Promise<void>
  /** Whatever is under way is given up. */
  close(): Promise<void>
}

export interface CallersSettings {
  /** Base addresses of the hosts that live now. */
  hosts: () => string[]
  broker: string
  /** Which plugins are configured over HTTP and over MQTT, and which are flipped; one caller each. */
  plugins: { http: readonly string[]; mqtt: readonly string[]; flipped: readonly string[] }
}

/** Milliseconds between two commands of a caller, and between two tries. */
const pace = 50
/** Milliseconds after which an answer is not waited for any more. */
const patience = 8_000
/** Answers after which the same is to be sent again. */
const passing: ReadonlySet<string> = new Set(['plugin_moving', 'fleet_unreachable', 'shutting_down'])

interface Answer {
  ok: boolean
  code?: string | undefined
  detail?: string | undefined
}

export async function startCallers(settings: CallersSettings): Promise<Callers> {
  const { hosts, broker, plugins } = settings
  const client = await mqtt.connectAsync(broker, { reconnectPeriod: 100 }, false)
  client.on('error', () => undefined)
  await client.subscribeAsync('host/response/config', { qos: 1 })
  const waiting = new Map<string, (answer: Answer) => void>()
  client.on('message', (_topic, payload) => {
    const { status, error = {}, transaction } = JSON.parse(payload.toString())
    waiting.get(transaction)?.({ ok: status === 'ok', code: error.code, detail: error.detail })
  })
  const configured = new Map<string, string[]>()
  const flipped = new Map<string, number>()
  const surprises: string[] = []
  let acknowledged = 0
  let repeated = 0
  let isFinishing = false
  let isClosed = false
  let turn = 0

  async function overHttp(path: string, body: unknown, key: string): Promise<Answer> {
    const all = hosts()
    turn += 1
    try {
      const answer = await fetch(`${all[turn % all.length]}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(patience),
      })
      const { code, detail } = (await answer.json()) as Answer
      return answer.ok ? { ok: true } : { ok: false, code, detail }
    } catch {
      return { ok: false, code: 'fleet_unreachable' }
    }
  }

  function overMqtt(body: object, transaction: string): Promise<Answer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ ok: false, code: 'fleet_unreachable' }), patience)
      waiting.set(transaction, (answer) => {
        clearTimeout(timer)
        waiting.delete(transaction)
        resolve(answer)
      })
      client.publish('host/request/config', JSON.stringify({ ...body, transaction }), { qos: 1 })
    })
  }

  /** Sends it until it is acknowledged. */
  async function insist(what: string, send: (key: string) => Promise<Answer>): Promise<void> {
    const key = randomUUID()
    for (let tries = 1; !isClosed; tries += 1) {
      const { ok, code = '', detail } = await send(key)
      if (tries === 2) repeated += 1
      if (ok) {
        acknowledged += 1
        return
      }
      if (!passing.has(code)) surprises.push(`${what}: ${code} ${detail}`)
      await wait(pace)
    }
  }

  async function keepOn(task: () => Promise<void>): Promise<void> {
    while (!isFinishing) {
      await task()
      await wait(pace)
    }
  }

  const path = (plugin: string, verb: string): string => `/api/plugins/${encodeURIComponent(plugin)}/${verb}`
  async function configure(plugin: string, way: 'http' | 'mqtt'): Promise<void> {
    const marks = configured.get(plugin) ?? []
    configured.set(plugin, marks)
    const config = { mark: randomUUID() }
    await insist(`configure ${plugin} over ${way}`, (key) =>
      way === 'http' ? overHttp(path(plugin, 'config'), { config }, key) : overMqtt({ plugin, config }, key),
    )
    marks.push(config.mark)
  }
  async function flip(plugin: string): Promise<void> {
    await insist(`flip ${plugin}`, (key) => overHttp(path(plugin, 'toggle'), {}, key))
    flipped.set(plugin, (flipped.get(plugin) ?? 0) + 1)
  }

  const running = Promise.all([
    ...plugins.http.map((plugin) => keepOn(() => configure(plugin, 'http'))),
    ...plugins.mqtt.map((plugin) => keepOn(() => configure(plugin, 'mqtt'))),
    ...plugins.flipped.map((plugin) => keepOn(() => flip(plugin))),
  ])
  return {
    ...{ configured, flipped, surprises },
    get acknowledged() {
      return acknowledged
    },
    get repeated() {
      return repeated
    },
    async finish() {
      isFinishing = true
      await running
    },
    async close() {
      isClosed = true
      isFinishing = true
      await client.endAsync(true)
    },
  }
}

interface HistoryEvent {
  seq: number
  id: string
  type: string
  plugin: string | null
  by: string
  data: { config?: { mark?: string } }
}

/** All that a host says that has happened. */
export async function readHistory(host: string): Promise<HistoryEvent[]> {
  const found: HistoryEvent[] = []
  for (;;) {
    const answer = await fetch(`${host}/api/history?after=${found.at(-1)?.seq ?? 0}&limit=1000`)
    const { events } = (await answer.json()) as { events: HistoryEvent[] }
    if (events.length === 0) return found
    found.push(...events)
  }
}

/** Each acknowledged command is in the history once. */
export function requireOnce(
  history: readonly HistoryEvent[],
  { configured, flipped }: Pick<Callers, 'configured' | 'flipped'>,
): void {
  const times = new Map<string, number>()
  for (const { data } of history) {
    const { mark } = data.config ?? {}
    if (mark !== undefined) times.set(mark, (times.get(mark) ?? 0) + 1)
  }
  const marks = [...configured.values()].flat()
  assert.deepEqual(
    marks.filter((mark) => times.get(mark) !== 1).map((mark) => [mark, times.get(mark) ?? 0]),
    [],
    'configurations that are not in the history once',
  )
  for (const [plugin, count] of flipped) {
    const switched = history.filter(
      (event) =>
        event.plugin === plugin && (event.type === 'PluginEnabled' || event.type === 'PluginDisabled'),
    )
    assert.equal(switched.length, count, `${plugin} was flipped ${count} times`)
  }
}
