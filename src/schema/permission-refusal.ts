import type { PermissionKind } from './permissions.ts'

/** What a plugin can be refused. */
export type GuardedKind = Exclude<PermissionKind, 'everything' | 'environment'>

const places: Readonly<Record<GuardedKind, string>> = {
  host: 'permissions.hosts',
  publish: 'permissions.mqtt.publish',
  subscribe: 'permissions.mqtt.subscribe',
  plugin: 'permissions.plugins',
}

const deeds: Readonly<Record<GuardedKind, string>> = {
  host: 'connect to',
  publish: 'publish to',
  subscribe: 'subscribe to',
  plugin: 'use',
}

/** Says so of a topic to which no plugin may publish, whatever its manifest lists. */
export function hostTopicSentence(topic: string): string {
  return `no plugin may publish to ${JSON.stringify(topic)}: the topic is the host's own`
}

/** Says to the author of a plugin (full id) what was refused, and what to add to the manifest. */
export function refusalSentence(plugin: string, kind: GuardedKind, value: string): string {
  const quoted = JSON.stringify(value)
  return `the manifest of ${plugin} does not allow it to ${deeds[kind]} ${quoted}; add ${quoted} to ${places[kind]}`
}
