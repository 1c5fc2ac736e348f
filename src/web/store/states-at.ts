import { useEffect, useState } from 'preact/hooks'
import { get } from '../base/api.ts'
import type { PluginStateAt } from '../base/types.ts'
import { tellFailure } from './notices.ts'

const statesKnown = new Map<number, readonly PluginStateAt[]>()
/** Most moments that are kept. */
const statesLimit = 500
/** Rest of the hand on the scrubber after which the host is asked, in milliseconds. */
const scrubPause = 40

/** How things stood after an event; the answers are kept, as the past does not change. Undefined: not known; of event 0 nothing is. */
export function useStatesAt(wanted: number): readonly PluginStateAt[] | undefined {
  const [answer, setAnswer] = useState<readonly PluginStateAt[] | undefined>(undefined)
  useEffect(() => {
    if (wanted < 1) {
      setAnswer(undefined)
      return undefined
    }
    const known = statesKnown.get(wanted)
    if (known !== undefined) {
      setAnswer(known)
      return undefined
    }
    const abort = new AbortController()
    const timer = setTimeout(() => {
      get<{ plugins: PluginStateAt[] }>(`/api/history/${wanted}/state`, abort.signal).then(
        (answered) => {
          if (statesKnown.size > statesLimit) statesKnown.clear()
          statesKnown.set(wanted, answered.plugins)
          setAnswer(answered.plugins)
        },
        (error: unknown) => {
          if (abort.signal.aborted) return
          setAnswer(undefined)
          tellFailure(error)
        },
      )
    }, scrubPause)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [wanted])
  return answer
}
