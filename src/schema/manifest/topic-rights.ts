import { hidesDollar, isBelow, isCovered, isFilter, isTopic, reachesBelow } from '../../base/topic-filter.ts'
import { hostTopicSentence, refusalSentence } from './permission-refusal.ts'
import { createTopics, isDiscoveryTopicOf, pluginTopic } from '../names/topics.ts'

/**
 * Who may do what on the bus (contract, section 4). Pure functions, for the host and for the workers; the host itself
 * is not asked.
 */

export function isBrokerInternal(topic: string): boolean {
  return topic === '$SYS' || topic.startsWith('$SYS/')
}

/**
 * Whether a message is a command to the host. It may hold a configuration with its secrets, so nobody but the host
 * gets it, whoever subscribes.
 */
export function isRequest(root: string, topic: string): boolean {
  return topic.startsWith(`${root}/request/`)
}

/**
 * What others than the host may say below the root: `R/request/<verb>`, or what sets something of a plugin,
 * `…/controls/<id>/set` and `…/exposed/<id>/<feature>/set`. Undefined for everything else.
 */
function commandOf(
  root: string,
  topic: string,
): { to: 'host' } | { to: 'plugin'; plugin: string } | undefined {
  const topics = createTopics(root)
  if (topics.parseRequest(topic) !== undefined) return { to: 'host' }
  const set = topics.parseControlSet(topic) ?? topics.parseExposedSet(topic)
  return set === undefined ? undefined : { to: 'plugin', plugin: set.plugin }
}

/** Whether a client may publish to this topic (or leave a will): anywhere, but below the root only commands. */
export function mayClientPublish(root: string, topic: string): boolean {
  if (!isTopic(topic) || isBrokerInternal(topic)) return false
  if (topic !== root && !isBelow(root, topic)) return true
  return commandOf(root, topic) !== undefined
}

/**
 * Whether what a client or a plugin has retained in an earlier run may stay so, with the root of this one: below it only
 * what plugins tell.
 */
export function mayStayRetained(root: string, publisher: 'client' | 'plugin', topic: string): boolean {
  if (!isTopic(topic) || isBrokerInternal(topic) || topic === root) return false
  return !isBelow(root, topic) || (publisher === 'plugin' && commandOf(root, topic) === undefined)
}

/** Whether a client may subscribe. The broker's `$SYS` tells of other clients; nobody sees it. */
export function maySubscribe(filter: string): boolean {
  return isFilter(filter) && !isBrokerInternal(filter)
}

/** Whether a subscriber gets a message, whatever its filter was. */
export function mayReceive(filter: string, topic: string): boolean {
  return !isBrokerInternal(topic) && !hidesDollar(filter, topic)
}

/** What one plugin may do on the bus. Plain data, so that its worker can answer Lua by the same rule as the host. */
export interface PluginTopicRights {
  /** First level(s) of the host's own topics. */
  root: string
  /** Full id. */
  plugin: string
  /** With whose topics this host announces its plugins to Home Assistant; absent: it does not. */
  announces?: { prefix: string; host: string } | undefined
  /** Filters of its permissions; absent: it declares none. */
  permitted?: { publish: string[]; subscribe: string[] } | undefined
}

/**
 * Why a plugin may not publish to this topic. `host`: no plugin may, for the topic is the host's own or a command to
 * the host. `permission`: its permissions do not name the topic; without permissions that is only what sets something
 * of another plugin. Undefined: it may.
 */
export function publishRefusal(rights: PluginTopicRights, topic: string): 'host' | 'permission' | undefined {
  const { root, plugin, announces, permitted } = rights
  if (!isTopic(topic) || isBrokerInternal(topic) || topic === root) return 'host'
  if (!isBelow(root, topic)) {
    if (announces !== undefined && isDiscoveryTopicOf(announces.prefix, announces.host, topic)) return 'host'
    return permitted === undefined || permits(root, permitted.publish, topic) ? undefined : 'permission'
  }
  const command = commandOf(root, topic)
  if (command?.to !== 'plugin') return 'host'
  if (command.plugin === plugin) return undefined
  return permits(root, permitted?.publish ?? [], topic) ? undefined : 'permission'
}

/** The same in a sentence for the plugin's author; undefined: it may. */
export function publishRefusalMessage(rights: PluginTopicRights, topic: string): string | undefined {
  const refusal = publishRefusal(rights, topic)
  if (refusal === undefined) return undefined
  return refusal === 'host' ? hostTopicSentence(topic) : refusalSentence(rights.plugin, 'publish', topic)
}

/** Whether a plugin may make this subscription. What it then hears is `mayHear`'s to say. */
export function mayPluginSubscribe({ root, plugin, permitted }: PluginTopicRights, filter: string): boolean {
  if (!maySubscribe(filter)) return false
  return (
    permitted === undefined ||
    permits(root, [...permitted.subscribe, `${pluginTopic(root, plugin)}/#`], filter)
  )
}

/**
 * Whether a plugin gets a message on a subscription that it was allowed to make. `maySubscribeTo`: whether it might make one
 * of the topic itself, where somebody remembers that.
 */
export function mayHear(
  rights: PluginTopicRights,
  filter: string,
  topic: string,
  maySubscribeTo = (named: string): boolean => mayPluginSubscribe(rights, named),
): boolean {
  const { root } = rights
  if (!isBelow(root, topic)) return true
  if (isRequest(root, topic)) return false
  // A wildcard in front of the root was allowed for what is outside of it.
  return isBelow(root, filter) || maySubscribeTo(topic)
}

/** Whether a plugin may get everything that a filter can match. */
export function mayHearAll(rights: PluginTopicRights, filter: string): boolean {
  if (!mayPluginSubscribe(rights, filter)) return false
  return rights.permitted === undefined || isBelow(rights.root, filter) || !reachesBelow(rights.root, filter)
}

/** Whether filters of permissions cover a topic or filter. Below the root only those count that begin with it. */
function permits(root: string, patterns: readonly string[], filter: string): boolean {
  const counting = isBelow(root, filter) ? patterns.filter((pattern) => isBelow(root, pattern)) : patterns
  return isCovered(counting, filter)
}

/** How manifests write the root, whatever it is called on this host. */
const writtenRoot = 'host'

/** A filter of a manifest with this host's root in place of the one that manifests write. */
export function withRoot(root: string, pattern: string): string {
  return isBelow(writtenRoot, pattern) ? `${root}${pattern.slice(writtenRoot.length)}` : pattern
}

/** Whether everything that the filter `narrow` of a manifest permits is permitted by `wide` as well. */
export function permissionCovers(wide: string, narrow: string): boolean {
  return permits(writtenRoot, [wide], narrow)
}

/** Whether a filter of a manifest reaches what is below the root. */
export function namesRoot(pattern: string): boolean {
  return isBelow(writtenRoot, pattern)
}
