import { host } from '../../../machines/host.ts'
import { pluginLifecycle } from '../../../machines/plugin-lifecycle.ts'
import type { StoredState } from '../../schema/journal/stored-state.ts'
import type { HostState } from './evolve.ts'
import type { SecretTransform } from '../vault.ts'

/**
 * Version of the fold: of the machines and of whatever else decides what state follows from given events. Who
 * changes that raises it (`test/journal/transition.test.ts` notices), and states that are stored under another
 * version are not believed any more: they follow from the events anew.
 */
export const foldVersion = 1

/** All that is known of the events up to one of them, and is needed to go on from there. */
export interface FoldedEvents {
  state: HostState
  /** Id of the last event; null before the first. */
  event: string | null
  /** Number of the latest event of each plugin. */
  lastOf: ReadonlyMap<string, number>
  /** The plugin that each remembered request was about, the oldest first. */
  requests: ReadonlyMap<string, string>
}

/** What is written. The machines' states are names and contexts; the rest of their snapshots follows from those. */
export function storeState({ state, event, lastOf, requests }: FoldedEvents): StoredState {
  return {
    seq: state.seq,
    event,
    host: { value: state.host.value, context: state.host.context },
    plugins: [...state.plugins].map(([id, { value, context }]) => ({
      value,
      last: lastOf.get(id) ?? 0,
      context,
    })),
    requests: [...requests],
  }
}

export function restoreState(stored: StoredState): FoldedEvents {
  const { seq, event, plugins, requests } = stored
  return {
    state: {
      seq,
      host: host.resolveState(stored.host),
      plugins: new Map(
        plugins.map(({ value, context }) => [context.id, pluginLifecycle.resolveState({ value, context })]),
      ),
    },
    event,
    lastOf: new Map(plugins.map(({ last, context }) => [context.id, last])),
    requests: new Map(requests),
  }
}

/** As `changeEvent`: the state as it is written, or as it was. */
export function changeStoredState(transform: SecretTransform, stored: StoredState): StoredState {
  const { repositories } = stored.host.context
  return {
    ...stored,
    host: {
      ...stored.host,
      context: {
        ...stored.host.context,
        repositories: repositories.map((entry) => ({
          ...entry,
          url: transform.address(entry.name, entry.url),
        })),
      },
    },
    plugins: stored.plugins.map(({ context, ...rest }) => {
      const changed = <T extends { config: Record<string, unknown> }>(holder: T): T => ({
        ...holder,
        config: transform.config(context.id, holder.config),
      })
      const { id, hookSecret } = context
      return {
        ...rest,
        context: {
          ...changed(context),
          ...(hookSecret === undefined ? {} : { hookSecret: transform.hookSecret(id, hookSecret) }),
          kept: context.kept.map(changed),
        },
      }
    }),
  }
}
