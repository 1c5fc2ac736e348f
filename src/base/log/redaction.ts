import { evictOldest } from '../evict-oldest.ts'
import { cutText, messageBytesLimit } from '../text/cut-text.ts'

/** What stands in place of something secret. */
const mask = '***'
/** Characters of a secret value that are shown, so that a person can tell one token from another. */
const shownPrefix = 5
/** Up to this many characters a value is hidden whole: its first five would be most of it. */
const wholeLimit = 8
/** Shorter secrets are not searched for in log lines: hiding every `1` would leave nothing to read. */
const searchableSecretLength = 3
/** Secrets learned on the way (each is looked for in every line); the oldest is forgotten for a new one. */
const learnedLimit = 200

/** Characters in which secrets are looked for; more than are shown, so that none is cut in half and missed. */
const searchedLimit = 2 * messageBytesLimit

// The length of the scheme is bounded, or a long word without one would cost quadratic time.
const credentialsInUrl = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@:]*:[^\s/?#]*@/gi

export function maskValue(text: string): string {
  const characters = [...text]
  return characters.length <= wholeLimit ? mask : `${characters.slice(0, shownPrefix).join('')}${mask}`
}

/** Hides the values of secret fields, and credentials in URLs, wherever they are in a text. */
export interface Redactor {
  redact(text: string): string
  /** The same of what somebody else wrote, cut to `messageBytesLimit`: of more only the beginning is looked at. */
  redactMessage(text: string): string
  /** From now on this text is hidden too. */
  hide(secret: string): void
  /** What is hidden now, each as it is; one that was learned only where it is long enough to be looked for. */
  readonly secrets: ReadonlySet<string>
}

export function createRedactor(secrets: readonly string[]): Redactor {
  const given = new Set(secrets.flatMap(formsOf))
  const learned = new Map<string, string[]>()
  const whole = new Set(secrets.filter((secret) => secret !== ''))
  let ordered = longestFirst(given)
  function redact(text: string): string {
    let redacted = text.replace(credentialsInUrl, `$1${mask}@`)
    for (const secret of ordered) redacted = redacted.replaceAll(secret, mask)
    return redacted
  }

  return {
    secrets: whole,
    redact,
    redactMessage(text) {
      if (text.length <= searchedLimit) return cutText(redact(text))
      return cutText(redact(text.slice(0, searchedLimit)), messageBytesLimit, text)
    },
    hide(secret) {
      if (learned.has(secret)) return
      learned.set(secret, formsOf(secret))
      if (secret.length >= searchableSecretLength) whole.add(secret)
      const forgotten = evictOldest(learned, learnedLimit)
      if (forgotten !== undefined && !secrets.includes(forgotten)) whole.delete(forgotten)
      ordered = longestFirst([...given, ...[...learned.values()].flat()])
    },
  }
}

/** A secret as it is, as it stands in a query, and within JSON. */
function formsOf(secret: string): string[] {
  if (secret.length < searchableSecretLength) return []
  return [...new Set([secret, percentEncoded(secret), JSON.stringify(secret).slice(1, -1)])]
}

/** So that a secret within another does not leave the rest of it readable. */
function longestFirst(texts: Iterable<string>): string[] {
  return [...texts].sort((a, b) => b.length - a.length)
}

/** Without lone surrogates, which have no encoding. */
function percentEncoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}
