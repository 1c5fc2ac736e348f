import { isOpen } from '../store/session.ts'
import { Note } from './note.tsx'

/** On a host that has no token. */
export function NoTokenNote() {
  if (!isOpen.value) return null
  return (
    <Note>
      This host has no token: every program on its machine may command it. <code>lupine token</code> makes one
      and says how to use it.
    </Note>
  )
}
