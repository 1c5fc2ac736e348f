import { journal } from '../../store/journal.ts'

/** Below the oldest event of a history that had more; nothing where all events are here. */
export function MissingEvents() {
  const { firstSeq } = journal.value
  return firstSeq <= 1 ? null : (
    <p class="hint">Events before #{firstSeq} are not here: old files of the journal have been moved away.</p>
  )
}
