import type { Clock } from '../../../base/time/clock.ts'
import type { LifecycleFacade } from '../../../lifecycle/facade.ts'
import type { FoundHook, Lifecycle } from '../../../lifecycle/lifecycle.ts'
import { hookAnswerTime, type HookOutcome, type HookRequest } from '../../../schema/outside/hook.ts'

/** Requests from outside for a plugin of another host: they go there, and its answers come back. */
export interface FleetHooks {
  find: LifecycleFacade['findHook']
  /** What another host asks: whether there is such a handler, and what it answers. */
  answerFind(place: HookPlace): FoundThere | null
  answerTake(sent: SentHook): Promise<SentOutcome>
}

/** Namespace, short id, and the rest of the address. */
export type HookPlace = [namespace: string, shortId: string, rest: string]
/** Between hosts bytes are Base64. */
export type SentHook = [...HookPlace, request: Omit<HookRequest, 'body'> & { body: string }]

type FoundThere = Omit<FoundHook, 'take' | 'methods'> & { methods: FoundHook['methods'] | null }
type SentOutcome =
  Exclude<HookOutcome, { ok: true }> | (Omit<Extract<HookOutcome, { ok: true }>, 'body'> & { body?: string })

export function createFleetHooks(parts: {
  lifecycle: Pick<Lifecycle, 'findHook'>
  /** The other host that has the plugin; undefined: this one, or there is no such plugin. Throws `plugin_moving`. */
  hostOf(id: string): string | undefined
  ask(host: string, method: 'findHook' | 'takeHook', given: readonly unknown[]): Promise<unknown>
  clock: Pick<Clock, 'schedule'>
}): FleetHooks {
  const { lifecycle, hostOf, ask, clock } = parts

  async function takeThere(host: string, place: HookPlace, request: HookRequest): Promise<HookOutcome> {
    try {
      const sent: SentHook = [...place, { ...request, body: toText(request.body) }]
      const outcome = (await ask(host, 'takeHook', sent)) as SentOutcome
      if (!outcome.ok) return outcome
      const { body, ...rest } = outcome
      return body === undefined ? rest : { ...rest, body: fromText(body) }
    } catch {
      return { ok: false, reason: 'ended' }
    }
  }

  return {
    async find(...place) {
      const [namespace, shortId] = place
      const host = hostOf(`@${namespace}/${shortId}`)
      if (host === undefined) return lifecycle.findHook(...place)
      const found = (await ask(host, 'findHook', place)) as FoundThere | null
      if (found === null) return undefined
      return {
        ...found,
        methods: found.methods ?? undefined,
        take: (request) => takeThere(host, place, request),
      }
    },
    answerFind(place) {
      const found = lifecycle.findHook(...place)
      if (found === undefined) return null
      const { plugin, auth, methods = null } = found
      return { plugin, auth, methods }
    },
    async answerTake([namespace, shortId, rest, request]) {
      const found = lifecycle.findHook(namespace, shortId, rest)
      if (found === undefined) return { ok: false, reason: 'ended' }
      const received = { ...request, body: fromText(request.body) }
      // Nobody tells this host that the other one has given up: the plugin would have the request until it is unloaded.
      const enough = new AbortController()
      const late = clock.schedule(hookAnswerTime, () => enough.abort())
      const outcome = await found.take(received, enough.signal).finally(() => late.cancel())
      if (!outcome.ok) return outcome
      const { body, ...answer } = outcome
      return body === undefined ? answer : { ...answer, body: toText(body) }
    },
  }
}

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const fromText = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'base64'))
