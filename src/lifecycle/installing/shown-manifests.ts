import { evictOldest } from '../../base/evict-oldest.ts'
import { Problem } from '../../base/problem.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { LifecycleContext } from '../context.ts'
import { changedPermissions } from './changed-permissions.ts'

/** Milliseconds: as long as somebody thinks about what a dialog shows. */
const shownFor = 10 * 60 * 1_000
/** Manifests at a time, of which one may have a megabyte; the oldest goes when one more comes. */
const shownLimit = 10

/**
 * What somebody was shown before an installation or an update. Its repository is asked again for the command itself, and may
 * give another manifest then, which asks for more.
 */
export interface ShownManifests {
  show(id: string, manifest: Manifest): void
  /** Throws `integrity_mismatch`, once, for a manifest that asks for more than the one that was shown last. */
  requireNoMore(id: string, manifest: Manifest): void
}

export function createShownManifests(context: LifecycleContext): ShownManifests {
  const { clock } = context
  const shown = new Map<string, { manifest: Manifest; at: number }>()
  return {
    show(id, manifest) {
      shown.delete(id)
      shown.set(id, { manifest, at: clock.monotonic() })
      evictOldest(shown, shownLimit)
    },
    requireNoMore(id, manifest) {
      const last = shown.get(id)
      shown.delete(id)
      if (last === undefined || clock.monotonic() - last.at > shownFor) return
      const { added } = changedPermissions(context, id, last.manifest, manifest)
      if (added.length === 0) return
      const more = added.map(({ kind, value }) => `${kind} ${value}`).join(', ')
      throw new Problem(
        'integrity_mismatch',
        `${id} asks for more now than when it was looked at (${more}): its repository has changed it since. Look at it again first.`,
      )
    },
  }
}
