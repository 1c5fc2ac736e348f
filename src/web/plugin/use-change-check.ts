import { useEffect, useState } from 'preact/hooks'
import type { ChangeCheck } from '../../schema/plugin/change-check.ts'
import { pluginApi, request, wordsOf } from '../base/api.ts'

/** What is about to be done. */
export type Change =
  | { kind: 'install'; id: string; name: string; repository: string }
  | { kind: 'update'; id: string; name: string }

export interface ChangeCheckState {
  check: ChangeCheck | undefined
  /** Why it cannot be told, or be done. */
  error: string
  retry(): void
}

/** Lets the host fetch and check what a change would bring; nothing is changed by it. */
export function useChangeCheck(change: Change): ChangeCheckState {
  const [state, setState] = useState<{ check?: ChangeCheck; error?: string }>({})
  const [round, setRound] = useState(0)
  const { kind, id } = change
  const repository = change.kind === 'install' ? change.repository : undefined
  useEffect(() => {
    const abort = new AbortController()
    setState({})
    const path = kind === 'install' ? '/api/plugins/install/check' : pluginApi(id, '/update/check')
    const body = kind === 'install' ? { fullId: id, repository } : {}
    request<ChangeCheck>('POST', path, { body, signal: abort.signal }).then(
      (answer) => setState({ check: answer.body }),
      (error: unknown) => {
        if (!abort.signal.aborted) setState({ error: wordsOf(error) })
      },
    )
    return () => abort.abort()
  }, [kind, id, repository, round])
  return {
    check: state.check,
    error: state.error ?? '',
    retry: () => setRound((before) => before + 1),
  }
}
