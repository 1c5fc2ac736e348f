import type { PermissionKind } from './permissions.ts'

/** What a plugin can be refused. */
export type GuardedKind = Exclude<PermissionKind, 'everything' | 'environment'>
type ListedKind = Exclude<GuardedKind, 'hooks'>

const places: Readonly<Record<ListedKind, string>> = {
  host: 'permissions.hosts',
  publish: 'permissions.mqtt.publish',
  subscribe: 'permissions.mqtt.subscribe',
  plugin: 'permissions.plugins',
  serial: 'permissions.serial',
  discovery: 'permissions.discovery',
}

const deeds: Readonly<Record<ListedKind, string>> = {
  host: 'connect to',
  publish: 'publish to',
  subscribe: 'subscribe to',
  plugin: 'use',
  serial: 'use the serial port',
  discovery: 'look on the network for',
}

/** Says so of a topic to which no plugin may publish, whatever its manifest lists. */
export function hostTopicSentence(topic: string): string {
  return `no plugin may publish to ${JSON.stringify(topic)}: the topic is the host's own`
}

/** Says to the author of a plugin (full id) what was refused, and what to add to the manifest, where that helps. */
export function refusalSentence(plugin: string, kind: GuardedKind, value: string): string {
  if (kind === 'hooks')
    return `the manifest of ${plugin} does not allow it to be asked by anybody (auth = "none"); add "hooks": ${JSON.stringify(value)} to permissions`
  const quoted = JSON.stringify(value)
  // Nobody sees it, whatever a manifest lists.
  if (kind === 'subscribe' && value.split('/')[0] === '$SYS')
    return `no plugin may subscribe to ${quoted}: the topic is the broker's own`
  return `the manifest of ${plugin} does not allow it to ${deeds[kind]} ${quoted}; add ${quoted} to ${places[kind]}`
}
