import { isDeepStrictEqual } from 'node:util'
import { Problem, shuttingDown } from '../../base/problem.ts'
import { abortable } from '../../base/time/abortable.ts'
import { requireInstalled } from '../../journal/fold/decide.ts'
import { StaleDecisionError } from '../../journal/fold/stale-decision.ts'
import type { StagedPlugin } from '../../repository/repository.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { installedVersion, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { InstallRequest, ReleasableTurn } from '../lifecycle.ts'
import { ElsewhereError } from '../ownership.ts'
import { moveToAnotherHost } from '../running/load-cancellation.ts'
import { installSource, originRepository } from '../sources/install-source.ts'

/**
 * Files of an installation or an update, in their staging directory. A repository may take a minute to fail: who switches the
 * plugin off or removes it does not wait for that, and neither does another host that is to have it. Both throw
 * `invalid_transition` and `plugin_moving` then.
 */

/** What is fetched of an installation. `heldBy`: as in `InstallSource`. */
export interface FetchedInstallation {
  staged: StagedPlugin
  heldBy: string | null
}

/** Under the plugin's mutex: whatever else is asked of a plugin that is not there waits until it is. */
export function fetchInstallation(
  context: LifecycleContext,
  { fullId, repository, version }: InstallRequest,
): Promise<FetchedInstallation> {
  return fetchUnlessEnded(
    context,
    { id: fullId, done: 'installed' },
    async (signal) => {
      const { from, heldBy } = await installSource(context, fullId, repository, { write: true })
      signal.throwIfAborted()
      const wish = { version }
      return { staged: await context.repositories.stage(from, identifierOf(fullId), wish, signal), heldBy }
    },
    ({ staged }) => staged.discard(),
  )
}

/**
 * The plugin runs meanwhile, is restarted when it crashes, and takes every other command. Throws `StaleDecisionError` when
 * its files are other ones afterwards: what is offered to who has these is to be asked anew.
 */
export async function fetchUpdate(
  context: LifecycleContext,
  id: string,
  version: string | undefined,
  turn: ReleasableTurn,
): Promise<StagedPlugin> {
  const installed = installedVersion(context, id)
  const before = release(context, id)
  const staged = await turn.whileReleased(
    () =>
      fetchUnlessEnded(
        context,
        { id, done: 'updated' },
        async (signal) => {
          // Of a plugin without files the repositories are asked first whose it is.
          const from = await originRepository(context, id)
          signal.throwIfAborted()
          return context.repositories.stage(from, identifierOf(id), { version, installed }, signal)
        },
        (late) => late.discard(),
      ),
    (refused) => refused.discard(),
  )
  if (isDeepStrictEqual(release(context, id), before)) return staged
  await staged.discard()
  requireInstalled(snapshotOfPlugin(context, id))
  throw new StaleDecisionError(id)
}

function release(context: LifecycleContext, id: string) {
  const { version, indexVersion, repository, integrity } = snapshotOfPlugin(context, id).context
  return { version, indexVersion, repository, integrity }
}

/** `undo` gets what is fetched after nobody waits for it any more. */
async function fetchUnlessEnded<T>(
  { loads }: LifecycleContext,
  { id, done }: { id: string; done: string },
  fetch: (signal: AbortSignal) => Promise<T>,
  undo: (late: T) => Promise<void>,
): Promise<T> {
  const { signal, finish } = loads.beginFetch(id)
  const givenUp = (): Problem => interrupted(id, done, String(signal.reason), loads.stopped)
  try {
    return await abortable(signal, fetch(signal), givenUp, undo)
  } finally {
    finish()
  }
}

/** `reason`: as `LoadCancellation` gives it. */
function interrupted(id: string, done: string, reason: string, stopped: boolean): Problem {
  if (stopped) return shuttingDown()
  if (reason.endsWith(moveToAnotherHost)) return new ElsewhereError(id)
  return new Problem(
    'invalid_transition',
    `${id} was not ${done}: while its files were being fetched that was ${reason}. Ask again if it is still to be ${done}.`,
  )
}
