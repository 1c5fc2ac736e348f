import { useEffect, useState } from 'preact/hooks'
import { pluginApi, request, wordsOf } from '../base/api.ts'
import { connections } from '../base/stream.ts'
import type { ConfigCheck } from '../base/types.ts'

/** Pause in the typing after which the host is asked, in milliseconds. */
const typingPause = 200

export interface CheckState {
  /** The host's answer to exactly what is in the form; undefined while it is being asked. */
  check: ConfigCheck | undefined
  /** Why it could not be asked. */
  error: string
}

/** The host's own opinion of a configuration, while somebody is typing it. */
export function useConfigCheck(id: string, config: Record<string, unknown>): CheckState {
  const text = JSON.stringify({ config })
  const [state, setState] = useState<CheckState & { text: string }>({ check: undefined, error: '', text: '' })
  const connected = connections.value
  useEffect(() => {
    const abort = new AbortController()
    const timer = setTimeout(() => {
      request<ConfigCheck>('POST', pluginApi(id, '/config/check'), {
        body: JSON.parse(text) as unknown,
        signal: abort.signal,
      }).then(
        ({ body }) => setState({ check: body, error: '', text }),
        (error: unknown) => {
          if (!abort.signal.aborted) setState({ check: undefined, error: wordsOf(error), text })
        },
      )
    }, typingPause)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [id, text, connected])
  return state.text === text ? state : { check: undefined, error: '' }
}
