import { Problem } from '../../base/problem.ts'
import type { SafeMode } from '../../schema/api/system.ts'
import { isSafeMode, type LifecycleContext, shuttingDown } from '../context.ts'
import type { CommandContext } from '../lifecycle.ts'
import { describeSafeMode } from './safe-mode.ts'

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
      if (safeMode === null) return null
      const { since, reason, unfinishedStarts } = safeMode
      return { since, reason: describeSafeMode(reason, unfinishedStarts), cause: reason }
    },
    leave: (command) => (leaving ??= leave(command).finally(() => (leaving = undefined))),
  }
}
