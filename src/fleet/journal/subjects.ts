import { pluginKey } from '../store/plugin-key.ts'

/** Names of the journal in the store. */

export function journalStreamName(fleet: string): string {
  return `LUPINE_${fleet}_JOURNAL`
}

export function journalSubjects(fleet: string): string {
  return `lupine.${fleet}.journal.>`
}

/** Where the facts of a plugin stand, or those of the fleet itself. */
export function journalSubject(fleet: string, plugin: string | null): string {
  return `lupine.${fleet}.journal.${plugin === null ? '_fleet' : pluginKey(plugin)}`
}
