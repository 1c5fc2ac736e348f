import { isSystemFault } from '../../base/files/system-fault.ts'
import { decide } from '../../journal/fold/decide.ts'
import type { Origin } from '../../schema/journal/journal-event.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Installer } from '../installing/installer.ts'
import type { Loader } from '../loading/loader.ts'

/**
 * Loads a plugin that no caller asks for just now; one that fails in the trial of an update goes back to the version before.
 * Under its mutex.
 */
export async function loadAutomatically(
  context: LifecycleContext,
  { loader, installer }: { loader: Loader; installer: Installer },
  id: string,
  reason: string,
  by: Origin = 'supervisor',
): Promise<void> {
  const snapshot = snapshotOfPlugin(context, id)
  if (snapshot.value !== 'loading') {
    const facts = decide(snapshot, { type: 'load', reason, automatic: true })
    await context.journal.append(facts, by).catch((error: unknown) => {
      if (isSystemFault(error)) loader.noteTransientFailure(id)
      throw error
    })
  }
  await loader.finishLoading(id, by)
  await installer.returnFromTrial(id)
}
