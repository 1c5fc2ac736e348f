/**
 * Milliseconds by which servers of one cluster may differ in when a stream was made: two hosts that start together both ask for
 * it, and with one copy that is brought to three later each server keeps the time of the request that it has heard of.
 */
const tolerance = 1_000

/** Whether two servers mean the same stream, by the times that they give for its making. */
export function isSameCreation(one: string, other: string): boolean {
  return one === other || Math.abs(Date.parse(one) - Date.parse(other)) <= tolerance
}
