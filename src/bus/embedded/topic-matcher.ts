/** Values by the topic filters that they were added with, as a tree of levels. */
export interface TopicMatcher<T> {
  add(filter: string, value: T): void
  /** Removes one that was added with this filter, the latest of equal ones. */
  remove(filter: string, value: T): void
  /** Those whose filters match the topic, `$` or not. Nobody changes the list. */
  match(topic: string): readonly T[]
}

interface Level<T> {
  /** By the text of the next level, wildcards included. */
  readonly next: Map<string, Level<T>>
  readonly values: T[]
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
  const root: Level<T> = { next: new Map(), values: [] }
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
      const index = level.values.lastIndexOf(value)
      if (index >= 0) level.values.splice(index, 1)
      return
    }
    const next = level.next.get(name)
    if (next === undefined) return
    removeFrom(next, levels, depth + 1, value)
    if (next.values.length === 0 && next.next.size === 0) level.next.delete(name)
  }

  return {
    add(filter, value) {
      forget()
      let level = root
      for (const name of filter.split('/')) {
        let next = level.next.get(name)
        if (next === undefined) {
          next = { next: new Map(), values: [] }
          level.next.set(name, next)
        }
        level = next
      }
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

function collect<T>(level: Level<T>, levels: readonly string[], depth: number, found: T[]): void {
  // `a/#` is `a` as well.
  const rest = level.next.get('#')
  if (rest !== undefined) for (const value of rest.values) found.push(value)
  const name = levels[depth]
  if (name === undefined) {
    for (const value of level.values) found.push(value)
    return
  }
  const same = level.next.get(name)
  if (same !== undefined) collect(same, levels, depth + 1, found)
  const any = level.next.get('+')
  if (any !== undefined) collect(any, levels, depth + 1, found)
}
