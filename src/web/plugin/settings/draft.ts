import { signal } from '@preact/signals'
import { basePath } from '../../base/address.ts'
import { keepText, keptText } from '../../base/storage.ts'
import type { Field, Plugin } from '../../base/types.ts'
import { type Values, withMember } from './setting-places.ts'
import { hiddenValue } from '../../../schema/plugin/hidden-value.ts'
import { holdsSecret } from '../../../schema/manifest/holds-secret.ts'

/**
 * What somebody has typed into a form and not saved yet. It outlives a restart of the host, another page, and
 * a reload of this one; the secrets in it are kept in memory alone.
 */

/** By key; undefined: the stored value is to be removed. */
type Draft = ReadonlyMap<string, unknown>

const drafts = signal<ReadonlyMap<string, Draft>>(new Map())
const nothing: Draft = new Map()

function storageKey(id: string): string {
  // Hosts below different paths of one name share what a tab has stored.
  return `draft ${basePath}${id}`
}

export function draftOf(id: string): Draft {
  return drafts.value.get(id) ?? stored(id)
}

function stored(id: string): Draft {
  const text = keptText('sessionStorage', storageKey(id))
  if (text === null) return nothing
  const entries = JSON.parse(text) as [string, { value?: unknown }][]
  return new Map(entries.map(([key, { value }]) => [key, value]))
}

export function setDraft(plugin: Plugin, draft: Draft): void {
  drafts.value = new Map(drafts.peek()).set(plugin.id, draft)
  const open = [...draft].flatMap(([key, value]) => {
    const kept = withoutSecrets(
      plugin.fields.find((field) => field.key === key),
      value,
    )
    return kept === hiddenValue ? [] : [[key, { value: kept }]]
  })
  keepText('sessionStorage', storageKey(plugin.id), open.length === 0 ? null : JSON.stringify(open))
}

/**
 * What may be kept. In place of a secret stands what the API takes for the stored one: in a row that has none stored, the
 * form then asks for it.
 */
function withoutSecrets(field: Field | undefined, value: unknown): unknown {
  return mapSecrets(field, value, (secret) =>
    secret === undefined || secret === null || secret === '' ? secret : hiddenValue,
  )
}

/** The value with something else in place of each secret in it; of a text that may hold some, in place of the whole. */
function mapSecrets(
  field: Field | undefined,
  value: unknown,
  replace: (secret: unknown) => unknown,
): unknown {
  if (field === undefined || !holdsSecret(field)) return value
  if (field.secret || typeof value !== 'object' || value === null) return replace(value)
  const { items, fields } = field
  if (Array.isArray(value)) return value.map((one: unknown) => mapSecrets(items ?? field, one, replace))
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      mapSecrets(
        fields?.find((one) => one.key === key),
        member,
        replace,
      ),
    ]),
  )
}

/** The configuration as it would be saved. */
export function withDraft(config: Values, draft: Draft): Values {
  return [...draft].reduce((values, [key, value]) => withMember(values, key, value), config)
}

/**
 * What has been typed while `sent` was on its way to the host. `shown`: the configuration as the form shows it now,
 * `keys`: of all that was typed before and since.
 */
export function typedSince(shown: Values, sent: Values, keys: Iterable<string>): Draft {
  const since = [...keys].filter((key) => JSON.stringify(shown[key]) !== JSON.stringify(sent[key]))
  return new Map(since.map((key) => [key, shown[key]]))
}

export interface Difference {
  label: string
  before: string
  after: string
}

/** What saving would change, field by field. */
export function differences(plugin: Plugin, draft: Draft): Difference[] {
  return [...draft].flatMap(([key, value]) => {
    const before = plugin.config[key]
    if (JSON.stringify(before) === JSON.stringify(value)) return []
    const field = plugin.fields.find((candidate) => candidate.key === key)
    return [{ label: field?.label ?? key, before: shown(field, before), after: shown(field, value) }]
  })
}

function shown(field: Field | undefined, value: unknown): string {
  if (value === undefined)
    return field === undefined || field.default === null
      ? 'not set'
      : `default (${JSON.stringify(field.default)})`
  const secretInWords = (secret: unknown): string => (secret === hiddenValue ? 'stored secret' : 'new secret')
  return field?.secret === true
    ? secretInWords(value)
    : JSON.stringify(mapSecrets(field, value, secretInWords))
}
