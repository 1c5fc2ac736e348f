import { parseFullId } from '../../schema/names/identifier.ts'
import { pluginKey, pluginOfKey } from '../store/plugin-key.ts'

/** Names of stored values in the store: the bucket is a stream, as every client of NATS makes it. */

export function valuesStreamName(fleet: string): string {
  return `KV_LUPINE_${fleet}_VALUES`
}

/** Subject of the record of a plugin. */
export function recordSubject(fleet: string, plugin: string): string {
  return `$KV.LUPINE_${fleet}_VALUES.${pluginKey(plugin)}`
}

/** Subject of what shows which key the hosts share. No plugin is called so. */
export function sharedKeySubject(fleet: string): string {
  return `$KV.LUPINE_${fleet}_VALUES._key`
}

/** Subjects of what else there is of a plugin. */
export function partSubjects(fleet: string, plugin: string): string {
  return `${recordSubject(fleet, plugin)}.>`
}

/** `id`: the epoch that it was written under, and what no other part has. */
export function partSubject(fleet: string, plugin: string, id: string, slice: number): string {
  return `${recordSubject(fleet, plugin)}.${id}.${slice}`
}

/** The epoch that a part was written under; undefined: the subject is of something else. */
export function epochOfPart(subject: string): number | undefined {
  const epoch = /\.(\d+)-[0-9a-f-]+\.\d+$/.exec(subject)?.[1]
  return epoch === undefined ? undefined : Number(epoch)
}

/** Where a record that cannot be read is put aside. */
export function asideSubject(fleet: string, plugin: string, revision: number): string {
  return `${recordSubject(fleet, plugin)}.damaged.${revision}`
}

/** The plugin whose record stands there; undefined: it is of something else. */
export function pluginOfSubject(subject: string): string | undefined {
  const [, , key, ...rest] = subject.split('.')
  if (key === undefined || rest.length > 0) return undefined
  return parseFullId(pluginOfKey(key))?.fullId
}
