import { labelOfPath } from '../../schema/manifest/setting-label.ts'
import type { PermissionEntry, PermissionKind } from '../../schema/manifest/permissions.ts'

/** What a plugin may do, in plain words. */

const verbs: Readonly<Record<PermissionKind, string>> = {
  host: 'Connect to',
  publish: 'Publish to',
  subscribe: 'Listen to',
  plugin: 'Use the plugin',
  hooks: 'Be asked',
  serial: 'Use the serial port',
  discovery: 'Look on the network for',
  environment: 'Read the variable',
  everything: 'Everything',
}

/** Before words that say themselves what is used. */
const shortVerbs: Readonly<Partial<Record<PermissionKind, string>>> = {
  plugin: 'Use',
  serial: 'Use',
  environment: 'Read',
}

/** A value of the kind that stands for all there is. */
const anything: Readonly<Partial<Record<PermissionKind, string>>> = {
  host: 'any address',
  publish: 'any MQTT topic',
  subscribe: 'any MQTT topic',
  plugin: 'any other plugin',
  hooks: 'by anybody who can reach this host',
  serial: 'any serial port',
  discovery: 'any service',
  environment: 'any variable',
}

/** What a setting that a permission names is to be, by the permission's kind. */
const nouns: Readonly<Record<PermissionKind, string>> = {
  host: 'address',
  publish: 'topic',
  subscribe: 'topic',
  plugin: 'plugin',
  hooks: 'caller',
  serial: 'serial port',
  discovery: 'service',
  environment: 'variable',
  everything: 'value',
}

/** Where `${config.…}` of a permission leads: how the form calls the setting, and what it is now. */
export interface PermissionSettings {
  labelOf(key: string): string
  /** Undefined: not known yet. */
  valueOf(key: string): unknown
  /** What an entry comes to that speaks of each row of a list; undefined: not known yet. */
  rowsOf?(value: string): readonly string[] | undefined
}

/** Values of rows that are told by name. */
const toldRows = 5

const noSettings: PermissionSettings = { labelOf: (key) => labelOfPath([], key), valueOf: () => undefined }
const setting = /\$\{config\.([^{}]+)\}/g

/** The value as far as it is known; `words`: it is no name to be shown as code. */
function shownValue(
  { kind, value }: PermissionEntry,
  { labelOf, valueOf, rowsOf }: PermissionSettings,
): { text: string; words: boolean } {
  const keys = [...value.matchAll(setting)].map(([, key = '']) => key)
  const rows = keys.some((key) => key.includes('[]')) ? rowsOf?.(value) : undefined
  if (rows !== undefined) return shownRows(rows, nouns[kind])
  const text = value.replace(setting, (whole, key: string) => {
    const known = valueOf(key)
    return typeof known === 'string' || typeof known === 'number' ? String(known) : whole
  })
  const [unknown] = [...text.matchAll(setting)].map(([, key = '']) => key)
  if (keys.length > 0 && text === '') return { text: `no ${nouns[kind]}, as none is set`, words: true }
  if (unknown === undefined) return { text, words: false }
  const isAll = text === `\${config.${unknown}}`
  const noun = isAll ? `the ${nouns[kind]} that you set` : `${text.replace(setting, '…')}, with what you set`
  return { text: `${noun} under ${labelOf(unknown)}`, words: true }
}

function shownRows(rows: readonly string[], noun: string): { text: string; words: boolean } {
  if (rows.length === 0) return { text: `no ${noun}, as none is set`, words: true }
  const more = rows.length - toldRows
  const told = rows.slice(0, toldRows).join(', ')
  return { text: more > 0 ? `${told} and ${more} more` : told, words: false }
}

/** `what`: undefined for everything. `words`: `what` is no name. `all`: there is no limit to it. `rest`: the end. */
export function permissionInWords(
  entry: PermissionEntry,
  settings: PermissionSettings = noSettings,
): {
  verb: string
  what: string | undefined
  words: boolean
  rest: string
  all: boolean
} {
  const { kind, value } = entry
  const all = value === '*' || value === '#' || kind === 'hooks' ? anything[kind] : undefined
  const shown = shownValue(entry, settings)
  const words = shown.words || all !== undefined
  return {
    verb: (words ? shortVerbs[kind] : undefined) ?? verbs[kind],
    what: kind === 'everything' ? undefined : (all ?? shown.text),
    words,
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
