import type { Problem } from '../../base/problem.ts'

/** Holds requests back until the host has started. Health, pages and descriptions do not ask here. */
export interface StartGate {
  open(): void
  /** The start takes its time: until `open`, questions are let in, and commands refused with this. */
  openForQuestions(refusal: Problem): void
  /** It is not going to open any more: whoever waits is refused, and whoever comes. */
  close(refusal: Problem): void
  /** Resolves when a request may go on; rejects with the reason why it may not. */
  pass(method: string): Promise<void>
}

interface Waiting {
  method: string
  resolve: () => void
  reject: (refusal: Problem) => void
}

const questions: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export function createStartGate(): StartGate {
  let opened = false
  let refusal: Problem | undefined
  /** Whether the refusal is for questions, too. */
  let closed = false
  let waiting: Waiting[] = []

  function decide(one: Waiting): void {
    if (opened || (refusal !== undefined && !closed && questions.has(one.method))) one.resolve()
    else if (refusal !== undefined) one.reject(refusal)
    else waiting.push(one)
  }

  function decideAll(): void {
    const all = waiting
    waiting = []
    for (const one of all) decide(one)
  }

  return {
    open() {
      opened = true
      decideAll()
    },
    openForQuestions(problem) {
      refusal = problem
      decideAll()
    },
    close(problem) {
      refusal = problem
      closed = true
      decideAll()
    },
    pass: (method) => new Promise((resolve, reject) => decide({ method, resolve, reject })),
  }
}
