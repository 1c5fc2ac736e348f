import assert from 'node:assert/strict'
import {
  initialLeaseState,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  mayAct,
} from '../../../../src/fleet/leases/state.ts'
import type { LeaseRecord, SessionRecord } from '../../../../src/fleet/leases/records.ts'
import { isNews, restsUntil } from '../../../../src/fleet/leases/rest.ts'
import { leaseStep } from '../../../../src/fleet/leases/step.ts'
import type { Broker, BrokerConnection } from './broker.ts'
import { createJournalClient } from './journal-client.ts'
import { createLink, type Weather } from './link.ts'
import type { Safeguards } from './safeguards.ts'
import type { Scheduler } from './scheduler.ts'
import type { Change, Entry, Store } from './store.ts'
import type { Act, Witness } from './witness.ts'

/** A host's process: it does what the protocol wants done, unless it is paused, cut off or dead. */

export interface HostProcess {
  readonly state: LeaseState
  readonly isAlive: boolean
  /** It has ended by itself, because another live host has its id. */
  readonly isRefused: boolean
  /** Plugins that run here, and may act. */
  running(): string[]
  /** `now`, or the next time that it has decided to do something and has not done it yet. */
  pause(length: number, when: PauseMoment): void
  kill(): void
  cutFromStore(isCut: boolean): void
  cutFromBroker(isCut: boolean): void
  tell(event: LeaseEvent): void
  /** The same, as it is when the process hears of it: what it has missed while it was paused comes in order. */
  tellPresent(event: () => LeaseEvent): void
  /** Somebody outside wants something done; `acknowledged` when it is in the journal. */
  command(plugin: string, key: string, acknowledged: () => void): void
}

export type PauseMoment = 'now' | 'beforeAct' | 'beforeEffect' | 'beforeAppend'

export interface ProcessSettings {
  scheduler: Scheduler
  store: Store
  broker: Broker
  witness: Witness
  safeguards: Safeguards
  weather: () => Weather
  host: string
  process: string
  heirOf: string | null
  /** Of its clock, against true time. */
  rate: number
}

interface Instance {
  plugin: string
  epoch: number
  session: string
  isEnded: boolean
  /** Acts that were checked and are not written yet. */
  pending: number
}

const tickEvery = 200
const resyncEvery = 2_000
/** From the decision to the write, in the process. */
const thinking = 0.3

export function createHostProcess(settings: ProcessSettings): HostProcess {
  const { scheduler, store, safeguards, witness, host, rate } = settings
  const offset = scheduler.between(0, 1e6)
  const link = createLink(scheduler, settings.weather)
  const mqtt = settings.broker.client()
  const instances = new Map<string, Instance>()
  let state = initialLeaseState({
    host,
    process: settings.process,
    heirOf: settings.heirOf,
    timing: safeguards.timing,
  })
  /** As the keeper has it: ticks before then are left out. */
  let rest: number | undefined
  let isAlive = true
  let isRefused = false
  let pausedUntil = 0
  let pauses = 0
  let timersLag = 0
  const pausesTo = new Map<PauseMoment, number>()
  let connection: BrokerConnection | undefined
  let outbox: (() => void)[] = []
  let cutSince: number | undefined

  const now = (): number => offset + rate * scheduler.now

  /** Runs in the process: not while it is paused, and never once it is dead. `lag`: how late it is told after a pause. */
  function enter(run: () => void, lag = 0): void {
    if (!isAlive) return
    if (pausedUntil > scheduler.now) {
      scheduler.after(pausedUntil - scheduler.now + lag, () => enter(run, lag))
    } else run()
  }
  const later = (delay: number, run: () => void): void => scheduler.after(delay, () => enter(run, timersLag))
  /** From a decision to what follows from it. */
  function decided(moment: PauseMoment, run: () => void): void {
    later(thinking, run)
    const length = pausesTo.get(moment)
    if (length === undefined) return
    pausesTo.delete(moment)
    pause(length)
  }
  function pause(length: number): void {
    pausedUntil = Math.max(pausedUntil, scheduler.now + length)
    pauses += 1
    // Which of them is first then, what came meanwhile or what was due, is up to the system.
    timersLag = scheduler.pick([0, 0.01])
  }
  const journal = createJournalClient({
    ...{ store, link, later, enter, random: scheduler.between },
    decided: (run) => decided('beforeAppend', run),
  })

  function dispatch(event: LeaseEvent): void {
    if (isNews(state, event)) rest = undefined
    const [next, effects] = leaseStep(state, event, now())
    state = next
    for (const effect of effects) decided('beforeEffect', () => perform(effect))
  }

  function seen({ bucket, key, record, revision }: Change): void {
    if (bucket === 'hosts') {
      dispatch({ type: 'hostSeen', host: key, record: record as SessionRecord | null, revision })
    } else {
      dispatch({ type: 'leaseSeen', plugin: key, record: record as LeaseRecord | null, revision })
    }
  }

  function write(bucket: Change['bucket'], key: string, record: Change['record'], expected: number): void {
    link.send(() => {
      if (!store.hasLeader) return
      const change = store.write(bucket, key, record, expected)
      if (change !== undefined && store.answers) link.send(() => enter(() => seen(change)))
    })
  }

  function perform(effect: LeaseEffect): void {
    switch (effect.type) {
      case 'writeHost':
        return void write('hosts', effect.host, effect.record, effect.expected)
      case 'writeLease':
        return void write('leases', effect.plugin, effect.record, effect.expected)
      case 'fence': {
        const fenced = (): void => enter(() => dispatch({ type: 'fenced', fence: effect.fence }))
        if (!safeguards.fence) return void later(1, fenced)
        return void mqtt.connect(clientId(effect.host, effect.session), fenced, () => undefined)
      }
      case 'start':
        return void start(effect.plugin, effect.epoch)
      case 'stop':
        return void stop(effect)
      case 'kill':
        return void endInstance(instances.get(effect.plugin), effect.epoch)
      case 'flush': {
        const flushed = (): void => enter(() => dispatch({ ...effect, type: 'flushed' }))
        if (!safeguards.flush) return void later(1, flushed)
        return connection?.ask(flushed)
      }
      case 'sessionBegan':
        return void connect(effect.session)
      case 'sessionOver':
        connection = undefined
        outbox = []
        return
      case 'refuse':
        isRefused = true
        isAlive = false
        return
    }
  }

  const clientId = (id: string, session: string): string => `lupine-${id}-${session}`

  function connect(session: string): void {
    if (state.own?.session !== session) return
    mqtt.connect(
      clientId(host, session),
      (opened) =>
        enter(() => {
          if (state.own?.session !== session) return
          connection = opened
          for (const send of outbox.splice(0)) send()
        }),
      () =>
        enter(() => {
          if (connection?.isOpen === true) return
          connection = undefined
          later(500, () => connection ?? connect(session))
        }),
    )
  }

  /** Keep-alive: a connection that nothing comes over is given up, and another one made. */
  function watchConnection(): void {
    cutSince = mqtt.isUp ? undefined : (cutSince ?? scheduler.now)
    if (cutSince !== undefined && scheduler.now - cutSince > 3_000 && connection !== undefined) {
      connection.isOpen = false
      connection = undefined
      if (state.own !== null) connect(state.own.session)
    }
  }

  function start(plugin: string, epoch: number): void {
    const session = state.own?.session
    if (session === undefined) return
    const instance: Instance = { plugin, epoch, session, isEnded: false, pending: 0 }
    instances.set(plugin, instance)
    // Facts before effects: the move is in the journal before anything is loaded.
    journal.append(
      plugin,
      (entries) => {
        if (entries.some((entry) => entry.kind === 'move' && entry.epoch === epoch)) return 'done'
        return isStale(entries, epoch) ? 'refused' : { kind: 'move', epoch }
      },
      () => {
        act(instance)
        note(instance)
      },
      () => !instance.isEnded,
    )
  }

  function isStale(entries: readonly Entry[], epoch: number): boolean {
    const known = entries.findLast((entry) => entry.kind !== 'command')
    return safeguards.epochs && epoch < (known?.epoch ?? 0)
  }

  function act(instance: Instance): void {
    if (instance.isEnded) return
    const { plugin, epoch, session } = instance
    if (!safeguards.askBeforeActs || mayAct(state, plugin, epoch, now())) {
      const by = scheduler.chance(0.5) ? 'mqtt' : 'http'
      const checked = { connection, pauses }
      instance.pending += 1
      decided('beforeAct', () => {
        instance.pending -= 1
        const done: Act = { plugin, epoch, session, by, wasPaused: pauses !== checked.pauses }
        if (by === 'http') witness.see(done)
        else publish(done, checked.connection)
      })
    }
    later(scheduler.between(50, 300), () => act(instance))
  }

  function publish(done: Act, checked: BrokerConnection | undefined): void {
    const send = (over: BrokerConnection): void => over.send(() => witness.see(done))
    if (safeguards.boundToConnection) {
      if (checked?.isOpen === true && checked === connection) send(checked)
    } else if (connection?.isOpen === true) {
      send(connection)
    } else {
      outbox.push(() => connection && send(connection))
    }
  }

  /** Writes down what the plugin has come to. */
  function note(instance: Instance): void {
    if (instance.isEnded) return
    const { plugin, epoch } = instance
    if (mayAct(state, plugin, epoch, now())) {
      let isNoted = false
      journal.append(
        plugin,
        (entries) => {
          if (isNoted) return 'done'
          return isStale(entries, epoch) ? 'refused' : { kind: 'fact', epoch }
        },
        () => (isNoted = true),
        () => false,
      )
    }
    later(scheduler.between(500, 2_000), () => note(instance))
  }

  function stop({ plugin, epoch, until }: { plugin: string; epoch: number; until: number }): void {
    const instance = instances.get(plugin)
    const left = Math.max(0, (until - now()) / rate)
    const finish = (): void => {
      endInstance(instance, epoch)
      if (instance !== undefined && instance.pending > 0) later(1, finish)
      else dispatch({ type: 'stopped', plugin, epoch })
    }
    later(Math.min(left, scheduler.between(1, 2_500)), finish)
  }

  function endInstance(instance: Instance | undefined, epoch: number): void {
    if (instance === undefined || instance.epoch !== epoch) return
    instance.isEnded = true
    if (instances.get(instance.plugin) === instance) instances.delete(instance.plugin)
  }

  function tick(): void {
    watchConnection()
    if (rest === undefined || now() >= rest) {
      dispatch({ type: 'tick' })
      rest = restsUntil(state, now())
    } else {
      const [, effects] = leaseStep(state, { type: 'tick' }, now())
      assert.deepEqual(effects, [], 'a tick that is left out has nothing to do')
    }
    later(tickEvery, tick)
  }

  function resync(): void {
    link.send(() => {
      if (!store.hasLeader || !store.answers) return
      const changes = store.all()
      link.send(() =>
        enter(() => {
          for (const change of changes) seen(change)
          if (!state.isSynced) dispatch({ type: 'synced' })
        }),
      )
    })
    later(resyncEvery, resync)
  }

  store.watch((change) => {
    if (isAlive) link.send(() => enter(() => seen(change)))
  })
  later(0, () => {
    resync()
    tick()
  })

  return {
    get state() {
      return state
    },
    get isAlive() {
      return isAlive
    },
    get isRefused() {
      return isRefused
    },
    running: () =>
      [...instances.values()]
        .filter(({ isEnded, plugin, epoch }) => !isEnded && mayAct(state, plugin, epoch, now()))
        .map(({ plugin }) => plugin),
    pause(length, when) {
      if (when === 'now') pause(length)
      else pausesTo.set(when, length)
    },
    kill() {
      isAlive = false
    },
    cutFromStore(isCut) {
      link.isUp = !isCut
    },
    cutFromBroker(isCut) {
      mqtt.isUp = !isCut
    },
    tell: (event) => enter(() => dispatch(event)),
    tellPresent: (event) => enter(() => dispatch(event())),
    command: (plugin, key, acknowledged) =>
      enter(() =>
        journal.append(
          plugin,
          (entries) =>
            entries.some((entry) => entry.kind === 'command' && entry.key === key)
              ? 'done'
              : { kind: 'command', key },
          acknowledged,
          () => false,
        ),
      ),
  }
}
