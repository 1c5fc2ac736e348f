import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { ElapsedTime } from '../../base/time/elapsed-time.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import type { StoreAddress } from '../store/connect-store.ts'
import { StoreRefusedError } from '../store/store-errors.ts'
import { createLeaseStore } from './lease-store.ts'
import type { Placement } from './placement.ts'
import type { ProcessName } from './process-name.ts'
import {
  endOfSession,
  type HostDescription,
  initialLeaseState,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  mayAct,
} from './state.ts'
import { logOtherHost, logOver, logRenewed, logWaiting } from './session-log.ts'
import { isNews, restsUntil } from './rest.ts'
import { leaseStep } from './step.ts'
import type { LeaseTiming } from './timing.ts'

/** Keeps this host's session and leases: does what the protocol wants done, and tells it what comes of that. */
export interface LeaseKeeper {
  /**
   * Resolves when what is in the store has been seen. Rejects with one line when the store is not there, or not fit;
   * `patiently` does it again for as long as it is not there.
   */
  open(patiently?: (task: () => Promise<void>) => Promise<void>): Promise<void>
  /** What is to run, and what is known of hosts; from the journal. */
  want(wanted: ReadonlyMap<string, Placement>): void
  describe(descriptions: ReadonlyMap<string, HostDescription>): void
  /** Which hosts have no connection to the broker, as far as it is known here; this one may be among them. */
  seeBrokers(withoutBroker: ReadonlySet<string>): void
  /** Whether this host's disk refuses what it would have to write down of a plugin that it takes. */
  seeDisk(isFull: boolean): void
  /** Somebody wants the plugin to run elsewhere. Nothing happens when it does not run here. */
  giveBack(plugin: string): void
  /** To be asked before each act of a plugin, on the connection that it goes over. */
  mayAct(plugin: string, epoch: number): boolean
  /** The same for what the host does in its own name. */
  maySpeak(): boolean
  /** What is known of sessions and leases, for whoever shows it. */
  readonly state: LeaseState
  /** Stops all plugins, ends the session, and closes. */
  close(): Promise<void>
}

/** What a keeper has done. Calls come in the order in which they are to be done. */
export interface LeaseKeeperActions {
  sessionBegan(session: string): void
  /** Nothing is sent, written or cleared any more. All plugins were killed before. */
  sessionOver(session: string): void
  start(plugin: string, epoch: number): void
  /**
   * Unloads the plugin, which has `left` milliseconds for that. Resolves when nothing of it is left, and nothing waits to
   * be sent.
   */
  stop(plugin: string, epoch: number, left: number): Promise<void>
  /** Ends it now. There may be nothing of it any more. */
  kill(plugin: string, epoch: number): void
  /** Resolves when the broker has taken the client id of that session over; it may reject, or never settle. */
  fence(host: string, session: string): Promise<void>
  /** Resolves when the broker has answered something that was sent after everything else. */
  flush(): Promise<void>
  /**
   * All plugins are stopped, and the session ends when this settles, or has lasted as long as it may: for what is to be said
   * before. Nothing is renewed meanwhile.
   */
  ending?(): Promise<void>
  /** Sessions or leases are known to have changed. */
  changed?(): void
  /** This host has to end: another live one has its name, or the store is another one. Nothing runs here any more. */
  failed(error: Error): void
}

export interface LeaseKeeperSettings {
  address: StoreAddress
  fleet: string
  host: string
  name: ProcessName
  clock: Clock
  elapsed: ElapsedTime
  logger: Logger
  actions: LeaseKeeperActions
  timing?: LeaseTiming
}

/** Milliseconds between two ticks while something is under way; the end of the session is looked for at its very moment. */
const tickEvery = 200
/** Milliseconds at the end for an answer of the store. */
const closingTimeout = 1_000
/** Milliseconds after which a fence that has not come to anything is begun anew. */
const fencePatience = 3_000

export function createLeaseKeeper(settings: LeaseKeeperSettings): LeaseKeeper {
  const { host, clock, elapsed, logger, actions, timing } = settings
  let state = initialLeaseState({ host, ...settings.name, ...(timing === undefined ? {} : { timing }) })
  let timer: ScheduledCall | undefined
  /** When time brings something, which the next tick is for. Undefined: something is under way. */
  let rest: number | undefined
  let closing: Promise<void> | undefined
  /** Nothing is done any more. */
  let isDone = false
  let withdrawn = (): void => undefined
  let farewell: ScheduledCall | undefined
  let ending: 'asked' | 'said' | undefined
  /** Plugins for which the broker is being asked. */
  const flushing = new Set<string>()
  /** Fences under way, by name, and when they began. */
  const fences = new Map<string, number>()
  const store = createLeaseStore({
    ...settings,
    hostSeen: (id, record, revision) => dispatch({ type: 'hostSeen', host: id, record, revision }),
    leaseSeen: (plugin, record, revision) => dispatch({ type: 'leaseSeen', plugin, record, revision }),
    failed: fail,
  })

  function dispatch(event: LeaseEvent): void {
    if (isDone) return
    const before = state
    const { hosts, leases } = before
    const now = elapsed()
    const [next, effects] = leaseStep(state, event, now)
    state = next
    for (const effect of effects) perform(effect, before)
    logWaiting(logger, before, next, now)
    if (event.type === 'hostSeen') {
      logOtherHost(logger, before, next, event.host)
      logRenewed(logger, before, next, now)
    }
    if (hosts !== next.hosts || leases !== next.leases) actions.changed?.()
    if (state.isLeaving && state.own === null) withdrawn()
    // Timers stand still while the machine sleeps.
    if (rest !== undefined && (now >= rest || isNews(before, event)))
      tickAfter(Math.min(tickEvery, rest - now))
  }

  function perform(effect: LeaseEffect, before: LeaseState): void {
    switch (effect.type) {
      case 'writeHost':
        if (effect.host === host && effect.record === null) withdraw(effect.expected)
        else store.writeHost(effect.host, effect.record, effect.expected)
        return
      case 'writeLease':
        return void store.writeLease(effect.plugin, effect.record, effect.expected)
      case 'start':
        return void actions.start(effect.plugin, effect.epoch)
      case 'kill':
        return void actions.kill(effect.plugin, effect.epoch)
      case 'sessionBegan':
        logger.info('The session of this host has begun', { session: effect.session })
        return void actions.sessionBegan(effect.session)
      case 'sessionOver':
        logOver(logger, before, effect.session, elapsed())
        return void actions.sessionOver(effect.session)
      case 'stop': {
        const { plugin, epoch, until } = effect
        const stopped = actions.stop(plugin, epoch, Math.max(0, until - elapsed()))
        return void whenDone(stopped, { type: 'stopped', plugin, epoch })
      }
      case 'flush':
        flush(effect.plugin, effect.epoch)
        return
      case 'fence':
        return void fence(effect.host, effect.session, effect.fence)
      case 'refuse':
        return void fail(
          new StoreRefusedError(
            `Another live host of the fleet ${settings.fleet} is called ${host} (session ${effect.rival}); give this one ` +
              'another HOST_ID, or stop the other.',
          ),
        )
    }
  }

  /** Takes the own record away. Asked for again until it is gone. */
  function withdraw(expected: number): void {
    if (ending === 'said') {
      farewell ??= clock.schedule(closingTimeout, withdrawn)
      store.writeHost(host, null, expected)
      return
    }
    if (ending === 'asked') return
    ending = 'asked'
    const said = (actions.ending?.() ?? Promise.resolve()).catch((error: unknown) =>
      logger.debug('The last word of a session failed', { error: messageOf(error) }),
    )
    void said.then(() => {
      ending = 'said'
      // A renewal may have been heard of meanwhile.
      if (!isDone && state.own !== null) withdraw(state.own.revision)
    })
  }

  /** What fails is asked for again, as long as it is wanted. */
  function whenDone(done: Promise<void>, event: LeaseEvent): void {
    done.then(
      () => dispatch(event),
      (error: unknown) =>
        logger.debug('A step of a lease failed', { step: event.type, error: messageOf(error) }),
    )
  }

  /** Asked for again and again, as long as the broker has not answered. */
  function flush(plugin: string, epoch: number): void {
    const key = `${plugin} ${epoch}`
    if (flushing.has(key)) return
    flushing.add(key)
    const done = actions.flush().finally(() => flushing.delete(key))
    whenDone(done, { type: 'flushed', plugin, epoch })
  }

  function fence(of: string, session: string, name: string): void {
    const now = elapsed()
    if (now - (fences.get(name) ?? -Infinity) < fencePatience) return
    fences.set(name, now)
    const done = actions.fence(of, session)
    whenDone(done, { type: 'fenced', fence: name })
    done
      .catch(() => undefined)
      .finally(() => {
        if (fences.get(name) === now) fences.delete(name)
      })
  }

  function tick(): void {
    dispatch({ type: 'tick' })
    const now = elapsed()
    const next = restsUntil(state, now)
    const end = endOfSession(state) ?? Infinity
    tickAfter(next === undefined ? Math.min(tickEvery, end - now) : next - now, next)
  }

  function tickAfter(pause: number, until?: number): void {
    rest = until
    timer?.cancel()
    if (isDone) return
    timer = clock.schedule(Math.max(1, pause), tick)
  }

  /** Whatever runs here is ended: this host can keep no lease any more. */
  function fail(error: Error): void {
    if (isDone) return
    stopAll()
    actions.failed(error)
  }

  function stopAll(): void {
    isDone = true
    timer?.cancel()
    farewell?.cancel()
    const { own, held } = state
    state = { ...state, own: null, held: new Map() }
    for (const [plugin, { epoch }] of held) actions.kill(plugin, epoch)
    if (own !== null && own.validFrom !== null) actions.sessionOver(own.session)
    withdrawn()
  }

  async function closeAll(): Promise<void> {
    // Plugins have until the end of the session; a store that is away is not waited for.
    const gone = new Promise<void>((resolve) => (withdrawn = resolve))
    if (!isDone && state.own !== null) {
      dispatch({ type: 'leave' })
      if (endOfSession(state) !== undefined) await gone
    }
    if (!isDone) stopAll()
    await store.close()
  }

  return {
    async open(patiently = (task) => task()) {
      try {
        await patiently(store.open)
      } catch (error) {
        isDone = true
        await store.close()
        throw error
      }
      dispatch({ type: 'synced' })
      if (closing === undefined) tick()
    },
    want: (wanted) => dispatch({ type: 'wantedChanged', wanted }),
    describe: (descriptions) => dispatch({ type: 'hostsDescribed', descriptions }),
    seeBrokers: (withoutBroker) => dispatch({ type: 'brokersSeen', withoutBroker }),
    seeDisk: (isFull) => dispatch({ type: 'diskSeen', isFull }),
    giveBack: (plugin) => dispatch({ type: 'giveBack', plugin }),
    mayAct: (plugin, epoch) => mayAct(state, plugin, epoch, elapsed()),
    maySpeak() {
      const end = endOfSession(state)
      return end !== undefined && elapsed() < end
    },
    get state() {
      return state
    },
    close: () => (closing ??= closeAll()),
  }
}
