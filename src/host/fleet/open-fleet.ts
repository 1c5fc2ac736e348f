import { messageOf } from '../../base/problem.ts'
import type { BusSession, ExternalBus } from '../../bus/external/external-bus.ts'
import type { FleetJournal } from '../../fleet/journal/fleet-journal.ts'
import { coordinatorLease } from '../../fleet/leases/records.ts'
import type { SharedRequests } from '../../http/requests/shared-requests.ts'
import type { HomeAssistant } from '../../home-assistant/home-assistant.ts'
import type { HostState } from '../../journal/fold/evolve.ts'
import type { RunningLifecycle } from '../../lifecycle/create-lifecycle.ts'
import type { Fleet, LifecycleFacade } from '../../lifecycle/facade.ts'
import type { Announcement } from '../../lifecycle/lifecycle.ts'
import type { Manifests } from '../../lifecycle/manifests/manifests.ts'
import { decideSafeMode } from '../../lifecycle/supervision/safe-mode.ts'
import type { Ownership, SharedFiles } from '../../lifecycle/ownership.ts'
import type { Fact, SafeModeReason } from '../../schema/journal/journal-event.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import type { MqttProjection } from '../../mqtt-api/mqtt-projection.ts'
import type { Responsibility } from '../../mqtt-api/responsibility.ts'
import type { FleetSettings } from '../../settings/fleet-settings.ts'
import type { HostParts } from '../host-parts.ts'
import { createAuthor } from './membership/author.ts'
import { watchClocks } from './membership/clock-watch.ts'
import { type ClosedListeners, createClosedListeners } from './store/closed-listeners.ts'
import { connectFleet, type JournalParts } from './store/connect-fleet.ts'
import { createCoordinator } from './coordinator.ts'
import { createFileCollection } from './file-collection.ts'
import { createFleetFacade } from './commands/fleet-facade.ts'
import { createFleetHosts, type FleetHosts } from './commands/fleet-hosts.ts'
import { createFleetMember, type FleetMember } from './membership/fleet-member.ts'
import { createHostCalls, type HostCalls } from './messages/host-calls.ts'
import { createHostMessages } from './messages/host-messages.ts'
import type { Hindrance, LastKnown } from './store/last-known.ts'
import { createShownMeanwhile } from './store/shown-meanwhile.ts'
import { createShortRuns } from './membership/short-runs.ts'

/** The fleet that a host is to work in, from the connection to its store to the last lease that is given back. */
export interface OpenFleet {
  readonly name: string
  /** Port at which questions were answered while the start waited; undefined: it did not. */
  readonly port: number | undefined
  /** Where no plugin may connect to. */
  closedListeners(state: () => HostState): ClosedListeners
  openJournal(parts: Omit<JournalParts, 'author' | 'failed'>): Promise<FleetJournal>
  /** Gives this host its name in the fleet. */
  become(id: string): Promise<MemberOfFleet>
  /** Settles when this host has to end: with why. */
  readonly failed: Promise<Error>
  close(): Promise<void>
}

export interface MemberOfFleet {
  readonly id: string
  readonly ownership: Ownership
  readonly sharedFiles: SharedFiles
  readonly stores: KeyValueStores
  readonly busSession: BusSession
  readonly responsibility: Responsibility
  /** Whether the session of this host lives. */
  readonly isLive: boolean
  /** What answers for all hosts; `watches`: whether somebody listens to its announcements. */
  face(parts: { lifecycle: RunningLifecycle; journal: FleetJournal; watches: () => boolean }): FleetFace
  /** Takes part from now on. Rejects with one line when the store is not fit. */
  start(parts: StartParts): Promise<void>
  /** Gives everything back, and ends the session. */
  stop(): Promise<void>
}

export interface FleetFace {
  lifecycle: LifecycleFacade
  fleet: Fleet
  requests: SharedRequests
}

export interface StartParts {
  lifecycle: RunningLifecycle
  journal: FleetJournal
  manifests: Pick<Manifests, 'get'>
  bus: ExternalBus
  projection: MqttProjection
  homeAssistant: () => HomeAssistant | undefined
  root: string
  /** Base URL at which others reach this host, and what it is. */
  address: string
  hostVersion: string
  /** The repository that comes with the program, for a fleet in which nothing has happened yet. */
  starterRepository: { name: string; url: string }
}

export interface OpenFleetSettings extends HostParts {
  settings: FleetSettings
  mqttUrl: string
  root: string
  interrupt: AbortSignal | undefined
  /** This host takes no plugin, as one that is drained. */
  safeMode: boolean
  /** Answers questions while the start waits. Rejects with `StartError` when it may not. */
  showLastKnown(hindrance: Hindrance): Promise<LastKnown>
}

export async function openFleet(options: OpenFleetSettings): Promise<OpenFleet> {
  const { settings, directory, mqttUrl, root, ring, files, clock, logger, interrupt } = options
  const meanwhile = createShownMeanwhile(options.showLastKnown, logger)
  const connected = await connectFleet({ ...options, waits: meanwhile.show }).catch(
    async (error: unknown) => {
      await meanwhile.hide()
      throw error
    },
  )
  let fail = (_error: Error): void => undefined
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  let member: FleetMember | undefined

  async function become(id: string): Promise<MemberOfFleet> {
    const known = await createFleetMember({
      ...{ fleet: connected, id, directory, files, clock, logger, mqttUrl, root, interrupt },
    })
    member = known
    const watching = new Set<(announcement: Announcement) => void>()
    const cleanUps: (() => unknown)[] = []
    const runs = createShortRuns({ files, directory, clock, logger })
    let calls: HostCalls | undefined
    let hosts: FleetHosts | undefined
    let watches = (): boolean => false

    return {
      id,
      ownership: known.ownership,
      sharedFiles: connected.files,
      stores: known.stores,
      busSession: known.busSession,
      responsibility: {
        owns: known.ownership.owns,
        isResponsibleFor: known.speaksFor,
        isCoordinator: () => known.isCoordinator,
      },
      get isLive() {
        return known.keeper.maySpeak()
      },
      face({ lifecycle, journal, watches: isWatched }) {
        watches = isWatched
        const facade = createFleetFacade({
          ...{ lifecycle, member: known, journal, clock },
          calls: () => {
            if (calls === undefined) throw new Error('No host is asked before this one has started')
            return calls
          },
          subscribe(listener) {
            watching.add(listener)
            const stop = lifecycle.subscribe(listener)
            return () => {
              watching.delete(listener)
              stop()
            }
          },
        })
        calls = createHostCalls({
          ...{ connection: connected.connection, fleet: connected.name, host: id, ring, clock, logger },
          answer: facade.answer,
        })
        const { others, askTime } = facade
        cleanUps.push(() => calls?.close(), watchClocks({ clock, logger, others, askTime }))
        hosts = createFleetHosts({ member: known, journal, clock })
        const { requests, place } = facade
        return { lifecycle: facade.lifecycle, fleet: { ...hosts, place }, requests }
      },
      async start(parts) {
        const { lifecycle, journal, bus, projection, homeAssistant } = parts
        const coordinator = createCoordinator({ ...parts, stores: known.stores, clock, logger })
        const collection = createFileCollection({
          ...{ files: connected.files, state: () => journal.state, clock, logger },
        })
        cleanUps.push(() => collection.end())
        await known.begin({
          ...{ journal, manifests: parts.manifests, bus, handover: lifecycle.handover },
          taken(plugin) {
            projection.take(plugin)
            homeAssistant()?.take(plugin)
          },
          gone(plugin) {
            projection.drop(plugin)
            homeAssistant()?.drop(plugin)
          },
          async coordinating(begins) {
            if (!begins) {
              collection.end()
              return coordinator.end()
            }
            collection.begin()
            projection.take(coordinatorLease)
            homeAssistant()?.clearLeftovers()
            await coordinator.begin()
          },
          absencesChanged(plugins) {
            if (!known.isCoordinator) return
            for (const plugin of plugins) if (known.holderOf(plugin) === undefined) projection.show(plugin)
          },
          abandoned: projection.abandon,
          failed: fail,
        })
        // From here on it is the one host of its name: another one would have answered and told the fleet in place of it.
        calls?.listen()
        const messages = createHostMessages({
          ...{ connection: connected.connection, fleet: connected.name, host: id, clock, logger },
          events: lifecycle.events,
          watches: () => watches(),
          maySpeak: () => known.keeper.maySpeak(),
          take(announcement) {
            for (const listener of watching) listener(announcement)
          },
        })
        const stopTelling = lifecycle.subscribe((announcement) => {
          if (announcement.kind === 'lifecycle') coordinator.follow(announcement.event)
          else messages.tell(announcement)
        })
        cleanUps.push(stopTelling, () => messages.close())
        // In a cluster that has just begun, a new stream has nobody yet who writes to it.
        await known.asItself(entering(parts))
        const short = await runs.begin()
        const reason = decideSafeMode(options.safeMode, short)
        if (reason !== undefined) await known.asItself(() => drain(journal, reason, short))
        // Only now: labels and a drain say what it may take.
        known.takePart()
      },
      async stop() {
        // First, while there still is time to answer whoever waits.
        hosts?.close()
        await known.close()
        await runs.end()
        for (const cleanUp of cleanUps.splice(0)) cleanUp()
        await known.stores.close()
      },
    }

    /** Says what this host is; once, also where the first try was written down and its answer did not come. */
    function entering({ journal, address, hostVersion, starterRepository }: StartParts) {
      const lastJoin = ({ context }: HostState['host']): string | undefined => context.members?.[id]?.since
      const before = lastJoin(journal.state.host)
      const data = { host: id, hostVersion, address, labels: [...settings.labels] }
      function decide({ seq, host }: HostState): Fact[] {
        if (lastJoin(host) !== before) return []
        const isNew = seq === 0 && host.context.repositories.length === 0
        return [
          ...(isNew ? [{ type: 'RepositoryAdded', plugin: null, data: starterRepository } as const] : []),
          { type: 'HostJoined', plugin: null, data },
        ]
      }
      return () => journal.decide(null, decide, 'startup')
    }

    /** `short`: how many runs before this one have not lasted. */
    async function drain(journal: FleetJournal, reason: SafeModeReason, short: number): Promise<void> {
      const by = reason === 'asked' ? 'startup' : 'supervisor'
      // The first try may have been written down, and its answer not have come.
      const decide = ({ host }: HostState): Fact[] =>
        host.context.members?.[id]?.draining === true
          ? []
          : [{ type: 'HostDrainRequested', plugin: null, data: { host: id } }]
      await journal.decide(null, decide, by)
      logger.warn('Safe mode: this host takes no plugin until its drain is ended; the others run them', {
        host: id,
        reason,
        shortRuns: short,
      })
    }
  }

  return {
    name: connected.name,
    get port() {
      return meanwhile.port
    },
    closedListeners: (state) => createClosedListeners({ servers: settings.servers, state, clock }),
    openJournal: (parts) =>
      connected
        .openJournal({
          ...parts,
          author: createAuthor(() => member),
          failed(error) {
            logger.error("The fleet's journal cannot be followed any further", { error: messageOf(error) })
            fail(error)
          },
        })
        .finally(meanwhile.hide),
    become,
    failed,
    async close() {
      await meanwhile.hide()
      await connected.close()
    },
  }
}
