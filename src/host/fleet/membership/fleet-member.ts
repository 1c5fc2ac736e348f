import type { ScheduledCall } from '../../../base/time/clock.ts'
import { every } from '../../../base/time/every.ts'
import { createElapsedTime } from '../../../base/time/elapsed-time.ts'
import { messageOf, Problem } from '../../../base/problem.ts'
import type { BusSession, ExternalBus } from '../../../bus/external/external-bus.ts'
import { takeOverClient } from '../../../bus/external/take-over.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { othersWithBroker } from '../../../fleet/leases/holding.ts'
import { createLeaseKeeper, type LeaseKeeper } from '../../../fleet/leases/lease-keeper.ts'
import { nameProcess } from '../../../fleet/leases/process-name.ts'
import { coordinatorLease, sessionClientId } from '../../../fleet/leases/records.ts'
import type { Holder } from '../../../fleet/leases/views.ts'
import { StoreUnreachableError } from '../../../fleet/store/store-errors.ts'
import { createFleetValues } from '../../../fleet/values/fleet-values.ts'
import { type HostState, installedIn } from '../../../journal/fold/evolve.ts'
import type { Manifests } from '../../../lifecycle/manifests/manifests.ts'
import type { Ownership } from '../../../lifecycle/ownership.ts'
import type { KeyValueStores } from '../../../schema/files/key-value-stores.ts'
import type { Handover } from '../../../lifecycle/supervision/handover.ts'
import { createTopics } from '../../../schema/names/topics.ts'
import type { HostParts } from '../../host-parts.ts'
import type { ConnectedFleet } from '../store/connect-fleet.ts'
import { followWanted } from '../placement/follow-wanted.ts'
import { surplusOf, untakenOf } from '../placement/balance.ts'
import { holderOf } from '../placement/holders.ts'
import { moveReason } from '../placement/move-reason.ts'
import { watchBrokerReach } from './broker-reach.ts'
import { createInterruptedInstallations } from './interrupted-installations.ts'
import { createLastWord } from './last-word.ts'
import { createLeavers } from './leavers.ts'
import { createSessionWait } from './session-wait.ts'
import { createWhereabouts } from '../placement/whereabouts.ts'

/** This host as one of a fleet: its session, what it has leases of, and what it knows of the others. */
export interface FleetMember {
  /** Name of this host. */
  readonly id: string
  readonly keeper: Pick<LeaseKeeper, 'state' | 'maySpeak'>
  readonly ownership: Ownership
  readonly stores: KeyValueStores
  readonly busSession: BusSession
  /** Whether this host speaks for the whole fleet. */
  readonly isCoordinator: boolean
  /** Whether it speaks for a plugin: its own, or one that nobody has. */
  speaksFor(plugin: string): boolean
  holderOf(plugin: string): Holder | undefined
  /** Elapsed time on the clock of the leases. */
  elapsed(): number
  /** Called when it is known that sessions or leases have changed. Returns the way to stop. */
  onChange(listener: () => void): () => void
  /**
   * Begins the session, and takes no plugin yet. Rejects with one line when the store is not fit, or another live host has
   * this name.
   */
  begin(parts: MemberParts): Promise<void>
  /**
   * Does what only the one host of this name may do, such as telling the fleet of it; again while the store is away. Rejects
   * like `begin`.
   */
  asItself<T>(task: () => Promise<T>): Promise<T>
  /** Takes plugins from now on. */
  takePart(): void
  /** Gives everything back, and ends the session. */
  close(): Promise<void>
}

export interface MemberParts {
  journal: FleetJournal
  manifests: Pick<Manifests, 'get'>
  bus: ExternalBus
  handover: Handover
  /** A plugin is there, or has gone to another host; nothing of it is taken back outside. */
  taken(plugin: string): void
  gone(plugin: string): void
  /** Resolves when it has begun, or ended. Never rejects. */
  coordinating(begins: boolean): Promise<void>
  /** Plugins that are shown otherwise than before, because nobody has them, or somebody does again. */
  absencesChanged(plugins: readonly string[]): void
  /** Nobody will have these when this host is gone. Resolves when that is shown. */
  abandoned(plugins: readonly string[]): Promise<void>
  /** This host has to end. */
  failed(error: Error): void
}

export interface FleetMemberSettings extends Omit<HostParts, 'ring'> {
  fleet: ConnectedFleet
  id: string
  mqttUrl: string
  root: string
  interrupt: AbortSignal | undefined
}

/** Milliseconds between two looks at what nobody has, and between two plugins that go for balance. */
const reviewEvery = 1_000

export async function createFleetMember(settings: FleetMemberSettings): Promise<FleetMember> {
  const { fleet, id, clock, logger, mqttUrl } = settings
  const topics = createTopics(settings.root)
  const elapsed = createElapsedTime()
  const listeners = new Set<() => void>()
  let session: string | undefined
  let parts: MemberParts | undefined
  let isCoordinator = false
  let timer: ScheduledCall | undefined
  let stopFollowing = (): void => undefined
  const reviewInstallations = createInterruptedInstallations(clock, logger)

  const keeper = createLeaseKeeper({
    address: fleet.address,
    fleet: fleet.name,
    ...{ host: id, clock, elapsed, logger },
    name: await nameProcess(settings.files, settings.directory, logger),
    actions: {
      sessionBegan(name) {
        session = name
        wait.look()
        parts?.bus.renew()
      },
      sessionOver() {
        session = undefined
        parts?.bus.renew()
      },
      start(plugin, epoch) {
        if (plugin === coordinatorLease) void coordinate(true)
        else void take(plugin, epoch)
      },
      async stop(plugin) {
        if (plugin === coordinatorLease) await coordinate(false)
        else {
          await parts?.handover.giveUp(plugin)
          parts?.gone(plugin)
        }
      },
      kill(plugin) {
        if (plugin === coordinatorLease) void coordinate(false)
        else {
          parts?.handover.cut(plugin)
          parts?.gone(plugin)
        }
      },
      fence: (host, ended) => takeOverClient(mqttUrl, sessionClientId(fleet.name, host, ended), clock),
      flush: () => parts?.bus.flush() ?? Promise.resolve(),
      async ending() {
        const { journal, abandoned, bus } = parts ?? {}
        if (journal === undefined) return
        await lastWord.say(installed(journal.state), async (plugins) => {
          await abandoned?.(plugins)
          await bus?.flush()
        })
      },
      changed() {
        for (const listener of listeners) listener()
      },
      failed(error) {
        wait.failed(error)
        parts?.failed(error)
      },
    },
  })
  const wait = createSessionWait({ clock, interrupt: settings.interrupt, isLive: keeper.maySpeak })
  const whereabouts = createWhereabouts(keeper, clock, elapsed)
  const leavers = createLeavers({ connection: fleet.connection, fleet: fleet.name, host: id, clock })
  const lastWord = createLastWord({
    ...{ keeper, whereabouts, leavers, clock, onChange },
    elapsed,
  })
  const epochOf = (plugin: string): number | undefined => keeper.state.held.get(plugin)?.epoch

  function owns(plugin: string): boolean {
    const epoch = epochOf(plugin)
    return epoch !== undefined && keeper.mayAct(plugin, epoch)
  }

  async function coordinate(begins: boolean): Promise<void> {
    if (isCoordinator === begins) return
    isCoordinator = begins
    const changed = parts?.coordinating(begins)
    // The one before may have gone before it told of them.
    if (begins) parts?.absencesChanged(whereabouts.absent())
    await changed
  }

  function onChange(listener: () => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  async function take(plugin: string, epoch: number): Promise<void> {
    if (parts === undefined) return
    const reason = moveReason(keeper.state, plugin, parts.journal.state.plugins.get(plugin)?.context ?? {})
    await parts.handover.take(plugin, { host: id, epoch, reason })
    if (owns(plugin)) parts.taken(plugin)
  }

  function installed(state: HostState): string[] {
    return installedIn(state).map(({ context }) => context.id)
  }

  function review(): void {
    if (parts === undefined) return
    const { state } = parts.journal
    const changed = whereabouts.review(installed(state))
    if (changed.length > 0) parts.absencesChanged(changed)
    const surplus = keeper.maySpeak() ? surplusOf(keeper.state, elapsed()) : undefined
    if (surplus !== undefined) keeper.giveBack(surplus)
    for (const plugin of untakenOf(keeper.state, state, elapsed())) keeper.giveBack(plugin)
    if (isCoordinator) reviewInstallations(parts.journal)
  }

  return {
    id,
    keeper,
    ownership: { owns, whereabouts: whereabouts.of },
    stores: withProblems(createFleetValues({ bucket: fleet.values, clock, logger, epochOf })),
    busSession: {
      clientId: () =>
        session !== undefined && keeper.maySpeak() ? sessionClientId(fleet.name, id, session) : undefined,
      permit(publisher, topic, about) {
        const plugin = publisher ?? about ?? topics.parsePlugin(topic)?.plugin
        const epoch = plugin === undefined ? undefined : epochOf(plugin)
        if (publisher === undefined && plugin !== undefined && lastWord.isAbout(plugin))
          return keeper.maySpeak
        if (plugin !== undefined && epoch !== undefined) return () => keeper.mayAct(plugin, epoch)
        if (publisher !== undefined) return () => false
        // Of a plugin that nobody has, one host speaks.
        return plugin === undefined ? () => keeper.maySpeak() : () => isCoordinator && keeper.maySpeak()
      },
    },
    get isCoordinator() {
      return isCoordinator
    },
    speaksFor: (plugin) =>
      owns(plugin) ||
      lastWord.isAbout(plugin) ||
      (isCoordinator && holderOf(keeper.state, plugin) === undefined),
    holderOf: (plugin) => holderOf(keeper.state, plugin),
    elapsed,
    onChange,
    async begin(given) {
      parts = given
      const end = (): void => void keeper.close()
      settings.interrupt?.addEventListener('abort', end)
      await keeper.open(fleet.patiently).finally(() => settings.interrupt?.removeEventListener('abort', end))
      await fleet.patiently(wait.begun)
    },
    asItself: (task) =>
      fleet.patiently(async () => {
        await wait.begun()
        return task()
      }),
    takePart() {
      if (parts === undefined) return
      const { journal, manifests, handover, bus } = parts
      const following = followWanted({ journal, clock, manifests, handover, keeper, owns })
      const stops = [
        following.stop,
        watchBrokerReach({
          ...{ fleet, host: id, clock, bus, changed: keeper.seeBrokers },
          othersReach: () => othersWithBroker(keeper.state, elapsed()).length > 0,
          // Nobody else speaks for the fleet meanwhile, nor answers what is asked over MQTT.
          cutOff: () => keeper.giveBack(coordinatorLease),
        }),
      ]
      stopFollowing = () => stops.forEach((stop) => stop())
      review()
      timer = every(clock, reviewEvery, () => {
        following.lookAhead()
        keeper.seeDisk(journal.ahead !== undefined)
        review()
      })
    },
    async close() {
      stopFollowing()
      timer?.cancel()
      wait.look()
      if (session !== undefined) await leavers.tell(session)
      await keeper.close()
      leavers.close()
      listeners.clear()
      parts = undefined
    },
  }
}

/** The same stores, whose refusals the lifecycle understands. */
function withProblems(stores: KeyValueStores): KeyValueStores {
  return {
    ...stores,
    async open(plugin, report) {
      try {
        return await stores.open(plugin, report)
      } catch (error) {
        if (!(error instanceof StoreUnreachableError)) throw error
        throw new Problem('fleet_unreachable', messageOf(error), { cause: error })
      }
    },
  }
}
