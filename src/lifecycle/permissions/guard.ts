import { memoize } from '../../base/memoize.ts'
import { type GuardedKind, refusalSentence } from '../../schema/manifest/permission-refusal.ts'
import type { Permissions } from '../../schema/manifest/permissions.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import {
  mayHear,
  mayHearAll,
  mayPluginSubscribe,
  type PluginTopicRights,
  publishRefusalMessage,
} from '../../schema/manifest/topic-rights.ts'
import { hostMatches } from './host-pattern.ts'
import { nameMatches, pluginMatches } from './permission-changes.ts'
import { resolvePermissions } from './resolve-permissions.ts'

/** Each function answers undefined when the plugin may, else why not, in a sentence for its author. */
export interface Checks {
  /** An HTTP request, or a connection. */
  connect(host: string, port: number): string | undefined
  publish(topic: string): string | undefined
  subscribe(filter: string): string | undefined
  /** To get another plugin, by its full id, and to read its objects. */
  use(plugin: string): string | undefined
  /** To open a serial port, by its path. */
  serial(path: string): string | undefined
  /** To look for a service, or an SSDP target, on the network. */
  discover(service: string): string | undefined
}

/** What one loaded plugin may do. */
export interface Guard extends Checks {
  /**
   * The same for what another plugin does for this one, because this one has called a method of the host on the
   * other's instance. Nothing is told or counted: it is the other one's worker that says who has called.
   */
  foreignCalls: Checks
  /** Whether `use` would allow it; nothing is told or counted. */
  sees(plugin: string): boolean
  /** Whether a handler of requests from outside may be there for anybody; nothing is told or counted. */
  publicHooks: boolean
  /** The same of `serial`. */
  seesSerial(path: string): boolean
  /** Whether it gets this message on a subscription that it was allowed to make. */
  hears(filter: string, topic: string): boolean
  /** For the worker's own answer, by the same rule. */
  topics: PluginTopicRights
}

export interface GuardSettings {
  /** Full id of the plugin. */
  plugin: string
  /** Undefined: the manifest declares nothing. */
  permissions: Permissions | undefined
  /** The effective configuration, for placeholders. */
  config: Config
  /** First levels of the host's topics. */
  root: string
  /** With whose topics the host announces its plugins to Home Assistant. */
  announces?: PluginTopicRights['announces']
  /** Told of every refusal. */
  refused(kind: GuardedKind, value: string, sentence: string): void
}

export function createGuard(settings: GuardSettings): Guard {
  const { plugin, permissions, config, root, announces, refused } = settings
  const allowed = permissions === undefined ? undefined : resolvePermissions(permissions, config, root)
  const permitted = allowed && { publish: allowed.publish, subscribe: allowed.subscribe }
  const topics: PluginTopicRights = { root, plugin, announces, permitted }

  // What a plugin may does not change while it is loaded: whoever changes it has the plugin loaded anew.
  const whyNot = memoize((topic) => publishRefusalMessage(topics, topic))
  const mayHearTopic = memoize((topic) => mayPluginSubscribe(topics, topic))

  const sees = (other: string): boolean =>
    allowed === undefined ||
    other === plugin ||
    allowed.plugins.some((pattern) => pluginMatches(pattern, other))

  const seesSerial = (path: string): boolean =>
    // Two paths that differ in case alone are two ports.
    allowed === undefined || allowed.serial.some((pattern) => pattern === '*' || pattern === path)

  const checks = (
    refuse: (kind: GuardedKind, value: string, sentence?: string) => string,
    maySubscribe: typeof mayPluginSubscribe,
  ): Checks => ({
    connect(host, port) {
      if (allowed === undefined) return undefined
      if (allowed.hosts.some((pattern) => hostMatches(pattern, host, port))) return undefined
      return refuse('host', host)
    },
    publish(topic) {
      const sentence = whyNot(topic)
      return sentence === undefined ? undefined : refuse('publish', topic, sentence)
    },
    subscribe: (filter) => (maySubscribe(topics, filter) ? undefined : refuse('subscribe', filter)),
    use: (other) => (sees(other) ? undefined : refuse('plugin', other)),
    serial: (path) => (seesSerial(path) ? undefined : refuse('serial', path)),
    discover: (service) =>
      allowed === undefined || allowed.discovery.some((pattern) => nameMatches(pattern, service))
        ? undefined
        : refuse('discovery', service),
  })

  return {
    ...checks((kind, value, sentence = refusalSentence(plugin, kind, value)) => {
      refused(kind, value, sentence)
      return sentence
    }, mayPluginSubscribe),
    foreignCalls: checks(
      (kind, value, sentence = refusalSentence(plugin, kind, value)) => sentence,
      // What it hears is then the other one's to hear.
      mayHearAll,
    ),
    sees,
    seesSerial,
    hears: (filter, topic) => mayHear(topics, filter, topic, mayHearTopic),
    topics,
    publicHooks: permissions === undefined || permissions.hooks === 'public',
  }
}
