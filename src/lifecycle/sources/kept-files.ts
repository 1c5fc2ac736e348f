import { Problem } from '../../base/problem.ts'
import { releaseToReturnTo } from '../../journal/fold/decide.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { matchFilesToJournal } from './match-files.ts'

/**
 * A crash in mid-update may have cost a version that a rollback is to return to: another one must not take its place in
 * silence. Throws `invalid_transition`, also when there is no such version.
 */
export async function requireKeptFiles(
  context: LifecycleContext,
  id: string,
  version: string | undefined,
): Promise<void> {
  await matchFilesToJournal(context, id)
  const release = releaseToReturnTo(snapshotOfPlugin(context, id), version)
  if (await context.directory.hasKept(identifierOf(id), release)) return
  throw new Problem(
    'invalid_transition',
    `The files of ${id} ${release.version} are not on this host any more; update to that version instead.`,
  )
}
