import { getOrInsert } from '../base/get-or-insert.ts'

/** Values by the topic filters that they were added with, as a tree of levels. */
export interface TopicMatcher<T> {
  add(filter: string, value: T): void
  /** Removes one that was added with this filter, the latest of equal ones. */
  remove(filter: string, value: T): void
  /** Those whose filters match the topic, `$` or not. Nobody changes the list. */
  match(topic: string): readonly T[]
}

interface Level<T> {
  /** By the text of the next level, wildcards included. Absent: it is the last one, as most are. */
  next?: Map<string, Level<T>>
  /** Absent: no filter ends here. */
  values?: T[]
}

/** Values and topics, together, that are remembered as the answers to earlier questions. */
const rememberedLimit = 20_000
/** Characters of a topic that is remembered; a client may invent long ones. */
const rememberedTopicLength = 256

/**
 * Most messages come on a few topics, again and again, while nobody subscribes: what a topic has matched is remembered
 * until the next change.
 */
export function createTopicMatcher<T>(): TopicMatcher<T> {
  const root: Level<T> = {}
  const remembered = new Map<string, readonly T[]>()
  let rememberedSize = 0

  function forget(): void {
    remembered.clear()
    rememberedSize = 0
  }

  function remember(topic: string, found: readonly T[]): void {
    const size = found.length + 1
    if (topic.length > rememberedTopicLength || size > rememberedLimit) return
    if (rememberedSize + size > rememberedLimit) forget()
    remembered.set(topic, found)
    rememberedSize += size
  }

  function removeFrom(level: Level<T>, levels: readonly string[], depth: number, value: T): void {
    const name = levels[depth]
    if (name === undefined) {
      const index = level.values?.lastIndexOf(value) ?? -1
      if (index >= 0) level.values?.splice(index, 1)
      if (level.values?.length === 0) delete level.values
      return
    }
    const next = level.next?.get(name)
    if (next === undefined) return
    removeFrom(next, levels, depth + 1, value)
    if (next.values !== undefined || next.next !== undefined) return
    level.next?.delete(name)
    if (level.next?.size === 0) delete level.next
  }

  return {
    add(filter, value) {
      forget()
      let level = root
      for (const name of filter.split('/')) {
        level.next ??= new Map()
        level = getOrInsert(level.next, name, () => ({}))
      }
      level.values ??= []
      level.values.push(value)
    },
    remove(filter, value) {
      forget()
      removeFrom(root, filter.split('/'), 0, value)
    },
    match(topic) {
      const known = remembered.get(topic)
      if (known !== undefined) return known
      const found: T[] = []
      collect(root, topic.split('/'), 0, found)
      remember(topic, found)
      return found
    },
  }
}

function collect<T>(
  { next, values = [] }: Level<T>,
  levels: readonly string[],
  depth: number,
  found: T[],
): void {
  // `a/#` is `a` as well.
  for (const value of next?.get('#')?.values ?? []) found.push(value)
  const name = levels[depth]
  if (name === undefined) {
    for (const value of values) found.push(value)
    return
  }
  if (next === undefined) return
  const same = next.get(name)
  if (same !== undefined) collect(same, levels, depth + 1, found)
  const any = next.get('+')
  if (any !== undefined) collect(any, levels, depth + 1, found)
}
