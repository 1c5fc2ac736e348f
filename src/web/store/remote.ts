import { useEffect, useState } from 'preact/hooks'
import { get, wordsOf } from '../base/api.ts'
import { connections } from '../base/stream.ts'

export interface Remote<T> {
  value: T | undefined
  /** Why it could not be read; empty when it could. */
  error: string
  /** Reads it again. */
  reload(): void
  /** Changes what is shown, until it is read again. */
  set(value: T): void
}

/** The same, read again every `interval` milliseconds while somebody can see it. */
export function usePolled<T>(path: string, interval: number): Remote<T> {
  const remote = useRemote<T>(path)
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') remote.reload()
    }, interval)
    return () => clearInterval(timer)
  }, [])
  return remote
}

/** What an address of the API answers; read again after every break of the connection. */
export function useRemote<T>(path: string): Remote<T> {
  const [value, set] = useState<{ path: string; value: T } | undefined>(undefined)
  const [error, setError] = useState('')
  const [round, setRound] = useState(0)
  const connected = connections.value
  useEffect(() => {
    const abort = new AbortController()
    get<T>(path, abort.signal).then(
      (answer) => {
        set({ path, value: answer })
        setError('')
      },
      (reason: unknown) => {
        if (!abort.signal.aborted) setError(wordsOf(reason))
      },
    )
    return () => abort.abort()
  }, [path, round, connected])
  return {
    value: value?.path === path ? value.value : undefined,
    error,
    reload: () => setRound((before) => before + 1),
    set: (next) => set({ path, value: next }),
  }
}
