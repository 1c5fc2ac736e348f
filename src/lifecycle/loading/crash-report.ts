import { cutText } from '../../base/text/cut-text.ts'
import type { PluginFact } from '../../schema/journal/journal-event.ts'
import type { PluginError } from '../../schema/plugin/plugin.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { PluginLogs } from '../running/plugin-logs.ts'
import { decideRestart, type RestartPolicy } from './restart-policy.ts'

/** Lines of its log that the error of a plugin which stays down repeats: what a screen shows. */
const reportedLines = 20
/** Bytes of each: the fact stays in the journal for good. */
const reportedBytes = 500

export interface CrashReport {
  error: PluginError
  /** ms since the plugin was loaded. */
  ranFor: number
}

/** What is written down of a crash: the reason, and whether and when the plugin is started again. */
export type DescribeCrash = (id: string, crash: CrashReport) => PluginFact

export function createCrashReport(
  context: LifecycleContext,
  { logs, policy, random }: { logs: PluginLogs; policy: RestartPolicy; random: () => number },
): DescribeCrash {
  /** The worker has taken the secrets out of every line. */
  function lastLines(id: string): NonNullable<PluginError['log']> {
    return logs.read(id, { limit: reportedLines }).map(({ at, level, message }) => ({
      at,
      level,
      message: cutText(message, reportedBytes),
    }))
  }

  return (id, { error, ranFor }) => {
    const { crashes, trial, kept } = snapshotOfPlugin(context, id).context
    const decision = decideRestart(policy, { crashes, ranFor }, random())
    // In its trial it is not started again: the version before returns.
    const returns = trial !== null && kept.length > 0
    const restart = returns ? null : decision.restart
    return {
      type: 'PluginCrashed',
      plugin: id,
      data: {
        error: restart === null ? { ...error, log: lastLines(id) } : error,
        ranFor: Math.max(0, Math.round(ranFor)),
        crashes: decision.crashes,
        restart,
      },
    }
  }
}
