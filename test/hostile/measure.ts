/** What a witness has measured, and how an attack is judged by it. */

/** Times in milliseconds. */
export interface Measured {
  /** Requests that were begun, and how long they took until the whole answer was there. */
  requests: number
  http: Percentiles
  /** Messages from one client to another, of both qualities of service. */
  messages: number
  mqtt: Percentiles
  /** Longest pause between two beats of the peaceful plugin. */
  pause: number
  beats: number
  /** How often it began anew. */
  restarts: number
  /** What must never happen: an answer that is none, a message lost or out of order, a timer that never came. */
  faults: string[]
}

export interface Percentiles {
  p50: number
  p99: number
  max: number
}

/** Requests, and messages, in each window: of two hundred the ninety-ninth percentile leaves out two. */
export const samplesWanted = 200
/** ms: the ninety-ninth percentile that the host owes everybody, whatever a plugin does. */
export const promised = 100
/**
 * How many times as long as at rest it may be where the machine itself is slower than that. The attacker takes one
 * processor, which leaves a busy machine with half of what it has or less for everybody else; and of two hundred
 * samples the ninety-ninth percentile is the third longest, which by itself varies by half.
 */
const slowdownAllowed = 3
/**
 * The same while a plugin fills its heap, or has the host pass on megabytes: a collector works with several threads,
 * and on a machine that is short of processors everybody else waits for them.
 */
export const slowdownWhileCollecting = 5
/** ms for which a plugin in a worker of its own may pause beside its beat: its worker needs a processor too. */
const pauseAllowed = 250
/** ms within which one that shared a worker with the attacker is back (contract, section 6: less than a second). */
const absenceAllowed = 1_000

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** What of this is worse than promised, in sentences. `rest`: measured right after; none: the promise alone counts. */
export function complaints(
  found: Measured,
  rest: readonly Measured[],
  isolation: 'dedicated' | 'shared',
  slowdown = slowdownAllowed,
): string[] {
  const list = [...found.faults]
  if (isolation === 'dedicated' && found.restarts > 0) list.push('another plugin was loaded again')
  function expect(what: string, value: number, owed: number, atRest: (measured: Measured) => number): void {
    const worst = Math.max(...rest.map(atRest))
    const limit = Math.max(owed, slowdown * worst)
    if (value > limit)
      list.push(
        `${what}: ${value.toFixed(0)} ms, ${worst.toFixed(0)} ms at rest, ${limit.toFixed(0)} ms allowed`,
      )
  }
  expect('HTTP p99', found.http.p99, promised, ({ http }) => http.p99)
  expect('MQTT p99', found.mqtt.p99, promised, ({ mqtt }) => mqtt.p99)
  const owed = isolation === 'shared' ? absenceAllowed : pauseAllowed
  expect('longest pause of another plugin', found.pause, owed, ({ pause }) => pause)
  return list
}

export function shown({ http, mqtt, pause, requests, messages }: Measured): string {
  const times = ({ p50, p99, max }: Percentiles): string =>
    [p50, p99, max].map((value) => value.toFixed(0)).join('/')
  return `HTTP ${times(http)} of ${requests}, MQTT ${times(mqtt)} of ${messages}, pause ${pause.toFixed(0)}`
}
