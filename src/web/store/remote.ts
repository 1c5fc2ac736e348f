import { useEffect, useState } from 'preact/hooks'
import { get, wordsOf } from '../base/api.ts'
import { connections } from '../base/stream.ts'

export interface Remote<T> {
  value: T | undefined
  /** Why it could not be read; empty when it could. */
  error: string
  /** Reads it again, as if nothing had gone wrong. */
  reload(): void
  /** Changes what is shown, until it is read again. */
  set(value: T): void
}

interface AnswerOptions {
  /** Another one: the answer may be another, too. */
  version?: string | number
  /** Milliseconds after which it is asked, if the question is still the same then. */
  delay?: number
  /** Milliseconds from an answer until it is asked again, while somebody can see the page. */
  interval?: number
  /** Milliseconds from a failure until it is asked again, likewise; default: `interval`. */
  retry?: number | undefined
}

/** What an address of the API answers; read again after every break of the connection. */
export function useRemote<T>(path: string, options: AnswerOptions = {}): Remote<T> {
  return useAnswer(path, (abort) => get<T>(path, abort), options)
}

/** What comes of asking; `question` tells one from another. */
export function useAnswer<T>(
  question: string,
  ask: (abort: AbortSignal) => Promise<T>,
  { version = '', delay = 0, interval, retry = interval }: AnswerOptions = {},
): Remote<T> {
  const [answer, setAnswer] = useState<{ question: string; value?: T; error: string }>()
  const [round, setRound] = useState(0)
  const connected = connections.value
  useEffect(() => {
    const abort = new AbortController()
    let timer = setTimeout(begin, delay)
    function begin(): void {
      ask(abort.signal).then(
        (value) => tell({ question, value, error: '' }, interval),
        (reason: unknown) => {
          const error = wordsOf(reason)
          tell(
            (before) => (before?.question === question ? { ...before, error } : { question, error }),
            retry,
          )
        },
      )
    }
    function tell(next: Parameters<typeof setAnswer>[0], pause: number | undefined): void {
      if (abort.signal.aborted) return
      setAnswer(next)
      if (pause !== undefined) askLater(pause)
    }
    function askLater(pause: number): void {
      timer = setTimeout(() => (document.visibilityState === 'visible' ? begin() : askLater(pause)), pause)
    }
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [question, version, round, connected])
  const own = answer?.question === question ? answer : undefined
  return {
    value: own?.value,
    error: own?.error ?? '',
    reload() {
      setAnswer((before) => before && { ...before, error: '' })
      setRound((before) => before + 1)
    },
    set: (value) => setAnswer({ question, value, error: '' }),
  }
}
