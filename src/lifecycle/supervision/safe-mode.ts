import { Problem, shuttingDown } from '../../base/problem.ts'
import type { SafeMode } from '../../schema/api/system.ts'
import type { SystemBoot, SafeModeReason } from '../../schema/journal/journal-event.ts'
import { isSafeMode, type LifecycleContext } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'

/** Starts in a row that did not reach ready, or were killed soon after, after which the next one loads nothing: two may be chance. */
const unfinishedStartsLimit = 3
/** Milliseconds from ready to the next start within which a run was killed soon. */
const briefRun = 300_000

/**
 * Whether the run before was killed for want of memory, soon after it was ready: the system has killed somebody meanwhile. Who kills it
 * by hand has reasons of his own, and so has a machine that was started anew.
 */
export function wasKilledForMemory(
  ready: SystemBoot | null | undefined,
  now: SystemBoot | undefined,
): boolean {
  if (now === undefined || ready?.boot !== now.boot) return false
  return now.memoryKills > ready.memoryKills && now.uptime - ready.uptime <= briefRun
}

/**
 * Why this start is a safe one; undefined: an ordinary start. `unfinishedStarts`: starts in a row before this one
 * that did not reach ready, or were killed soon after, apart from those that somebody ended.
 */
export function decideSafeMode(asked: boolean, unfinishedStarts: number): SafeModeReason | undefined {
  if (asked) return 'asked'
  return unfinishedStarts >= unfinishedStartsLimit ? 'unfinishedStarts' : undefined
}

/** For people. */
function describeSafeMode(reason: SafeModeReason, unfinishedStarts: number): string {
  return reason === 'asked'
    ? 'The host was started with --safe.'
    : `The last ${unfinishedStarts} starts did not get as far as ready, or the system killed the host for want of memory within five minutes of it.`
}

/** The safe mode of a host that runs. */
export interface SafeModeState {
  /** Null: the host is not in safe mode. */
  readonly present: SafeMode | null
  /**
   * Resolves when everything that is enabled has been loaded, for all who ask meanwhile. Throws `shutting_down`,
   * `storage_full`.
   */
  leave(command: CommandContext): Promise<void>
}

/** `requireRunning` throws once commands are refused; `load` loads everything that is enabled. */
export function createSafeModeState(
  context: LifecycleContext,
  parts: { requireRunning(): void; load(by: CommandContext['by']): Promise<void> },
): SafeModeState {
  const { journal } = context
  let leaving: Promise<void> | undefined

  async function leave({ by, requestKey }: CommandContext): Promise<void> {
    parts.requireRunning()
    if (!isSafeMode(context)) return
    try {
      await journal.append([{ type: 'HostSafeModeLeft', plugin: null, data: {} }], by, requestKey)
    } catch (error) {
      // Only the end of the host stands in its way, which is written down before commands are refused.
      if (error instanceof Problem && error.code === 'invalid_transition') throw shuttingDown()
      throw error
    }
    await parts.load(by)
  }

  return {
    get present() {
      const { safeMode } = journal.live.host.context
      if (safeMode === null || !isSafeMode(context)) return null
      const { since, reason, unfinishedStarts } = safeMode
      return { since, reason: describeSafeMode(reason, unfinishedStarts), cause: reason }
    },
    leave: (command) => (leaving ??= leave(command).finally(() => (leaving = undefined))),
  }
}
