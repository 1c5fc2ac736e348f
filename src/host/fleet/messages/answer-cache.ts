/** What this host answers others, by the ids of their questions: an answer may be lost on the way, and is asked for again. */
export interface AnswerCache {
  /** Work on a question begins. */
  begin(id: string): void
  /** `text`: as it goes out. */
  set(id: string, text: string): void
  /** `lost`: nothing is known of the question. Undefined: it is being worked on. */
  get(id: string): { text: string } | 'lost' | undefined
}

/** Characters of all answers that are kept; the oldest go first. */
const keptLength = 8 * 1024 * 1024
const keptAnswers = 1_000

export function createAnswerCache(): AnswerCache {
  const underWay = new Set<string>()
  /** The oldest first. */
  const answers = new Map<string, string>()
  let length = 0

  return {
    begin: (id) => void underWay.add(id),
    set(id, text) {
      underWay.delete(id)
      answers.set(id, text)
      length += text.length
      for (const [oldest, { length: its }] of answers) {
        if (length <= keptLength && answers.size <= keptAnswers) break
        answers.delete(oldest)
        length -= its
      }
    },
    get(id) {
      const text = answers.get(id)
      if (text !== undefined) return { text }
      return underWay.has(id) ? undefined : 'lost'
    },
  }
}
