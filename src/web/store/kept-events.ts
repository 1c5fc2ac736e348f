import { valueText } from '../base/words.ts'

/** What of the events of one plugin stays in the page, which may be open for days while they are emitted, each of megabytes. */

/** Most events. */
export const keptEvents = 500
/** Characters of one. */
const keptOfOne = 20_000
/** Characters of all together. */
const keptOfAll = 4_000_000

export interface EmittedEvent {
  /** For lists: no two have the same. */
  key: number
  /** Milliseconds since 1970, when it came here. */
  at: number
  name: string
  /** Where it is too long, the beginning of its text. */
  data: unknown
  /** Characters that it takes. */
  size: number
}

export interface KeptEvents {
  /** Oldest first. */
  events: EmittedEvent[]
  /** Characters of all. */
  size: number
}

/** Adds one, in place. */
export function keepEvent(kept: KeptEvents, event: EmittedEvent): void {
  const { name, data, size } = event
  const added =
    size <= keptOfOne ? event : { ...event, data: beginningOf(data), size: name.length + keptOfOne }
  kept.events.push(added)
  kept.size += added.size
  // Cut in steps: moving the list for each event would cost more than the event.
  if (kept.events.length <= keptEvents * 2 && kept.size <= keptOfAll * 2) return
  let gone = 0
  while (kept.events.length - gone > keptEvents || kept.size > keptOfAll) {
    kept.size -= kept.events[gone]?.size ?? 0
    gone += 1
  }
  kept.events.splice(0, gone)
}

function beginningOf(data: unknown): string {
  const text = valueText(data)
  // A part of a text would hold on to the whole of it.
  const beginning = JSON.parse(JSON.stringify(text.slice(0, keptOfOne))) as string
  const more = text.length - beginning.length
  if (more <= 0) return beginning
  return `${beginning}… and ${more.toLocaleString('en')} more characters, which go over MQTT`
}
