/** Values by the topic filters that they were added with, as a tree of levels. */
export interface TopicMatcher<T> {
  add(filter: string, value: T): void
  /** Removes one that was added with this filter, the latest of equal ones. */
  remove(filter: string, value: T): void
  /** Those whose filters match the topic, `$` or not. Nobody changes the list. */
  match(topic: string): readonly T[]
  /** How much it is to look for what the topic matches, and to go through it: in values, as many as match at least. */
  cost(topic: string): number
}

interface Level<T> {
  /**
   * The levels after this one up to the next at which filters part, `+` included and `#` not. Absent: none. Thousands of long
   * filters have many in common, and each would have to be looked for.
   */
  rest?: readonly string[]
  /** By the text of the next level, wildcards included. Absent: it is the last one, as most are. */
  next?: Map<string, Level<T>>
  /** Absent: no filter ends here. */
  values?: T[]
}

/** Levels of filters that are looked at in the time in which a message goes to one more. */
const levelsAsValue = 12

/** Values and topics, together, that are remembered as the answers to earlier questions. */
const rememberedLimit = 20_000
/** Characters of a topic that count as one more; a client may invent long ones. */
const topicCharacters = 256

/**
 * Most messages come on a few topics, again and again, while nobody subscribes: what a topic has matched is remembered
 * until the next change.
 */
export function createTopicMatcher<T>(): TopicMatcher<T> {
  const root: Level<T> = {}
  const remembered = new Map<string, readonly T[]>()
  let rememberedSize = 0
  /** Levels that were looked at until now. */
  let looked = 0

  function forget(): void {
    remembered.clear()
    rememberedSize = 0
  }

  function remember(topic: string, found: readonly T[]): void {
    const size = found.length + 1 + Math.floor(topic.length / topicCharacters)
    if (size > rememberedLimit) return
    if (rememberedSize + size > rememberedLimit) forget()
    remembered.set(topic, found)
    rememberedSize += size
  }

  function match(topic: string): readonly T[] {
    const known = remembered.get(topic)
    if (known !== undefined) return known
    const search: Search<T> = { levels: topic.split('/'), found: [], looked: 0 }
    collect(root, 0, search)
    looked += search.looked
    remember(topic, search.found)
    return search.found
  }

  return {
    match,
    cost(topic) {
      const before = looked
      const { length } = match(topic)
      return length + (looked - before) / levelsAsValue
    },
    add(filter, value) {
      forget()
      const level = levelOf(root, filter.split('/'))
      level.values ??= []
      level.values.push(value)
    },
    remove(filter, value) {
      forget()
      removeFrom(root, filter.split('/'), 0, value)
    },
  }
}

const none: readonly string[] = []

const setRest = (level: Level<unknown>, rest: readonly string[]): void => {
  if (rest.length === 0) delete level.rest
  else level.rest = rest
}

/** The level at which a filter ends; it is made where there is none. */
function levelOf<T>(root: Level<T>, levels: readonly string[]): Level<T> {
  let level = root
  let depth = 0
  while (depth < levels.length) {
    const name = levels[depth] ?? ''
    level.next ??= new Map()
    const present = level.next.get(name)
    if (present === undefined) {
      const end = levels.at(-1) === '#' ? Math.max(levels.length - 1, depth + 1) : levels.length
      const made: Level<T> = {}
      setRest(made, levels.slice(depth + 1, end))
      level.next.set(name, made)
      level = made
      depth = end
    } else {
      const { rest = none } = present
      let same = 0
      while (same < rest.length && rest[same] === levels[depth + 1 + same]) same += 1
      if (same < rest.length) part(present, same)
      level = present
      depth += 1 + same
    }
  }
  return level
}

/** After the first `length` of the levels that follow it another filter goes on otherwise. */
function part<T>(level: Level<T>, length: number): void {
  const { rest = none, next, values } = level
  const lower: Level<T> = {
    ...(next === undefined ? {} : { next }),
    ...(values === undefined ? {} : { values }),
  }
  setRest(lower, rest.slice(length + 1))
  setRest(level, rest.slice(0, length))
  delete level.values
  level.next = new Map([[rest[length] ?? '', lower]])
}

/** Where filters do not part any more, what follows is one again. */
function join<T>(level: Level<T>): void {
  if (level.next?.size !== 1 || level.values !== undefined) return
  const [only] = level.next
  if (only === undefined || only[0] === '#') return
  const [name, { rest = none, next, values }] = only
  setRest(level, [...(level.rest ?? none), name, ...rest])
  if (next === undefined) delete level.next
  else level.next = next
  if (values !== undefined) level.values = values
}

function removeFrom<T>(level: Level<T>, levels: readonly string[], depth: number, value: T): void {
  const name = levels[depth]
  if (name === undefined) {
    const index = level.values?.lastIndexOf(value) ?? -1
    if (index >= 0) level.values?.splice(index, 1)
    if (level.values?.length === 0) delete level.values
    return
  }
  const next = level.next?.get(name)
  if (next === undefined) return
  const { rest = none } = next
  if (rest.some((one, index) => one !== levels[depth + 1 + index])) return
  removeFrom(next, levels, depth + 1 + rest.length, value)
  if (next.values !== undefined || next.next !== undefined) {
    join(next)
    return
  }
  level.next?.delete(name)
  if (level.next?.size === 0) delete level.next
}

/** Of one topic. */
interface Search<T> {
  readonly levels: readonly string[]
  readonly found: T[]
  looked: number
}

/** Whether the levels of a topic from `depth` on are those that follow. */
function follows(rest: readonly string[], depth: number, search: Search<unknown>): boolean {
  const { levels } = search
  if (depth + rest.length > levels.length) return false
  for (let index = 0; index < rest.length; index += 1) {
    search.looked += 1
    if (rest[index] !== '+' && rest[index] !== levels[depth + index]) return false
  }
  return true
}

function collect<T>({ next, values = [] }: Level<T>, depth: number, search: Search<T>): void {
  const { levels, found } = search
  search.looked += 1
  // `a/#` is `a` as well.
  for (const value of next?.get('#')?.values ?? []) found.push(value)
  const name = levels[depth]
  if (name === undefined) {
    for (const value of values) found.push(value)
    return
  }
  if (next === undefined) return
  collectBelow(next.get(name), depth + 1, search)
  collectBelow(next.get('+'), depth + 1, search)
}

function collectBelow<T>(level: Level<T> | undefined, depth: number, search: Search<T>): void {
  if (level === undefined) return
  if (level.rest === undefined) collect(level, depth, search)
  else if (follows(level.rest, depth, search)) collect(level, depth + level.rest.length, search)
}
