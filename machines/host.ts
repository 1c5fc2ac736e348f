import { assign, setup } from 'xstate'
import type { HostFact } from '../src/schema/journal-event.ts'

/** The life of the host itself, told by the same journal. */

export type HostEvent = HostFact & { at: string }

export interface HostContext {
  /** Name of this host in a fleet; null before the first start. */
  id: string | null
  repositories: { name: string; url: string }[]
  /** Starts in a row that did not reach `ready`, the present one included. */
  unfinishedStarts: number
}

const machine = setup({
  types: { context: {} as HostContext, events: {} as HostEvent },
  actions: {
    recordStart: assign(({ context, event }) =>
      event.type === 'HostStarted'
        ? { id: event.data.host, unfinishedStarts: context.unfinishedStarts + 1 }
        : {},
    ),
    recordReady: assign({ unfinishedStarts: 0 }),
    addRepository: assign(({ context, event }) =>
      event.type === 'RepositoryAdded'
        ? {
            repositories: [
              ...context.repositories.filter(({ name }) => name !== event.data.name),
              event.data,
            ],
          }
        : {},
    ),
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
  context: { id: null, repositories: [], unfinishedStarts: 0 },
  initial: 'stopped',
  on: {
    // A start after a crash finds any state: a killed host could not say that it stopped.
    HostStarted: { target: '.starting', actions: 'recordStart' },
    RepositoryAdded: { actions: 'addRepository' },
    RepositoryRemoved: { actions: 'removeRepository' },
  },
  states: {
    stopped: { description: 'No process is running' },
    starting: {
      description: 'Opening the journal, the broker and HTTP, and loading what is enabled',
      on: { HostReady: { target: 'ready', actions: 'recordReady' }, HostStopping: 'stopping' },
    },
    ready: { description: 'Everything answers', on: { HostStopping: 'stopping' } },
    stopping: { description: 'Unloading every plugin', on: { HostStopped: 'stopped' } },
  },
})
