/** Edits (insert, remove, replace one character) up to which a name counts as a slip of another. */
const closeEnough = 2

/** The candidate that was most likely meant, or undefined when none is close. */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; edits: number } | undefined
  for (const candidate of candidates) {
    const edits =
      candidate.toLowerCase() === name.toLowerCase()
        ? 0
        : Math.abs(candidate.length - name.length) > closeEnough
          ? Number.POSITIVE_INFINITY
          : editDistance(name, candidate)
    // Within very short names two edits reach everything.
    const allowed = Math.min(closeEnough, Math.floor(Math.max(name.length, candidate.length) / 2))
    if (edits <= allowed && (best === undefined || edits < best.edits)) best = { candidate, edits }
  }
  return best?.candidate
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, character] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...to].entries()) {
      const replaced = (row[j] ?? 0) + (character === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
