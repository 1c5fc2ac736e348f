import { useState } from 'preact/hooks'
import type { Suggestion } from '../../../schema/manifest/suggestion.ts'
import { get } from '../../base/api.ts'
import type { Field } from '../../base/types.ts'

/** How long an answer is used, in milliseconds: objects and topics come and go. */
const freshFor = 10_000

const asked = new Map<string, { at: number; answer: Promise<readonly Suggestion[]> }>()

function ask(kind: string): Promise<readonly Suggestion[]> {
  const known = asked.get(kind)
  if (known !== undefined && performance.now() - known.at < freshFor) return known.answer
  const answer = get<{ suggestions: Suggestion[] }>(`/api/suggestions?kind=${kind}`).then(
    ({ suggestions }) => suggestions,
    // One can type without.
    () => [],
  )
  asked.set(kind, { at: performance.now(), answer })
  return answer
}

/** What the host knows for a field, asked for once somebody comes to it. */
export function useSuggestions({ suggest }: Field): { suggestions: readonly Suggestion[]; load(): void } {
  const [suggestions, setSuggestions] = useState<readonly Suggestion[]>([])
  return {
    suggestions,
    load() {
      if (suggest !== null) void ask(suggest).then(setSuggestions)
    },
  }
}

export function SuggestionList({ id, suggestions }: { id: string; suggestions: readonly Suggestion[] }) {
  return (
    <datalist id={id}>
      {suggestions.map(({ value, label }) => (
        <option key={value} value={value}>
          {label ?? ''}
        </option>
      ))}
    </datalist>
  )
}
