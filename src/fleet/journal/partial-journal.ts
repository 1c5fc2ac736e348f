import { StoreRefusedError } from '../store/store-errors.ts'

/**
 * Throws while only a part of the journal of the first host is there: a host would write between the events that are still to
 * come, and take plugins as they were once. `end`: the last number that is to come; 0: there is no such journal.
 */
export function requireWholeJournal(fleet: string, stream: string, last: number, end: number): void {
  if (end <= last) return
  throw new StoreRefusedError(
    `The fleet ${fleet} has ${last} of ${end} events of its first host: "lupine fleet join" is under way there, or was ` +
      'interrupted. Run it again with the directory of that host, to its end; or, where that is gone, delete the stream ' +
      `${stream} and begin anew.`,
  )
}
