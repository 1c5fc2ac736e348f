import type { PermissionEntry, PermissionKind } from '../../schema/permissions.ts'

/** What a plugin may do, in plain words. */

const words: Readonly<Record<PermissionKind, string>> = {
  host: 'Connect to',
  publish: 'Publish to',
  subscribe: 'Listen to',
  plugin: 'Use the plugin',
  environment: 'Read the variable',
  everything: 'Everything',
}

/** A value of the kind that stands for all there is. */
const anything: Readonly<Partial<Record<PermissionKind, string>>> = {
  host: 'any address',
  publish: 'any MQTT topic',
  subscribe: 'any MQTT topic',
  plugin: 'any other',
  environment: 'any there is',
}

/** `what`: undefined for everything. `all`: there is no limit to it. `rest`: the end of the sentence. */
export function permissionInWords({ kind, value }: PermissionEntry): {
  verb: string
  what: string | undefined
  rest: string
  all: boolean
} {
  const all = value === '*' || value === '#' ? anything[kind] : undefined
  return {
    verb: words[kind],
    what: kind === 'everything' ? undefined : (all ?? value),
    rest: kind === 'environment' ? ' of the host' : '',
    all: all !== undefined || kind === 'everything',
  }
}

/** In one line of a history. */
export function permissionsInWords(entries: readonly PermissionEntry[]): string {
  const parts = entries.map((entry) => {
    const { verb, what, rest } = permissionInWords(entry)
    return what === undefined
      ? 'do everything'
      : `${verb.charAt(0).toLowerCase()}${verb.slice(1)} ${what}${rest}`
  })
  return parts.join(', ')
}
