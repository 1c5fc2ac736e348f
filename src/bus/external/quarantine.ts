import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

/**
 * Keeps back what the broker ends the connection over. One of MQTT 3.1.1 has no other answer to a message that this user may not send, and
 * some hang up on characters in a topic, or on a size: sent again on each connection, that would keep everything else away.
 *
 * Who it is gets found out: after two connections that ended soon after each other, what is new goes in groups that are answered before
 * the next, so that it is known what was under way when a connection ends. From then on each of those goes alone, and the one with
 * which connections end all the same is kept back for a while.
 */
export interface Quarantine {
  /** Everything may go: nothing is under suspicion. */
  readonly isIdle: boolean
  /** How this may go now. `bytes`: a larger message may be refused where smaller ones on its topic were not. */
  admission(subject: Subject, bytes: number): Admission
  /** It is under way, but for what is free. */
  sent(subject: Subject, bytes: number): void
  /** The broker has answered something that came after these, so it takes them. */
  answered(subjects: Iterable<Subject>): void
  /** The connection is gone. `isBroken`: nobody here has ended it. Answers whether it is known what may have been the reason. */
  ended(isBroken: boolean): boolean
  close(): void
}

/** `free`: at once. `group`: with others that are new. `alone`: with nothing else under way. `held`: not now. */
export type Admission = 'free' | 'group' | 'alone' | 'held'

export interface Subject {
  /** Of messages; or `subscriptionTo` a filter. */
  topic: string
  /** Full id of the plugin whose message or subscription it is. */
  publisher?: string | undefined
}

export interface QuarantineSettings {
  clock: Clock
  /** The plugin whose topic this is, although it is not the one that publishes there. */
  ownerOf(topic: string): string | undefined
  /** This is kept back for so many milliseconds; a plugin: all of it that the broker has not taken before. */
  held(what: { topic: string; bytes: number } | { filter: string } | { plugin: string }, pause: number): void
  /** Something that was kept back may be tried again. */
  released(): void
}

/** No topic has this character. */
const subscriptionMark = '\0'
export const subscriptionTo = (filter: string): string => `${subscriptionMark}${filter}`

/** Milliseconds in which a second connection that ends makes the first one no chance. */
export const suspicionTime = 3_600_000
/** Connections that end with the same thing alone under way until it is kept back. */
const strikesLimit = 2
/** Milliseconds for which it is kept back at first, and at most; each time again it is twice as long. */
export const quarantineTime = { first: 60_000, longest: 21_600_000 }
/**
 * Things of one plugin with which connections have ended until it is kept back itself, as it may have a new topic for each message;
 * and so many that merely may have been the reason until what else is new of it goes alone.
 */
export const publisherLimit = 5
/** Milliseconds for which a plugin is. */
export const publisherTime = 3_600_000
/** Things that are remembered; then they are forgotten, the oldest or all. */
const suspectsLimit = 1_000
const takenLimit = 10_000

interface Suspect {
  publisher: string | undefined
  /** The smallest that was under way: smaller ones on its topic are not suspected. */
  bytes: number
  /** The smallest that was alone under way: only from there on it is kept back. */
  proven: number
  /** Connections that have ended with it alone under way. */
  strikes: number
  /** Milliseconds for which it is kept back the next time. */
  pause: number
  /** While it is kept back. */
  release: ScheduledCall | undefined
}

/** With the bytes of the smallest and of the largest message there. */
interface UnderWay {
  publisher: string | undefined
  least: number
  most: number
}

export function createQuarantine({ clock, ownerOf, held, released }: QuarantineSettings): Quarantine {
  const suspects = new Map<string, Suspect>()
  /** Plugins that are kept back. */
  const publishers = new Map<string, ScheduledCall>()
  /** What the broker has taken since there is a suspicion, with the most bytes of each. */
  const taken = new Map<string, number>()
  const underWay = new Map<string, UnderWay>()
  let brokenAt = Number.NEGATIVE_INFINITY
  let isProbing = false

  function forget(topic: string): void {
    suspects.get(topic)?.release?.cancel()
    suspects.delete(topic)
  }

  /** The broker takes so many bytes on the topic, which says nothing of more that were proven to be too many. */
  function clear(topic: string, bytes: number): void {
    const one = suspects.get(topic)
    if (one === undefined || bytes < one.bytes) return
    if (bytes >= one.proven || one.strikes === 0) forget(topic)
    else one.bytes = one.proven
  }

  function suspect(topic: string, { publisher, least, most }: UnderWay, isAlone: boolean): void {
    const one = suspects.get(topic) ?? {
      ...{ publisher, bytes: least, proven: Number.POSITIVE_INFINITY },
      ...{ strikes: 0, pause: quarantineTime.first, release: undefined },
    }
    one.bytes = Math.min(one.bytes, least)
    suspects.set(topic, one)
    const [oldest] = suspects.keys()
    if (suspects.size > suspectsLimit && oldest !== undefined) forget(oldest)
    // What has been kept back before is not given the benefit of the doubt.
    if (!isAlone && (one.strikes < strikesLimit || most < one.proven)) return
    one.proven = Math.min(one.proven, most)
    one.strikes += 1
    if (one.strikes >= strikesLimit) hold(topic, one)
    if (publisher !== undefined) holdPublisher(publisher)
  }

  function hold(topic: string, one: Suspect): void {
    const { pause } = one
    one.pause = Math.min(pause * 2, quarantineTime.longest)
    one.release?.cancel()
    one.release = clock.schedule(pause, () => {
      one.release = undefined
      released()
    })
    const isFilter = topic.startsWith(subscriptionMark)
    held(isFilter ? { filter: topic.slice(subscriptionMark.length) } : { topic, bytes: one.proven }, pause)
  }

  const suspectsOf = (plugin: string): [string, Suspect][] =>
    [...suspects].filter(([, { publisher }]) => publisher === plugin)

  /** With several at a time on topics that do not come again, none of them would ever be alone. */
  const isOften = (plugin: string | undefined): boolean =>
    plugin !== undefined && suspectsOf(plugin).length >= publisherLimit

  function holdPublisher(plugin: string): void {
    const proven = suspectsOf(plugin).filter(([, { strikes }]) => strikes > 0)
    if (proven.length < publisherLimit || publishers.has(plugin)) return
    const release = (): void => {
      publishers.delete(plugin)
      for (const [topic] of suspectsOf(plugin)) forget(topic)
      released()
    }
    publishers.set(plugin, clock.schedule(publisherTime, release))
    held({ plugin }, publisherTime)
  }

  function isOfHeld({ topic, publisher }: Subject): boolean {
    const plugin = publishers.size === 0 ? undefined : (publisher ?? ownerOf(topic))
    return plugin !== undefined && publishers.has(plugin)
  }

  return {
    get isIdle() {
      return !isProbing && suspects.size === 0 && publishers.size === 0
    },
    admission(subject, bytes) {
      const known = suspects.get(subject.topic)
      const most = taken.get(subject.topic)
      if (most === undefined && isOfHeld(subject)) return 'held'
      if (known?.release !== undefined && bytes >= known.proven) return 'held'
      if (known !== undefined && bytes >= known.bytes) return 'alone'
      if (!isProbing || (most ?? -1) >= bytes) return 'free'
      return isOften(subject.publisher ?? ownerOf(subject.topic)) ? 'alone' : 'group'
    },
    sent({ topic, publisher }, bytes) {
      const { least, most } = underWay.get(topic) ?? { least: bytes, most: bytes }
      underWay.set(topic, {
        ...{
          publisher: publisher ?? ownerOf(topic),
          least: Math.min(least, bytes),
          most: Math.max(most, bytes),
        },
      })
    },
    answered(subjects) {
      for (const { topic } of subjects) {
        const { most } = underWay.get(topic) ?? {}
        if (most === undefined) continue
        underWay.delete(topic)
        clear(topic, most)
        taken.set(topic, Math.max(taken.get(topic) ?? 0, most))
      }
      if (taken.size > takenLimit) taken.clear()
      if (!isProbing || clock.monotonic() - brokenAt < suspicionTime) return
      isProbing = false
      taken.clear()
      for (const [topic, { strikes }] of suspects) if (strikes === 0) forget(topic)
    },
    ended(isBroken) {
      const left = [...underWay]
      underWay.clear()
      if (!isBroken) return false
      const now = clock.monotonic()
      isProbing = now - brokenAt < suspicionTime
      brokenAt = now
      // It was something that the broker has taken before, or nothing of ours.
      if (left.length === 0) taken.clear()
      for (const [topic, sent] of left) suspect(topic, sent, left.length === 1)
      return left.length > 0
    },
    close() {
      for (const topic of [...suspects.keys()]) forget(topic)
      for (const call of publishers.values()) call.cancel()
    },
  }
}
