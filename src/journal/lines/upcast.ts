import { isJsonObject, type JsonObject } from '../../base/text/json.ts'
import { journalFormatVersion } from '../../schema/journal/journal-event.ts'

/** Lifts a stored event from one format version to the next; the key is the version it takes. */
export type Upcasters = Readonly<Record<number, (event: JsonObject) => JsonObject>>

/** Version 1 is the first: there is nothing to lift yet. */
export const upcasters: Upcasters = {}

/** What a newer Lupine has written: whole, and not to be read here. The message says what of it. */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError'
}

/** Throws `NewerFormatError` at a value whose form has a later version than this program knows. */
export function requireKnownFormat(value: unknown, known: number): void {
  const version = isJsonObject(value) ? value.version : undefined
  if (typeof version !== 'number' || version <= known) return
  throw new NewerFormatError(
    `it was written in format ${version} by a newer Lupine; this one reads up to ${known}`,
  )
}

/** Brings a stored event to the present format. Throws with a sentence when no way leads there. */
export function upcast(
  event: JsonObject,
  lift: Upcasters = upcasters,
  target = journalFormatVersion,
): JsonObject {
  requireKnownFormat(event, target)
  let current = event
  for (let version = versionOf(event); version !== target; version += 1) {
    const step = lift[version]
    if (step === undefined) throw new Error(`nothing lifts format ${version} to ${version + 1}`)
    current = { ...step(current), version: version + 1 }
  }
  return current
}

function versionOf(event: JsonObject): number {
  if (typeof event.version !== 'number' || !Number.isInteger(event.version) || event.version < 0) {
    throw new Error('it has no format version')
  }
  return event.version
}
