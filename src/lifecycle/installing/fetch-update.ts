import { Problem } from '../../base/problem.ts'
import { unlessAborted } from '../../base/time/unless-aborted.ts'
import type { StagedPlugin, VersionWish } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, shuttingDown } from '../context.ts'
import { moveToAnotherHost } from '../running/load-cancellation.ts'
import { originRepository } from '../sources/install-source.ts'

/**
 * Fetches the files of an update, under the plugin's mutex. A repository may take a minute to fail: who switches the plugin
 * off or removes it does not wait for that, and neither does another host that is to have it. Throws `invalid_transition`
 * and `plugin_moving` then.
 */
export async function fetchUpdate(
  context: LifecycleContext,
  id: string,
  wish: VersionWish,
): Promise<StagedPlugin> {
  const { loads } = context
  const { signal, finish } = loads.begin(id)
  try {
    return await unlessAborted(
      signal,
      stageUpdate(context, id, wish, signal),
      () => interrupted(id, String(signal.reason), loads.stopped),
      (late) => late.discard(),
    )
  } finally {
    finish()
  }
}

/** Of a plugin without files the repositories are asked first whose it is. */
async function stageUpdate(
  context: LifecycleContext,
  id: string,
  wish: VersionWish,
  signal: AbortSignal,
): Promise<StagedPlugin> {
  const from = await originRepository(context, id)
  signal.throwIfAborted()
  return await context.repositories.stage(from, identifierOf(id), wish, signal)
}

/** `reason`: as `LoadCancellation` gives it. */
function interrupted(id: string, reason: string, stopped: boolean): Problem {
  if (stopped) return shuttingDown()
  if (reason.endsWith(moveToAnotherHost))
    return new Problem('plugin_moving', `${id} is moving to another host; try again in a second.`)
  return new Problem(
    'invalid_transition',
    `${id} was not updated: while its files were being fetched that was ${reason}. Ask again if it is still to be updated.`,
  )
}
