import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { pickFrom } from '../../helpers/random.ts'
import { type Command, nextCommands } from './commands.ts'
import { type Known, landed, textOf, unique } from './known.ts'
import type { MqttRequests } from './mqtt-requests.ts'
import { type ShortId, shortIds, type World } from './world.ts'

/** What the callers of all hosts of one data directory know, and what they do not know yet. */
export interface Knowledge {
  plugins: Map<ShortId, Known[]>
  /** Repositories beside those of the plugins, as sorted JSON. */
  repositories: string[]
  /** A command over HTTP that was not answered, when it is the only thing in doubt. */
  unanswered: Map<ShortId, { command: Command; key: string; before: Known }>
  /** Uninstalled with their files. */
  purged: Set<ShortId>
  /** What the stores held for certain when their plugins were loaded last. */
  counts: Map<ShortId, number>
  acknowledged: number
}

export function createKnowledge(): Knowledge {
  return {
    plugins: new Map(shortIds.map((id) => [id, [undefined]])),
    repositories: ['{}'],
    unanswered: new Map(),
    purged: new Set(),
    counts: new Map(),
    acknowledged: 0,
  }
}

export interface Caller {
  /** Sends commands until `end`. Rejects at an answer that should not be. */
  run(): Promise<void>
  /** The host is being ended: whatever is not answered from now on may be or not be. */
  end(): void
}

interface CallerSettings {
  http: string
  mqtt: MqttRequests
  world: World
  random: () => number
  knowledge: Knowledge
  safe: boolean
  /** Makes keys that no other round uses. */
  round: string
}

interface PluginAnswer {
  enabled: boolean
  version: string
  config: Record<string, unknown>
  limits: { set: Record<string, number> }
  trial: { from: string } | null
}

/** An answer that is no success: what it means is the caller's to say. */
class Refused extends Error {
  readonly status: number
  constructor(status: number, what: string) {
    super(what)
    this.status = status
  }
}

export async function sendHttp(
  base: string,
  { method, path, body }: Pick<Command, 'method' | 'path' | 'body'>,
  key?: string,
): Promise<unknown> {
  const answer = await fetch(base + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined || method !== 'POST' ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Refused(answer.status, `${method} ${path} ${JSON.stringify(body)}: ${text}`)
  return JSON.parse(text)
}

export function createCaller(settings: CallerSettings): Caller {
  const { http, mqtt, world, random, knowledge, safe } = settings
  let ended = false
  let keys = 0

  const unsettled = (candidates: Known[]): Known[] => unique([...candidates, ...candidates.map(landed)])
  /** In safe mode, and while the host stops, an update that does not run goes back later. */
  const settled = (candidates: Known[]): Known[] =>
    safe || ended ? unsettled(candidates) : unique(candidates.map(landed))

  async function send(command: Command, key: string): Promise<unknown> {
    if (command.mqtt === undefined) return sendHttp(http, command, key)
    const answer = await mqtt.send(command.mqtt.verb, command.mqtt.body)
    if (answer.status === 'ok') return answer.data
    throw new Refused(answer.error?.status ?? 0, `${command.mqtt.verb}: ${JSON.stringify(answer.error)}`)
  }

  /** Answers whether it was carried out. */
  async function outcome(command: Command, key: string): Promise<unknown> {
    try {
      const data = await send(command, key)
      knowledge.acknowledged += 1
      return data
    } catch (error) {
      if (!(error instanceof Refused)) {
        if (ended) return undefined
        throw error
      }
      if (ended && error.status === 503) return undefined
      // Nothing is loaded in safe mode.
      if (safe && command.reloads === true && error.status === 409) return 'refused'
      throw error
    }
  }

  async function act(id: ShortId): Promise<void> {
    const before = knowledge.plugins.get(id) ?? []
    const commands = (await nextCommands(id, before, random, world)).map(({ mqtt: request, ...command }) =>
      request === undefined || random() < 0.7 ? command : { ...command, mqtt: request },
    )
    if (ended) return
    const [command] = commands
    assert.ok(command !== undefined)
    // Cut off, an update that does not run may not have gone back yet, and does not in a safe start.
    const possible = commands.reduce(
      (states, { change }) => unsettled([...states, ...states.map(change)]),
      unsettled(before),
    )
    knowledge.plugins.set(id, possible)
    knowledge.purged.delete(id)
    if (command.purges?.includes('kv') === true) knowledge.counts.delete(id)
    const numbered = commands.map((one) => ({ one, key: `${settings.round}-${id}-${(keys += 1)}` }))
    const [doubt] = before
    if (commands.length === 1 && before.length === 1 && isRepeatable(command) && !safe) {
      knowledge.unanswered.set(id, { command, key: numbered[0]?.key ?? '', before: doubt })
    }
    const answers = await Promise.all(numbered.map(({ one, key }) => outcome(one, key)))
    if (answers.includes(undefined)) return
    knowledge.unanswered.delete(id)
    const after = settled(commands.reduce((states, { change }) => states.map(change), settled(before)))
    knowledge.plugins.set(
      id,
      commands.length > 1 || command.method === 'DELETE' ? after : fitting(after, answers[0]),
    )
    if (command.purges?.includes('files') === true) knowledge.purged.add(id)
    if (command.reloads === true && answers[0] !== 'refused') await noteCount(command)
  }

  /** Those that the answer does not rule out. */
  function fitting(candidates: Known[], answer: unknown): Known[] {
    if (answer === 'refused') return candidates
    const { enabled, version, config, limits, trial } = answer as PluginAnswer
    const seen = { enabled, version, config, limits: limits.set, trial: trial?.from ?? null }
    const left = candidates.filter(
      (known) => known !== undefined && textOf({ ...known, ...seen }) === textOf(known),
    )
    const texts = candidates.map(textOf).join(' or ')
    assert.ok(left.length > 0, `answered ${JSON.stringify(seen)}, expected ${texts}`)
    return left
  }

  /** What the plugin found in its store when it began anew was on disk. */
  async function noteCount({ id, path }: Command): Promise<void> {
    try {
      const answer = await fetch(http + path.replace(/reload$/, 'objects'))
      const { objects } = (await answer.json()) as { objects: { seen?: { n: number } } }
      if (objects.seen !== undefined) knowledge.counts.set(id, objects.seen.n)
    } catch (error) {
      if (!ended) throw error
    }
  }

  async function changeRepositories(): Promise<void> {
    const [before = '{}'] = knowledge.repositories
    const name = pickFrom(random, ['first', 'second'])
    const { [name]: old, ...others } = JSON.parse(before) as Record<string, string>
    const url = pickFrom(random, world.others)
    const removes = old !== undefined && random() < 0.5
    const after = sortedJson(removes ? others : { ...others, [name]: url })
    knowledge.repositories = [before, after]
    const command = removes
      ? ({ method: 'DELETE', path: `/api/repositories/${name}` } as const)
      : ({ method: 'POST', path: '/api/repositories', body: { name, url } } as const)
    try {
      await sendHttp(http, command)
      knowledge.acknowledged += 1
      knowledge.repositories = [after]
    } catch (error) {
      if (!ended || (error instanceof Refused && error.status !== 503)) throw error
    }
  }

  async function leaveSafeMode(): Promise<void> {
    try {
      await wait(random() * 300)
      if (ended) return
      await sendHttp(http, { method: 'POST', path: '/api/system/safe-mode', body: { enabled: false } })
      knowledge.acknowledged += 1
    } catch (error) {
      if (!ended || (error instanceof Refused && error.status !== 503)) throw error
    }
  }

  const untilEnd = async (task: () => Promise<void>): Promise<void> => {
    while (!ended) await task()
  }

  return {
    async run() {
      const all = [...shortIds.map((id) => untilEnd(() => act(id))), untilEnd(changeRepositories)]
      await Promise.all([...all, ...(safe ? [leaveSafeMode()] : [])])
    },
    end() {
      ended = true
    },
  }
}

/** Whether it is sent with an `Idempotency-Key`. */
function isRepeatable({ method, mqtt }: Command): boolean {
  return method === 'POST' && mqtt === undefined
}

export function sortedJson(value: Record<string, string>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort()))
}
