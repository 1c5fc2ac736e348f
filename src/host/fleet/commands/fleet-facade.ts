import type { Clock } from '../../../base/time/clock.ts'
import { waitAtMost } from '../../../base/time/wait.ts'
import { Problem } from '../../../base/problem.ts'
import { candidatesOf } from '../../../fleet/leases/views.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { isInstalled, pluginIn } from '../../../journal/fold/evolve.ts'
import type { RunningLifecycle } from '../../../lifecycle/create-lifecycle.ts'
import type { Fleet, LifecycleFacade } from '../../../lifecycle/facade.ts'
import { ElsewhereError } from '../../../lifecycle/ownership.ts'
import type { SharedRequests } from '../../../http/requests/shared-requests.ts'
import { joinSuggestions } from '../../../lifecycle/queries/suggestions.ts'
import type { SuggestionKind } from '../../../schema/manifest/field-definition.ts'
import type { Plugin } from '../../../schema/plugin/plugin.ts'
import type { Suggestion } from '../../../schema/manifest/suggestion.ts'
import { createCatchUp } from './catch-up.ts'
import { commands, mayBeLeftOut, questions } from './asked-methods.ts'
import { createFleetInstalling } from './fleet-installing.ts'
import { createFleetHooks, type HookPlace, type SentHook } from './fleet-hooks.ts'
import { createFleetLogs, timeQuestion } from './fleet-logs.ts'
import type { FleetMember } from '../membership/fleet-member.ts'
import { moveWait, moving, storeAway, withoutHolder } from './fleet-problems.ts'
import type { HostCalls } from '../messages/host-calls.ts'
import { createFleetPlacing, labelsOf } from '../placement/placing.ts'
import { reachEvent } from '../messages/reach-event.ts'
import { createFleetRequests } from './shared-requests.ts'
import { createWhileMoving } from './while-moving.ts'

/**
 * Any host answers for all: commands and questions about a plugin reach the host that has it. What the journal knows is answered
 * here.
 */
export interface FleetFacade {
  lifecycle: LifecycleFacade
  place: Fleet['place']
  requests: SharedRequests
  /** Other hosts that live, and what time it is there. */
  others(): string[]
  askTime(host: string): Promise<unknown>
  /** Answers what another host asks of this one. */
  answer(method: string, given: readonly unknown[]): Promise<unknown>
}

export interface FleetFacadeSettings {
  lifecycle: RunningLifecycle
  member: FleetMember
  journal: FleetJournal
  calls: () => HostCalls
  clock: Clock
  subscribe: LifecycleFacade['subscribe']
}

/** Milliseconds for a question, and for a command: a plugin may take its time to load. */
const questionTimeout = 3_000
const commandTimeout = 300_000
/** Milliseconds for what is asked about a request from outside. */
const hookTimeouts = { findHook: questionTimeout, takeHook: 60_000 } as const

/** Of a question that another host does not answer: what is known here is better than nothing. */
const goesWithout: ReadonlySet<string> = new Set(['fleet_unreachable', 'plugin_moving'])

type Forwarded = (id: string, ...rest: unknown[]) => unknown

export function createFleetFacade(settings: FleetFacadeSettings): FleetFacade {
  const { lifecycle, member, journal, clock } = settings
  const { ownership, keeper } = member
  /** What is asked of this host, by the name of the method; each takes the id of the plugin first. */
  const own = lifecycle as unknown as Record<string, Forwarded>
  const perform = (method: string, given: readonly unknown[]): unknown =>
    own[method]?.call(lifecycle, ...(given as [string, ...unknown[]]))

  const installed = (id: string): boolean => isInstalled(pluginIn(journal.live, id))
  const isOn = (id: string): boolean => installed(id) && pluginIn(journal.live, id).context.enabled

  /** The host that has a plugin, if need be after it has moved. Throws `plugin_moving`, `no_other_host`, `fleet_unreachable`. */
  async function holderSoon(id: string): Promise<string> {
    const deadline = clock.monotonic() + moveWait
    for (;;) {
      if (!keeper.maySpeak()) throw storeAway()
      const holder = member.holderOf(id)
      if (holder !== undefined) return holder.host
      if (clock.monotonic() >= deadline) throw withoutHolder(id, ownership.whereabouts(id))
      await changeUntil(deadline)
    }
  }

  /** Resolves when something is known to have changed about hosts and leases, or at that time of the monotonic clock. */
  async function changeUntil(deadline: number): Promise<void> {
    let stop = (): void => undefined
    const changed = new Promise<void>((resolve) => (stop = member.onChange(resolve)))
    await waitAtMost(clock, Math.max(1, deadline - clock.monotonic()), changed)
    stop()
  }

  const whileMoving = createWhileMoving({ clock, ownership, changeUntil })

  async function ask(
    host: string,
    method: string,
    given: readonly unknown[],
    timeout: number,
  ): Promise<unknown> {
    if (!keeper.maySpeak()) throw storeAway()
    const [id] = given
    // A host whose session has ended was away: what was asked before may never have reached it.
    const session = keeper.state.hosts.get(host)?.record?.session
    const answer = await settings.calls().call(host, method, given, {
      timeout,
      // Without a session of its own, this host has not heard of the store for long, nor of any answer.
      stillAsked: () =>
        keeper.maySpeak() &&
        (typeof id !== 'string' || keeper.state.hosts.get(host)?.record?.session === session),
    })
    const { seq, value } = answer as { seq: number; value: unknown }
    await reachEvent(journal, clock, seq)
    return value
  }

  async function command(method: string, id: string, ...rest: unknown[]): Promise<unknown> {
    let host = member.id
    const attempt = async (): Promise<unknown> => {
      // That nobody has it is no refusal of a host.
      host = member.id
      if (!ownership.owns(id) && installed(id)) host = await holderSoon(id)
      if (host === member.id) return perform(method, [id, ...rest])
      return ask(host, method, [id, ...rest], commandTimeout)
    }
    return whileMoving(id, attempt, (error) =>
      // It does not have it any more, or not yet, and has done nothing. What this host has begun is not begun again.
      host === member.id
        ? error instanceof ElsewhereError
        : error instanceof Problem && error.code === 'plugin_moving',
    )
  }

  async function question(method: string, id: string, ...rest: unknown[]): Promise<unknown> {
    const holder = ownership.owns(id) ? undefined : member.holderOf(id)
    if (holder === undefined || holder.host === member.id || !keeper.maySpeak())
      return perform(method, [id, ...rest])
    try {
      return await ask(holder.host, method, [id, ...rest], questionTimeout)
    } catch (error) {
      if (error instanceof Problem && goesWithout.has(error.code)) return perform(method, [id, ...rest])
      throw error
    }
  }

  /** Ids of all others that live; without the store nobody is asked. */
  function others(): string[] {
    if (!keeper.maySpeak()) return []
    const ids = candidatesOf(keeper.state, member.elapsed()).map(({ id }) => id)
    return ids.filter((id) => id !== member.id)
  }

  /** What all others that live answer. Who does not answer has told of nothing. */
  async function askOthers<T>(method: string, given: readonly unknown[]): Promise<T[][]> {
    const answers = await Promise.all(
      others().map((id) => ask(id, method, given, questionTimeout).catch(() => [])),
    )
    return answers as T[][]
  }

  /** Each host tells of its own plugins. */
  async function list(): Promise<Plugin[]> {
    const answers = await askOthers<Plugin>('ownPlugins', [])
    const told = new Map(answers.flat().map((plugin) => [plugin.id, plugin]))
    return lifecycle
      .list()
      .map((plugin) => (ownership.owns(plugin.id) ? plugin : (told.get(plugin.id) ?? plugin)))
  }

  const suggestions: LifecycleFacade['suggestions'] = async (kind) =>
    joinSuggestions([
      await lifecycle.suggestions(kind),
      ...(await askOthers<Suggestion>('suggestions', [kind])),
    ])

  const logs = createFleetLogs({
    own: lifecycle.logs,
    clock,
    others,
    ask: (host, method, given) => ask(host, method, given, questionTimeout),
  })

  const hooks = createFleetHooks({
    ...{ lifecycle, clock },
    ask: (host, method, given) => ask(host, method, given, hookTimeouts[method]),
    hostOf(id) {
      const host = ownership.owns(id) ? member.id : member.holderOf(id)?.host
      // Whoever calls from outside is not kept waiting for it.
      if (host === undefined && isOn(id)) throw moving(id)
      return host === member.id ? undefined : host
    },
  })

  const { requests, answer: answerKnown } = createFleetRequests({
    ...{ host: member.id, others },
    ask: (host, given, waits) => ask(host, 'knownRequest', given, waits ? commandTimeout : questionTimeout),
  })

  async function answerOwn(method: string, given: readonly unknown[]): Promise<unknown> {
    if (method === 'ownPlugins') return lifecycle.list().filter(({ id }) => ownership.owns(id))
    if (method === 'suggestions') return lifecycle.suggestions(given[0] as SuggestionKind)
    if (method === 'logs') return lifecycle.logs(...(given as Parameters<RunningLifecycle['logs']>))
    if (method === 'finishLeft') return lifecycle.finishLeft(given[0] as string)
    if (method === timeQuestion) return clock.now()
    if (method === 'knownRequest') return answerKnown(given)
    if (method === 'findHook') return hooks.answerFind(given as HookPlace)
    if (method === 'takeHook') return hooks.answerTake(given as SentHook)
    const known: readonly string[] = [...questions, ...commands]
    if (!known.includes(method))
      throw new Problem('not_found', `This host does not know the question ${method}.`)
    // What JSON has no word for was left out by whoever asks.
    return perform(
      method,
      given.map((value, index) => (value === null && mayBeLeftOut(method, index) ? undefined : value)),
    )
  }

  const forwarding = Object.fromEntries([
    ...questions.map((method) => [method, (id: string, ...rest: unknown[]) => question(method, id, ...rest)]),
    ...commands.map((method) => [method, (id: string, ...rest: unknown[]) => command(method, id, ...rest)]),
  ]) as unknown as Pick<LifecycleFacade & Fleet, (typeof questions)[number] | (typeof commands)[number]>

  /** Asked where it will be updated, as what was shown is remembered there. A host of an older version does not know that. */
  const checkUpdate: LifecycleFacade['checkUpdate'] = (...given) =>
    forwarding.checkUpdate(...given).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'not_found') return lifecycle.checkUpdate(...given)
      throw error
    })

  /** What is left of a request is done by the host that has the plugin, if that is of a version that can be asked. */
  const recallRequest: LifecycleFacade['recallRequest'] = (requestKey) => {
    const known = lifecycle.recallRequest(requestKey)
    if (known === undefined) return undefined
    const finish = async (): Promise<void> => {
      await question('finishLeft', known.plugin).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== 'not_found') throw error
      })
    }
    return { ...known, finish }
  }

  const install = createFleetInstalling({
    ...{ lifecycle, journal, holderSoon, whileMoving },
    maySpeak: keeper.maySpeak,
  })

  const { place: placeThere, ...forwarded } = forwarding
  return {
    requests,
    others,
    askTime: (host) => ask(host, timeQuestion, [], questionTimeout),
    place: createFleetPlacing({
      plugins: () => lifecycle.list(),
      labels: () => labelsOf(journal.live),
      hasNone: (id) => member.holderOf(id) === undefined && keeper.maySpeak(),
      isHere: ownership.owns,
      place: (...given) => lifecycle.place(...given),
      placeThere,
    }),
    lifecycle: Object.create(
      lifecycle,
      Object.fromEntries(
        Object.entries({
          ...forwarded,
          checkUpdate,
          recallRequest,
          catchUp: createCatchUp({ journal, clock, maySpeak: keeper.maySpeak }),
          install,
          list,
          suggestions,
          findHook: hooks.find,
          logs,
          subscribe: settings.subscribe,
        }).map(([name, value]) => [name, { value }]),
      ),
    ) as LifecycleFacade,
    async answer(method, given) {
      const [id] = given
      if (typeof id === 'string' && (commands as readonly string[]).includes(method) && !ownership.owns(id))
        throw new ElsewhereError(id)
      const value = await answerOwn(method, given)
      return { seq: journal.live.seq, value }
    },
  }
}
