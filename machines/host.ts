import { assign, setup } from 'xstate'
import type { HostFact } from '../src/schema/journal/journal-event.ts'
import type { HostContext } from '../src/schema/journal/stored-state.ts'

/** The life of the host itself, told by the same journal. */

export type HostEvent = HostFact & { at: string }

export type KnownRepository = HostContext['repositories'][number]

/** Another address with the same key goes on from what was signed last. */
function withMemory(added: KnownRepository, before: KnownRepository | undefined): KnownRepository {
  if (before?.signedAt === undefined || before.publicKey !== added.publicKey) return added
  return { ...added, signedAt: Math.max(added.signedAt ?? 0, before.signedAt) }
}

/** Starts in a row that were no good, before the one that begins. */
function startsBefore(
  { unfinishedStarts, lastReady }: HostContext,
  afterMemoryKill: true | undefined,
): number {
  return afterMemoryKill === true ? (lastReady?.unfinishedStarts ?? unfinishedStarts) : unfinishedStarts
}

/** Hosts of versions that did not know it have none. */
function withoutReady({ lastReady }: HostContext): { lastReady?: null } {
  return lastReady === undefined ? {} : { lastReady: null }
}

const machine = setup({
  types: { context: {} as HostContext, events: {} as HostEvent },
  guards: { isSafe: ({ context }) => context.safeMode !== null },
  actions: {
    recordStart: assign(({ context, event }) =>
      event.type === 'HostStarted'
        ? {
            id: event.data.host,
            unfinishedStarts: startsBefore(context, event.data.afterMemoryKill) + 1,
            safeMode: null,
            ...withoutReady(context),
          }
        : {},
    ),
    recordReady: assign(({ context, event }) => {
      const machine = event.type === 'HostReady' ? event.data.machine : undefined
      // Where no plugin is loaded, none has to do with how it ends.
      const isCounted = machine !== undefined && context.safeMode === null
      return {
        unfinishedStarts: 0,
        ...(isCounted
          ? { lastReady: { ...machine, unfinishedStarts: context.unfinishedStarts } }
          : withoutReady(context)),
      }
    }),
    /** It ends in order. */
    recordEnd: assign(({ context }) => withoutReady(context)),
    /** A start that somebody ended says nothing about the next one. */
    recordInterruption: assign(({ context, event }) =>
      event.type === 'HostStopping' && event.data.failed !== true
        ? { unfinishedStarts: Math.max(0, context.unfinishedStarts - 1) }
        : {},
    ),
    enterSafeMode: assign(({ event }) =>
      event.type === 'HostSafeModeEntered' ? { safeMode: { since: event.at, ...event.data } } : {},
    ),
    leaveSafeMode: assign({ safeMode: null }),
    addRepository: assign(({ context, event }) =>
      event.type === 'RepositoryAdded'
        ? {
            repositories: [
              ...context.repositories.filter(({ name }) => name !== event.data.name),
              withMemory(
                event.data,
                context.repositories.find(({ name }) => name === event.data.name),
              ),
            ],
          }
        : {},
    ),
    recordSignature: assign(({ context, event }) =>
      event.type === 'RepositoryIndexAccepted'
        ? {
            repositories: context.repositories.map((repository) =>
              repository.name === event.data.name
                ? { ...repository, signedAt: Math.max(repository.signedAt ?? 0, event.data.signedAt) }
                : repository,
            ),
          }
        : {},
    ),
    recordClaim: assign(({ context, event }) =>
      event.type === 'NamespaceClaimed'
        ? { namespaces: { ...context.namespaces, [event.data.namespace]: event.data.repository } }
        : {},
    ),
    recordMember: assign(({ context, event }) => {
      if (event.type !== 'HostJoined') return {}
      const { host: id, hostVersion: version, address, labels } = event.data
      const draining = context.members?.[id]?.draining ?? false
      return {
        members: { ...context.members, [id]: { version, address, labels, since: event.at, draining } },
      }
    }),
    recordDrain: assign(({ context, event }) => {
      if (event.type !== 'HostDrainRequested' && event.type !== 'HostDrainEnded') return {}
      const { host: id } = event.data
      const member = context.members?.[id]
      if (member === undefined) return {}
      const draining = event.type === 'HostDrainRequested'
      return { members: { ...context.members, [id]: { ...member, draining } } }
    }),
    removeRepository: assign(({ context, event }) =>
      event.type === 'RepositoryRemoved'
        ? { repositories: context.repositories.filter(({ name }) => name !== event.data.name) }
        : {},
    ),
  },
})

export const host = machine.createMachine({
  id: 'host',
  description: 'The host process, from one start to the next',
  context: { id: null, repositories: [], namespaces: {}, unfinishedStarts: 0, safeMode: null },
  initial: 'stopped',
  on: {
    // A start after a crash finds any state: a killed host could not say that it stopped.
    HostStarted: { target: '.starting', actions: 'recordStart' },
    RepositoryAdded: { actions: 'addRepository' },
    RepositoryIndexAccepted: { actions: 'recordSignature' },
    RepositoryRemoved: { actions: 'removeRepository' },
    NamespaceClaimed: { actions: 'recordClaim' },
    // Of a fleet, whose hosts share one journal.
    HostJoined: { actions: 'recordMember' },
    HostDrainRequested: { actions: 'recordDrain' },
    HostDrainEnded: { actions: 'recordDrain' },
  },
  states: {
    stopped: { description: 'No process is running' },
    starting: {
      description: 'Opening the journal, the broker and HTTP, and loading what is enabled',
      on: {
        HostReady: { target: 'ready', actions: 'recordReady' },
        HostSafeModeEntered: { actions: 'enterSafeMode' },
        HostSafeModeLeft: { guard: 'isSafe', actions: 'leaveSafeMode' },
        HostStopping: { target: 'stopping', actions: 'recordInterruption' },
      },
    },
    ready: {
      description: 'Everything answers',
      on: {
        HostSafeModeLeft: { guard: 'isSafe', actions: 'leaveSafeMode' },
        HostStopping: { target: 'stopping', actions: 'recordEnd' },
      },
    },
    stopping: { description: 'Unloading every plugin', on: { HostStopped: 'stopped' } },
  },
})
