import type { Clock } from '../../../base/time/clock.ts'
import type { LifecycleFacade } from '../../../lifecycle/facade.ts'
import type { LogEntry } from '../../../schema/plugin/plugin.ts'

export interface FleetLogsSettings {
  /** Of this host. */
  own: LifecycleFacade['logs']
  clock: Pick<Clock, 'now'>
  /** Ids of the other hosts that live. */
  others: () => readonly string[]
  ask: (host: string, method: string, given: readonly unknown[]) => Promise<unknown>
}

/** Name of the question what time it is. */
export const timeQuestion = 'time'

/**
 * Milliseconds by which clocks count as the same: an answer takes a while, and where hosts know the time the lines are in order
 * as they are.
 */
const tolerance = 5_000

/** The log of a plugin: each host has the lines of the time in which the plugin was there. Who does not answer has told nothing. */
export function createFleetLogs({ own, clock, others, ask }: FleetLogsSettings): LifecycleFacade['logs'] {
  async function linesOf(host: string, given: readonly unknown[]): Promise<TimedLine[]> {
    const [lines, time] = await Promise.all([
      ask(host, 'logs', given).catch(() => []) as Promise<LogEntry[]>,
      // One of an earlier version does not know the question.
      ask(host, timeQuestion, []).catch(() => undefined),
    ])
    const ahead = typeof time === 'number' ? time - clock.now() : 0
    return timed(lines, Math.abs(ahead) < tolerance ? 0 : ahead)
  }

  return async (id, filter) => {
    const told = await Promise.all(others().map((host) => linesOf(host, [id, filter])))
    const all = [timed(await own(id, filter), 0), ...told].flat().sort((one, other) => one.at - other.at)
    return all.slice(Math.max(0, all.length - (filter.limit ?? all.length))).map(({ line }) => line)
  }
}

interface TimedLine {
  line: LogEntry
  /** By the clock of this host. */
  at: number
}

/** The lines of one host, whose order is that in which they came: where its clock was set back their times say another. */
function timed(lines: readonly LogEntry[], ahead: number): TimedLine[] {
  let next = Number.POSITIVE_INFINITY
  return [...lines]
    .reverse()
    .map((line) => ({ line, at: (next = Math.min(next, Date.parse(line.at) - ahead)) }))
    .reverse()
}
