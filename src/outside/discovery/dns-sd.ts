import type { ScheduledCall } from '../../base/time/clock.ts'
import { type DnsQuestion, type DnsRecord, readAnswer, writeQueries } from './dns-message.ts'
import { createDueTimer } from './due-timer.ts'
import type { FinderContext, FinderProtocol } from './finder.ts'
import { createHostAddresses } from './host-addresses.ts'
import {
  allowForStandstill,
  doubtTime,
  type Lease,
  leaseOfRecord,
  nextDue,
  shorten,
  takeDueQuery,
} from './lease.ts'
import type { MulticastPlace } from './multicast-sockets.ts'
import { readTexts, type Txt } from './txt-record.ts'

/** DNS-SD over multicast DNS (RFC 6763 and 6762), as far as it takes to find services. */

export const multicastDns: MulticastPlace = {
  groups: { IPv4: '224.0.0.251', IPv6: 'ff02::fb' },
  port: 5353,
  answersTo: 'group',
}

/** Things found of one service. */
export const instanceLimit = 500
/** Milliseconds from an address on until a service is told without its texts. */
const textsTime = 1_000
/** Milliseconds between two messages that ask, so that one asks for much. */
const askPause = 100
const askSoon = 20
/** Questions that wait. What is left out is asked another time. */
const questionLimit = 300
/** How often what is missing is asked for, and milliseconds until the first time again; doubled each time. */
const missingAsks = 6
const missingPause = 1_000
/** Milliseconds between two asks for what has been found again and again. */
const longestPause = 3_600_000

interface Instance {
  label: string
  /** Of the name after the label. */
  domain: readonly string[]
  /** By the service that was looked for. */
  pointers: Map<string, Lease>
  target: { host: string; port: number; lease: Lease } | undefined
  texts: { txt: Txt; lease: Lease } | undefined
  /** When it could have been told without its texts. */
  completeAt: number | undefined
  /** The present one as it was told, as text. */
  told: Map<string, string>
  missing: { asks: number; next: number }
}

export function createDnsSd({ clock, send, set, warn }: FinderContext): FinderProtocol {
  const wanted = new Set<string>()
  const instances = new Map<string, Instance>()
  const hosts = createHostAddresses({
    ask,
    used: () => new Set([...instances.values()].flatMap(({ target }) => target?.host.toLowerCase() ?? [])),
    mostHosts: () => 2 * instances.size,
  })
  const questions = new Map<string, DnsQuestion>()
  let askTimer: ScheduledCall | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const sweepAt = createDueTimer(clock, (now, stoodStill) => {
    if (stoodStill) for (const lease of leases()) allowForStandstill(lease, now)
    sweep(now)
    plan(now)
  })

  function ask(question: DnsQuestion): void {
    if (questions.size >= questionLimit) return
    questions.set(`${question.type} ${question.labels.join('\0')}`, question)
    if (askTimer !== undefined) return
    const wait = Math.max(askSoon, askedAt + askPause - clock.monotonic())
    askTimer = clock.schedule(wait, () => {
      askTimer = undefined
      askedAt = clock.monotonic()
      const messages = writeQueries(questions.values())
      questions.clear()
      for (const message of messages) send(() => message)
    })
  }

  function heard(message: Buffer): void {
    const records = readAnswer(message)
    if (records.length === 0) return
    const now = clock.monotonic()
    const touched = new Set<Instance>()
    // Each kind may only be wanted because of the one before.
    for (const record of records) if (record.type === 'PTR') takePointer(record, now, touched)
    for (const record of records)
      if (record.type === 'SRV' || record.type === 'TXT') takeDetails(record, now, touched)
    for (const host of hosts.take(records, now))
      for (const instance of instances.values())
        if (instance.target?.host.toLowerCase() === host) touched.add(instance)
    for (const instance of touched) settle(instance, now)
    if (touched.size > 0) plan(now)
  }

  function takePointer(record: DnsRecord & { type: 'PTR' }, now: number, touched: Set<Instance>): void {
    const service = record.name.toLowerCase().replace(/\.local$/, '')
    if (!wanted.has(service) || !record.name.toLowerCase().endsWith('.local')) return
    const key = record.target.toLowerCase()
    const known = instances.get(key)
    if (known === undefined && record.seconds === 0) return
    const instance = known ?? newInstance(service, record.target, now)
    if (instance === undefined) return
    if (!instance.pointers.has(service) && countOf(service) >= instanceLimit) {
      warn(service, `more than ${instanceLimit} of ${service} are on the network: the others are left out`)
      return
    }
    instances.set(key, instance)
    const { asks, next } = instance.missing
    if (asks === missingAsks && now >= next) instance.missing = { asks: 0, next: now }
    instance.pointers.set(service, leaseOfRecord(now, record.seconds))
    touched.add(instance)
  }

  function newInstance(service: string, name: string, now: number): Instance | undefined {
    const domain = `${service.replace(/^.*\._sub\./, '')}.local`
    const label = name.slice(0, -domain.length - 1)
    const isOne = name.toLowerCase() === `${label.toLowerCase()}.${domain}`
    // RFC 6763, section 4.1.1.
    if (!isOne || label === '' || Buffer.byteLength(label) > 63 || /[\x00-\x1f\x7f]/.test(label))
      return undefined
    return {
      ...{ label, domain: domain.split('.'), pointers: new Map(), target: undefined, texts: undefined },
      ...{ completeAt: undefined, told: new Map(), missing: { asks: 0, next: now } },
    }
  }

  function countOf(service: string): number {
    let count = 0
    for (const { pointers } of instances.values()) if (pointers.has(service)) count += 1
    return count
  }

  function takeDetails(
    record: DnsRecord & { type: 'SRV' | 'TXT' },
    now: number,
    touched: Set<Instance>,
  ): void {
    const instance = instances.get(record.name.toLowerCase())
    if (instance === undefined) return
    const lease = leaseOfRecord(now, record.seconds)
    const goes = record.seconds === 0
    if (record.type === 'TXT') {
      if (!goes) instance.texts = { txt: readTexts(record.texts), lease }
    } else if (!goes) instance.target = { host: record.target, port: record.port, lease }
    else if (instance.target !== undefined) shorten(instance.target.lease, lease.until)
    touched.add(instance)
  }

  function addressesOf({ target }: Instance): string[] {
    return target === undefined ? [] : hosts.of(target.host)
  }

  /** Tells what is so now, and asks for what is missing. */
  function settle(instance: Instance, now: number): void {
    const { label, pointers, target, texts, told } = instance
    const addresses = addressesOf(instance)
    const isComplete = target !== undefined && addresses.length > 0
    if (isComplete) instance.completeAt ??= now
    else instance.completeAt = undefined
    if (target === undefined || addresses.length === 0 || texts === undefined) askForMissing(instance, now)
    const waits = texts === undefined && now < (instance.completeAt ?? now) + textsTime
    const service = isComplete
      ? { name: label, host: target.host, addresses, port: target.port, txt: texts?.txt ?? [] }
      : undefined
    const text = JSON.stringify(service ?? null)
    for (const sought of new Set([...pointers.keys(), ...told.keys()])) {
      if (service === undefined || !pointers.has(sought)) {
        if (told.delete(sought)) set(sought, label, undefined)
      } else if (!waits && told.get(sought) !== text) {
        told.set(sought, text)
        set(sought, label, service)
      }
    }
  }

  function askForMissing(instance: Instance, now: number): void {
    const { label, domain, target, texts, missing } = instance
    if (instance.pointers.size === 0 || missing.asks >= missingAsks || now < missing.next) return
    missing.next = now + missingPause * 2 ** missing.asks
    missing.asks += 1
    const labels = [label, ...domain]
    if (target === undefined) ask({ labels, type: 'SRV' })
    else if (addressesOf(instance).length === 0) hosts.ask(target.host)
    if (texts === undefined) ask({ labels, type: 'TXT' })
  }

  /** What is over goes, what will soon be is asked for again. */
  function sweep(now: number): void {
    hosts.sweep(now)
    for (const [key, instance] of instances) {
      const { pointers, target, texts, label, domain } = instance
      for (const [service, lease] of pointers) {
        if (lease.until <= now) pointers.delete(service)
        else if (takeDueQuery(lease, now)) ask({ labels: [...service.split('.'), 'local'], type: 'PTR' })
      }
      if (target !== undefined && target.lease.until <= now) instance.target = undefined
      else if (target !== undefined && takeDueQuery(target.lease, now))
        ask({ labels: [label, ...domain], type: 'SRV' })
      if (texts !== undefined && texts.lease.until <= now) instance.texts = undefined
      else if (texts !== undefined && takeDueQuery(texts.lease, now))
        ask({ labels: [label, ...domain], type: 'TXT' })
      settle(instance, now)
      if (pointers.size === 0) instances.delete(key)
    }
    hosts.dropUnused()
  }

  function* leases(): Iterable<Lease> {
    yield* hosts.leases()
    for (const { pointers, target, texts } of instances.values()) {
      yield* pointers.values()
      if (target !== undefined) yield target.lease
      if (texts !== undefined) yield texts.lease
    }
  }

  /** Sweeps when the next thing is due. */
  function plan(now: number): void {
    let at = Number.POSITIVE_INFINITY
    for (const lease of leases()) at = Math.min(at, nextDue(lease))
    for (const { completeAt, texts, target, pointers, missing } of instances.values()) {
      if (completeAt !== undefined && texts === undefined && completeAt + textsTime > now)
        at = Math.min(at, completeAt + textsTime)
      const isMissing = texts === undefined || target === undefined || completeAt === undefined
      if (isMissing && pointers.size > 0 && missing.asks < missingAsks) at = Math.min(at, missing.next)
    }
    sweepAt(at, now)
  }

  return {
    longestPause,
    ask(service) {
      wanted.add(service)
      ask({ labels: [...service.split('.'), 'local'], type: 'PTR' })
    },
    heard,
    forget(service) {
      wanted.delete(service)
      for (const [key, { pointers, told }] of instances) {
        pointers.delete(service)
        told.delete(service)
        if (pointers.size === 0) instances.delete(key)
      }
      if (wanted.size > 0) return
      hosts.clear()
      questions.clear()
      askTimer?.cancel()
      askTimer = undefined
      plan(clock.monotonic())
    },
    doubt() {
      const now = clock.monotonic()
      for (const lease of leases()) shorten(lease, now + doubtTime, [now])
      plan(now)
    },
  }
}
