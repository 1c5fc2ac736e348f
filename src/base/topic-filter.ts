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

const slash = 0x2f
const plus = 0x2b
const hash = 0x23

/** Without a list of levels, as it is asked for every filter of many, message by message. */
export function filterMatches(filter: string, topic: string): boolean {
  if (hidesDollar(filter, topic)) return false
  // Where a level begins; one behind the end when there is none any more.
  let at = 0
  for (let index = 0; ; index += 1, at += 1) {
    const first = filter.charCodeAt(index)
    const isAlone = index + 1 === filter.length || filter.charCodeAt(index + 1) === slash
    if (first === hash && isAlone) return true
    if (at > topic.length) return false
    if (first === plus && isAlone) {
      index += 1
      while (at < topic.length && topic.charCodeAt(at) !== slash) at += 1
    } else {
      for (; index < filter.length && filter.charCodeAt(index) !== slash; index += 1, at += 1)
        if (filter.charCodeAt(index) !== topic.charCodeAt(at)) return false
      if (at < topic.length && topic.charCodeAt(at) !== slash) return false
    }
    if (index >= filter.length) return at >= topic.length
  }
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
