import type { JsonObject } from '../../base/text/json.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import { isEventType, parseStoredEvent } from '../../schema/journal/stored-event.ts'
import { withBoundedTexts } from '../fold/bounded-texts.ts'
import { decodeLine } from './journal-line.ts'
import { NewerFormatError, type Upcasters, upcast } from './upcast.ts'
import { changeEvent, type Vault } from '../vault.ts'

/** The event in a line of the journal. Throws a sentence at one that cannot be believed. */
export function parseLine(line: Uint8Array, lift: Upcasters, vault: Vault): JournalEvent {
  const decoded = decodeLine(line)
  if (!decoded.ok) throw new Error(decoded.reason)
  return parseValue(decoded.value, lift, vault)
}

/** The same for what stood in the line. */
export function parseValue(value: JsonObject, lift: Upcasters, vault: Vault): JournalEvent {
  const lifted = upcast(changeEvent(vault.open, value), lift)
  if (typeof lifted.type === 'string' && !isEventType(lifted.type)) {
    throw new NewerFormatError(`it is a ${JSON.stringify(lifted.type)}, which only a newer Lupine knows`)
  }
  const parsed = parseStoredEvent(lifted)
  if (!parsed.ok) throw new Error(parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; '))
  const { version: _version, ...event } = parsed.value
  return withBoundedTexts(event)
}
