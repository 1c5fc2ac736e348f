import { useState } from 'preact/hooks'

const kept = new Map<string, unknown>()

/** What somebody types into a form, by a name of its own: it stays while another page, or the login, stands in its place. */
export function useKeptState<T>(name: string, initial: T): [T, (change: (now: T) => T) => void] {
  const current = (): T => (kept.has(name) ? (kept.get(name) as T) : initial)
  const [value, setValue] = useState(current)
  return [
    value,
    (change) => {
      const next = change(current())
      kept.set(name, next)
      setValue(next)
    },
  ]
}
