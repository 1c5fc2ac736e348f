/** What this host answers others, by the ids of their questions: an answer may be lost on the way, and is asked for again. */
export interface GivenAnswers {
  /** Work on a question begins. */
  begin(id: string): void
  /** `text`: as it goes out. */
  give(id: string, text: string): void
  /** `lost`: nothing is known of the question. Undefined: it is being worked on. */
  find(id: string): { text: string } | 'lost' | undefined
}

/** Characters of all answers that are kept; the oldest go first. */
const keptLength = 8 * 1024 * 1024
const keptAnswers = 1_000

export function createGivenAnswers(): GivenAnswers {
  const underWay = new Set<string>()
  /** The oldest first. */
  const given = new Map<string, string>()
  let length = 0

  return {
    begin: (id) => void underWay.add(id),
    give(id, text) {
      underWay.delete(id)
      given.set(id, text)
      length += text.length
      for (const [oldest, { length: its }] of given) {
        if (length <= keptLength && given.size <= keptAnswers) break
        given.delete(oldest)
        length -= its
      }
    },
    find(id) {
      const text = given.get(id)
      if (text !== undefined) return { text }
      return underWay.has(id) ? undefined : 'lost'
    },
  }
}
