/** Names of the journal in the store. */

export function journalStreamName(fleet: string): string {
  return `LUPINE_${fleet}_JOURNAL`
}

export function journalSubjects(fleet: string): string {
  return `lupine.${fleet}.journal.>`
}

/** Where the facts of a plugin stand, or those of the fleet itself. A dot would part a name in two. */
export function journalSubject(fleet: string, plugin: string | null): string {
  const token = plugin === null ? '_fleet' : plugin.slice(1).replaceAll('.', '=2E')
  return `lupine.${fleet}.journal.${token}`
}
