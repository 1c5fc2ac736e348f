import type { Excess, LoadSource, WorkerMessage } from '../../schema/worker/worker-protocol.ts'
import type { LuaRuntime } from './lua/lua-value.ts'
import { callOn, type Steps } from './lua/steps.ts'
import type { PluginInstances } from './plugin-api/plugin.ts'
import { openAccount, type TimeAccount } from './budgets/time-budget.ts'

/** Why a plugin does not run. `error`: as it was thrown, or a sentence. */
export interface StartFailure {
  code: Extract<WorkerMessage, { kind: 'loadFailed' }>['code']
  error: unknown
}

export interface PluginStart {
  source: LoadSource
  runtime: LuaRuntime
  plugin: PluginInstances
  /** For the chunk and the init callback together. */
  milliseconds: number
  /** Runs `task` on this account. */
  onAccount<T>(account: TimeAccount, task: () => T): T
  /** What it has taken too much of in the worker that it shares. */
  excess(): Excess | undefined
  /** Whether there was no room for its strings in a worker that others share with it, and fill. */
  isWorkerFull(): boolean
  /** It has met the limit of its time. */
  outOfTime(): void
}

const entryFile = 'init.lua'

/** Runs the chunk and the init callback. Answers why the plugin does not run, or undefined when it does. */
export function* startPlugin(start: PluginStart): Steps<StartFailure | undefined> {
  const { source, runtime, plugin, milliseconds } = start
  const failed = (error: string): StartFailure => ({ code: 'lua_error', error })
  const chunk = source.files[entryFile]
  if (chunk === undefined) return failed(`the manifest's files name no ${entryFile}`)
  const account = openAccount(milliseconds)
  try {
    const compiled = start.onAccount(account, () => runtime.compile(chunk, entryFile))
    yield* callOn(account, compiled)
    const { claimedId } = plugin
    if (claimedId === undefined) {
      return failed(`${entryFile} did not call Plugin:new("${source.shortId}", …), so there is no plugin`)
    }
    if (claimedId !== source.id && claimedId !== source.shortId) {
      return {
        code: 'plugin_id_mismatch',
        error: `${entryFile} calls Plugin:new("${claimedId}"), but the manifest names ${source.id}; use "${source.shortId}"`,
      }
    }
    yield* plugin.runInit(account)
    return undefined
  } catch (error) {
    const excess = start.excess()
    if (excess !== undefined) return { code: excess === 'time' ? 'overran' : 'overfilled', error }
    if (start.isWorkerFull()) return { code: 'worker_full', error }
    if (account.exceeded) start.outOfTime()
    return { code: account.exceeded ? 'load_timeout' : 'lua_error', error }
  }
}
