import { nextTick } from 'node:process'
import { messageOf, Problem } from '../base/problem.ts'
import type { Fact, JournalEvent, Origin } from '../schema/journal/journal-event.ts'
import type { Applied, HostState, LiveState, PluginSnapshot } from './fold/evolve.ts'
import type { WrittenLine } from './segments/journal-file.ts'
import { stampFacts } from './fold/stamp.ts'

/**
 * Appends that wait for the disk. All that comes while it writes goes down together, in one write: a group commit.
 * What waits is numbered and put into lines at once, so that the disk never waits for that.
 */
export interface AppendQueue {
  append(facts: readonly Fact[], by: Origin, requestKey?: string): Promise<JournalEvent[]>
  /** Resolves when nothing waits. */
  idle(): Promise<void>
}

export interface AppendQueueParts {
  /** Milliseconds since 1970. */
  now(): number
  /** The fold of all that is on disk. */
  state(): HostState
  readonly live: LiveState
  encode(event: JournalEvent): string
  write(lines: readonly WrittenLine[]): Promise<void>
  /** Told that a write has begun, with its last event, and the state that follows if it succeeds: to be asked for at once. */
  writing(last: JournalEvent, state: () => HostState): void
  /** Told of each event once it is on disk, in order. */
  commit(event: JournalEvent, applied: Applied): void
  /** Told when that was all that one write has put there. */
  committed(): void
  /** Whether the segment is so large that the next write belongs into another one. */
  rotationIsDue(): boolean
  /** Begins that; the fold is that of all that is on disk meanwhile. Never rejects. */
  rotate(): Promise<void>
  /** What whoever waits is told when the disk refuses. */
  problemOf(error: unknown): Problem
}

interface Waiting {
  facts: readonly Fact[]
  by: Origin
  requestKey: string | undefined
  resolve(events: JournalEvent[]): void
  reject(error: unknown): void
}

interface Stamped {
  waiting: Waiting
  steps: { event: JournalEvent; applied: Applied; text: string }[]
}

export function createAppendQueue(parts: AppendQueueParts): AppendQueue {
  let stamped: Stamped[] = []
  let running: Promise<void> | undefined
  /** The state after all that is stamped, as what has changed since nothing was. */
  let ahead = nothingAhead()

  function nothingAhead() {
    // What is committed from now on is in `changed`, too, until nothing is ahead.
    const { seq, host, plugins } = parts.live
    return { seq, host, base: plugins, changed: new Map<string, PluginSnapshot>() }
  }

  function stateAhead(): HostState {
    const { seq, host, changed } = ahead
    return { seq, host, plugins: new Map([...parts.state().plugins, ...changed]) }
  }

  /** Numbers the facts of one append on top of those before. Answers why not, when the machine refuses one. */
  function stamp(waiting: Waiting): string | undefined {
    const { facts, by, requestKey } = waiting
    const { base, changed, seq, host } = ahead
    const plugins = { get: (id: string) => changed.get(id) ?? base.get(id) }
    const stampedFacts = stampFacts({ seq, host, plugins }, facts, { by, now: parts.now(), requestKey })
    if (typeof stampedFacts === 'string') return stampedFacts
    const steps = stampedFacts.steps.map((step) => ({ ...step, text: parts.encode(step.event) }))
    for (const [id, snapshot] of stampedFacts.plugins) changed.set(id, snapshot)
    ahead = { seq: seq + steps.length, host: stampedFacts.host, base, changed }
    stamped.push({ waiting, steps })
    return undefined
  }

  /** A fact that cannot be written as JSON (nested beyond the stack, say) must not keep the others from disk. */
  function tryToStamp(waiting: Waiting): void {
    let refusal: string | undefined
    try {
      refusal = stamp(waiting)
    } catch (error) {
      refusal = `The change cannot be written down: ${messageOf(error)}.`
    }
    if (refusal !== undefined) waiting.reject(new Problem('invalid_transition', refusal))
  }

  /** Begins to write all that waits. */
  function writeNext(): { group: Stamped[]; written: Promise<void> } | undefined {
    if (stamped.length === 0) return undefined
    const group = stamped
    stamped = []
    const steps = group.flatMap((each) => each.steps)
    const written = parts.write(steps.map(({ event, text }) => ({ text, plugin: event.plugin })))
    const last = steps.at(-1)?.event
    if (last !== undefined) parts.writing(last, stateAhead)
    return { group, written }
  }

  async function run(): Promise<void> {
    for (let current = writeNext(); current !== undefined;) {
      const { group, written } = current
      try {
        await written
      } catch (error) {
        const problem = parts.problemOf(error)
        for (const { waiting } of group) waiting.reject(problem)
        // What was numbered after those has to be numbered, and judged, anew.
        const again = stamped
        stamped = []
        ahead = nothingAhead()
        for (const { waiting } of again) tryToStamp(waiting)
        current = writeNext()
        continue
      }
      for (const { waiting, steps } of group) {
        for (const { event, applied } of steps) parts.commit(event, applied)
        waiting.resolve(steps.map(({ event }) => event))
      }
      parts.committed()
      if (parts.rotationIsDue()) await parts.rotate()
      // Whoever has waited has appended again by then: one write for all of that and what waits, instead of one for each.
      else await new Promise<void>(nextTick)
      current = writeNext()
    }
    running = undefined
  }

  return {
    append(facts, by, requestKey) {
      return new Promise((resolve, reject) => {
        if (running === undefined) ahead = nothingAhead()
        tryToStamp({ facts, by, requestKey, resolve, reject })
        if (stamped.length > 0) running ??= run()
      })
    },
    async idle() {
      await running
    },
  }
}
