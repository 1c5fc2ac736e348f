import { isCovered } from '../../base/topic-filter.ts'
import { createTopics } from '../../bus/topics.ts'
import { type GuardedKind, refusalSentence } from '../../schema/permission-refusal.ts'
import type { Permissions } from '../../schema/permissions.ts'
import type { Config } from '../../schema/plugin.ts'
import { hostMatches } from './host-pattern.ts'
import { pluginMatches } from './permission-changes.ts'
import { resolvePermissions } from './resolve-permissions.ts'

/**
 * What one loaded plugin may do. Each function answers undefined when it may, else why not, in a sentence for the
 * plugin's author.
 */
export interface Guard {
  /** An HTTP request or a Modbus connection. */
  connect(host: string, port: number): string | undefined
  publish(topic: string): string | undefined
  subscribe(filter: string): string | undefined
  /** To get another plugin, by its full id, and to read its objects. */
  use(plugin: string): string | undefined
  /** Whether `use` would allow it; nothing is told or counted. */
  sees(plugin: string): boolean
  /** Filters that it may publish and subscribe to, for the worker's own answer; undefined: all. */
  topics: { publish: string[]; subscribe: string[] } | undefined
}

export interface GuardSettings {
  /** Full id of the plugin. */
  plugin: string
  /** Undefined: the manifest declares nothing, so nothing is refused. */
  permissions: Permissions | undefined
  /** The effective configuration, for placeholders. */
  config: Config
  /** First levels of the host's topics. */
  root: string
  /** Told of every refusal. */
  refused(kind: GuardedKind, value: string, sentence: string): void
}

/** Where a plugin may do everything. */
const open: Guard = {
  connect: () => undefined,
  publish: () => undefined,
  subscribe: () => undefined,
  use: () => undefined,
  sees: () => true,
  topics: undefined,
}

export function createGuard({ plugin, permissions, config, root, refused }: GuardSettings): Guard {
  if (permissions === undefined) return open
  const allowed = resolvePermissions(permissions, config)
  const own = `${createTopics(root).ofPlugin(plugin)}/#`

  function refuse(kind: GuardedKind, value: string): string {
    const sentence = refusalSentence(plugin, kind, value)
    refused(kind, value, sentence)
    return sentence
  }

  const topics = { publish: [own, ...allowed.publish], subscribe: [own, ...allowed.subscribe] }

  const sees = (other: string): boolean =>
    other === plugin || allowed.plugins.some((pattern) => pluginMatches(pattern, other))

  return {
    sees,
    topics,
    connect(host, port) {
      if (allowed.hosts.some((pattern) => hostMatches(pattern, host, port))) return undefined
      return refuse('host', host)
    },
    publish(topic) {
      return isCovered(topics.publish, topic) ? undefined : refuse('publish', topic)
    },
    subscribe(filter) {
      return isCovered(topics.subscribe, filter) ? undefined : refuse('subscribe', filter)
    },
    use: (other) => (sees(other) ? undefined : refuse('plugin', other)),
  }
}
