import { filterMatches, hasWildcard, hidesDollar } from '../../base/topic-filter.ts'
import { createTopicMatcher } from '../topic-matcher.ts'

/** From how many filters on a matcher takes less time than one after the other. */
const manyFilters = 8
/** Filters and levels that are looked at, about, before others have their turn: some milliseconds. */
const costPerTurn = 2_000
/** Of a filter that becomes part of a matcher. */
const costOfFilter = 4

/**
 * The topics that one of the filters matches, each once. Undefined stands between them where much has been looked at: who can
 * lets others have their turn. Topics may come and go meanwhile.
 */
export function* searchTopics(
  filters: readonly string[],
  topics: ReadonlyMap<string, unknown>,
): Generator<string | undefined> {
  const wildcards = filters.filter(hasWildcard)
  const matcher = wildcards.length < manyFilters ? undefined : createTopicMatcher<string>()
  let cost = 0

  function isTurnOver(more: number): boolean {
    cost += more
    if (cost < costPerTurn) return false
    cost = 0
    return true
  }

  const isWild = (topic: string): boolean =>
    matcher === undefined
      ? wildcards.some((filter) => filterMatches(filter, topic))
      : matcher.match(topic).some((filter) => !hidesDollar(filter, topic))
  const costOf = (topic: string): number => 1 + (matcher?.cost(topic) ?? wildcards.length)

  for (const filter of matcher === undefined ? [] : wildcards) {
    matcher?.add(filter, filter)
    if (isTurnOver(costOfFilter)) yield undefined
  }
  for (const filter of new Set(filters)) {
    if (hasWildcard(filter) || !topics.has(filter)) continue
    if (isTurnOver(costOf(filter))) yield undefined
    if (!isWild(filter)) yield filter
  }
  if (wildcards.length === 0) return
  // Those that come meanwhile stand behind these, and one that goes and comes again and again would have no end.
  let left = topics.size
  for (const topic of topics.keys()) {
    if (left === 0) return
    left -= 1
    if (isTurnOver(costOf(topic))) yield undefined
    if (isWild(topic)) yield topic
  }
}
