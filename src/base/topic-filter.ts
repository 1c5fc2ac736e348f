/** Names and filters of MQTT topics (MQTT 3.1.1, section 4.7). Pure functions. */

/** Bytes of UTF-8; the protocol counts the length of a topic with 16 bits. */
const topicBytesLimit = 65_535

/** Levels of a topic or filter; the embedded broker's matcher throws beyond this. */
export const topicLevelsLimit = 100

function isWithinLimits(text: string): boolean {
  if (text.length === 0 || text.length > topicBytesLimit || text.includes('\u0000')) return false
  return Buffer.byteLength(text) <= topicBytesLimit && text.split('/').length <= topicLevelsLimit
}

/** Whether a message can be published to it: not empty, no wildcard, no NUL, not too long or deep. */
export function isTopic(text: string): boolean {
  return isWithinLimits(text) && !/[+#]/.test(text)
}

/** Whether it can be subscribed to: `+` only as a whole level, `#` only as the whole last one. */
export function isFilter(text: string): boolean {
  if (!isWithinLimits(text)) return false
  const levels = text.split('/')
  return levels.every(
    (level, index) => level === '+' || (level === '#' ? index === levels.length - 1 : !/[+#]/.test(level)),
  )
}

export function hasWildcard(filter: string): boolean {
  return /[+#]/.test(filter)
}

/** Whether a topic or filter begins with these levels, and goes on after them. */
export function isBelow(root: string, filter: string): boolean {
  return filter.startsWith(root) && filter[root.length] === '/'
}

/** Whether a filter matches some topic below these levels. */
export function reachesBelow(root: string, filter: string): boolean {
  const levels = filter.split('/')
  const above = root.split('/')
  for (const [index, level] of above.entries()) {
    const given = levels[index]
    if (given === '#') return true
    if (given !== '+' && given !== level) return false
  }
  return levels.length > above.length
}

/** Whether a wildcard stands where the topic has its `$` (`#` does not mean `$SYS/…`; section 4.7.2). */
export function hidesDollar(filter: string, topic: string): boolean {
  return topic.startsWith('$') && (filter.startsWith('+') || filter.startsWith('#'))
}

/** Of a subscription that several clients take turns in (MQTT 5, section 4.8.2): `$share/<name>/<filter>`. */
const sharedPrefix = '$share/'

export function isShared(filter: string): boolean {
  return filter.startsWith(sharedPrefix)
}

/** What a subscription is to, whether it is shared or not. */
export function withoutShare(filter: string): string {
  return isShared(filter) ? filter.split('/').slice(2).join('/') : filter
}

export function filterMatches(filter: string, topic: string): boolean {
  if (hidesDollar(filter, topic)) return false
  const wanted = filter.split('/')
  const given = topic.split('/')
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= given.length) return false
    if (level !== '+' && level !== given[index]) return false
  }
  return wanted.length === given.length
}

/** Whether `pattern` matches every topic that `filter` matches. A topic is a filter that matches itself. */
export function filterCovers(pattern: string, filter: string): boolean {
  // A wildcard in front leaves out what begins with `$`.
  if (hidesDollar(pattern, filter)) return false
  // Every topic has a first level.
  const wide = pattern === '+/#' ? ['#'] : pattern.split('/')
  const narrow = filter.split('/')
  for (const [index, level] of wide.entries()) {
    if (level === '#') return true
    const given = narrow[index]
    // `a/#` is `a` too, and `a/b/c`: it takes another `#` to cover it.
    if (given === undefined || given === '#') return false
    if (level !== '+' && level !== given) return false
  }
  return narrow.length === wide.length
}

/** Whether one of `patterns` matches every topic that `filter` matches. */
export function isCovered(patterns: readonly string[], filter: string): boolean {
  return patterns.some((pattern) => filterCovers(pattern, filter))
}
