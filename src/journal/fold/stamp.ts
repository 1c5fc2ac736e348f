import { randomUUID } from 'node:crypto'
import type { Fact, JournalEvent, Origin } from '../../schema/journal/journal-event.ts'
import { withBoundedTexts } from './bounded-texts.ts'
import { type Applicable, type Applied, applyFact, type HostSnapshot, type PluginSnapshot } from './evolve.ts'

/** What the journal adds to all facts of one append. */
export interface Stamp {
  by: Origin
  /** Milliseconds since 1970. */
  now: number
  requestKey: string | undefined
  /** Of facts of a plugin, in a fleet; one that moves it speaks for itself. */
  author?: Author | undefined
}

/** A host of a fleet, and the epoch under which it holds a plugin. */
export interface Author {
  host: string
  epoch: number
}

export interface Stamped {
  steps: { event: JournalEvent; applied: Applied }[]
  host: HostSnapshot
  /** Of the plugins that the facts are of. */
  plugins: ReadonlyMap<string, PluginSnapshot>
}

/** Makes events of facts, on top of a state. Answers why not, when the machine refuses one. */
export function stampFacts(
  state: Applicable & { readonly seq: number },
  facts: readonly Fact[],
  { by, now, requestKey, author }: Stamp,
): Stamped | string {
  const at = new Date(now).toISOString()
  const draft = new Map<string, PluginSnapshot>()
  const plugins = { get: (id: string) => draft.get(id) ?? state.plugins.get(id) }
  let { seq, host } = state
  const steps: Stamped['steps'] = []
  for (const given of facts) {
    // As it will be read back: what JSON cannot say must not be in the live state either.
    const fact = withBoundedTexts(JSON.parse(JSON.stringify(given)) as Fact)
    const applied = applyFact({ host, plugins }, fact, at)
    if (applied === undefined) {
      return `${fact.type} is not possible now${fact.plugin === null ? '' : ` for ${fact.plugin}`}.`
    }
    seq += 1
    host = applied.host
    if (fact.plugin !== null && applied.plugin !== undefined) draft.set(fact.plugin, applied.plugin)
    const event: JournalEvent = {
      seq,
      id: randomUUID(),
      at,
      ...fact,
      revision: applied.revision,
      by,
      state: applied.value,
      ...(requestKey === undefined ? {} : { requestKey }),
      ...authorOf(fact, author),
    }
    steps.push({ event, applied })
  }
  return { steps, host, plugins: draft }
}

function authorOf(fact: Fact, author: Author | undefined): Partial<Author> {
  if (fact.type === 'PluginMoved') return { host: fact.data.to, epoch: fact.data.epoch }
  return fact.plugin === null || author === undefined ? {} : author
}
