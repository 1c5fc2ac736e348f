import { isJsonObject, type JsonObject } from '../../base/text/json.ts'
import { decodeLine, encodeLine } from '../../journal/lines/journal-line.ts'
import { parseValue } from '../../journal/lines/stored-line.ts'
import { upcasters } from '../../journal/lines/upcast.ts'
import { changeEvent, type Vault } from '../../journal/vault.ts'
import { type JournalEvent, journalFormatVersion } from '../../schema/journal/journal-event.ts'

/**
 * A message of the journal's stream: one event, with a checksum, as in a line of a journal on disk. Its number is that of
 * the message. `rest`: the other events of the same append, which are to follow on the same subject before anything
 * else does. The stream takes one message at a time; whoever finds a rest that does not stand there yet writes it down.
 */
export interface StreamMessage {
  event: JournalEvent
  rest: JournalEvent[]
  /**
   * Of an event of the first host, brought by `lupine fleet join`: the number of the last one that it brings. Until that
   * is there the fleet is not one yet. 0: it is none.
   */
  firstJournalEnd: number
}

/** Secrets are encrypted before they leave the host. */
export function encodeMessage(
  event: JournalEvent,
  rest: readonly JournalEvent[],
  vault: Vault,
  firstJournalEnd?: number,
): string {
  const sealed = sealedWithoutNumber(event, vault)
  if (firstJournalEnd !== undefined) return encodeLine({ ...sealed, firstJournalEnd })
  if (rest.length === 0) return encodeLine(sealed)
  return encodeLine({ ...sealed, rest: rest.map((next) => sealedWithoutNumber(next, vault)) })
}

function sealedWithoutNumber(event: JournalEvent, vault: Vault): JsonObject {
  const { seq: _seq, ...rest } = event
  // Events are made of what JSON says.
  return changeEvent(vault.seal, { version: journalFormatVersion, ...rest } as unknown as JsonObject)
}

/** Throws a sentence at a message that cannot be believed. */
export function decodeMessage(data: Uint8Array, seq: number, vault: Vault): StreamMessage {
  const decoded = decodeLine(data)
  if (!decoded.ok) throw new Error(decoded.reason)
  const { rest, firstJournalEnd, ...value } = decoded.value
  const following = Array.isArray(rest) ? rest.filter(isJsonObject) : []
  return {
    event: parseValue({ ...value, seq }, upcasters, vault),
    // Their numbers follow from where they will stand.
    rest: following.map((next) => parseValue({ ...next, seq }, upcasters, vault)),
    firstJournalEnd: typeof firstJournalEnd === 'number' ? firstJournalEnd : 0,
  }
}
