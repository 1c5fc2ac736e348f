import { breakable } from '../../parts/breakable.tsx'
import { Note } from '../../parts/feedback.tsx'

/** For a plugin whose repository claims what another one had first. `id`: full id. */
export function ForeignNamespace({ id, heldBy }: { id: string; heldBy: string }) {
  const [namespace = ''] = id.split('/')
  return (
    <Note>
      The namespace {breakable(namespace)} belongs to the repository {breakable(heldBy)}. This plugin is from
      another one: it may be a copy, or somebody else’s under the same name.
    </Note>
  )
}
