import { messageOf } from '../../base/problem.ts'
import { type Applied, foldEvent, type HostState, type PluginSnapshot } from '../../journal/fold/evolve.ts'
import type { Vault } from '../../journal/vault.ts'
import type { JournalEvent } from '../../schema/journal/journal-event.ts'
import { StoreRefusedError } from '../store/store-errors.ts'
import type { StoredMessage } from '../store/store-stream.ts'
import { decodeMessage } from './stream-message.ts'

/** One message of the stream, and what follows from it. */
export interface Step {
  event: JournalEvent
  rest: JournalEvent[]
  applied: Applied
  subject: string
  firstJournalEnd: number
}

/** What follows from messages of the stream `name` that are newer than `before`. Throws one sentence at one that cannot be taken in. */
export function foldMessages(
  name: string,
  messages: readonly StoredMessage[],
  before: HostState,
  vault: Vault,
): { steps: Step[]; state: () => HostState } {
  const changed = new Map<string, PluginSnapshot>()
  const plugins = { get: (id: string) => changed.get(id) ?? before.plugins.get(id) }
  let { seq, host } = before
  const steps: Step[] = []
  for (const message of messages) {
    if (message.seq <= seq) continue
    if (message.seq > seq + 1) throw missing(name, seq + 1, message.seq - 1)
    try {
      const { event, rest, firstJournalEnd } = decodeMessage(message.data, message.seq, vault)
      const applied = foldEvent({ seq, host, plugins }, event)
      host = applied.host
      if (event.plugin !== null && applied.plugin !== undefined) changed.set(event.plugin, applied.plugin)
      steps.push({ event, rest, applied, subject: message.subject, firstJournalEnd })
    } catch (error) {
      throw new StoreRefusedError(
        `Event ${message.seq} of the stream ${name} cannot be taken in: ${messageOf(error)}. ` +
          'If other hosts of the fleet are newer, update this one.',
        { cause: error },
      )
    }
    seq = message.seq
  }
  return { steps, state: () => ({ seq, host, plugins: new Map([...before.plugins, ...changed]) }) }
}

function missing(name: string, first: number, last: number): StoreRefusedError {
  return new StoreRefusedError(
    `The events ${first} to ${last} are missing in the stream ${name}: somebody has emptied it. Put its files ` +
      'back from a backup, or start this host in a directory whose copy has them.',
  )
}
