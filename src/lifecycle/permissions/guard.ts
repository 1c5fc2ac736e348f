import { isCovered } from '../../base/topic-filter.ts'
import { createTopics } from '../../bus/topics.ts'
import { type GuardedKind, refusalSentence } from '../../schema/permission-refusal.ts'
import type { Permissions } from '../../schema/permissions.ts'
import type { Config } from '../../schema/plugin.ts'
import { hostMatches } from './host-pattern.ts'
import { pluginMatches } from './permission-changes.ts'
import { resolvePermissions } from './resolve-permissions.ts'

/** Each function answers undefined when the plugin may, else why not, in a sentence for its author. */
export interface Checks {
  /** An HTTP request or a Modbus connection. */
  connect(host: string, port: number): string | undefined
  publish(topic: string): string | undefined
  subscribe(filter: string): string | undefined
  /** To get another plugin, by its full id, and to read its objects. */
  use(plugin: string): string | undefined
}

/** What one loaded plugin may do. */
export interface Guard extends Checks {
  /**
   * The same for what another plugin does for this one, because this one has called a method of the host on the
   * other's instance. Nothing is told or counted: it is the other one's worker that says who has called.
   */
  visiting: Checks
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
const everything: Checks = {
  connect: () => undefined,
  publish: () => undefined,
  subscribe: () => undefined,
  use: () => undefined,
}
const open: Guard = {
  ...everything,
  visiting: everything,
  sees: () => true,
  topics: undefined,
}

export function createGuard({ plugin, permissions, config, root, refused }: GuardSettings): Guard {
  if (permissions === undefined) return open
  const allowed = resolvePermissions(permissions, config)
  const own = `${createTopics(root).ofPlugin(plugin)}/#`

  const topics = { publish: [own, ...allowed.publish], subscribe: [own, ...allowed.subscribe] }

  const sees = (other: string): boolean =>
    other === plugin || allowed.plugins.some((pattern) => pluginMatches(pattern, other))

  const checks = (refuse: (kind: GuardedKind, value: string) => string): Checks => ({
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
  })

  return {
    ...checks((kind, value) => {
      const sentence = refusalSentence(plugin, kind, value)
      refused(kind, value, sentence)
      return sentence
    }),
    visiting: checks((kind, value) => refusalSentence(plugin, kind, value)),
    sees,
    topics,
  }
}
