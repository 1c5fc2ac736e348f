import type { ChangeCheck } from '../../../schema/plugin/change-check.ts'
import { pluginApi, request } from '../../base/api.ts'
import { type Remote, useAnswer } from '../../store/remote.ts'

/** What is about to be done. */
export type Change =
  | { kind: 'install'; id: string; name: string; repository: string }
  | { kind: 'update'; id: string; name: string }

/** Lets the host fetch and check what a change would bring; nothing is changed by it. */
export function useChangeCheck(change: Change): Remote<ChangeCheck> {
  const { kind, id } = change
  const path = kind === 'install' ? '/api/plugins/install/check' : pluginApi(id, '/update/check')
  const body = kind === 'install' ? { fullId: id, repository: change.repository } : {}
  return useAnswer(`${path} ${JSON.stringify(body)}`, async (signal) => {
    return (await request<ChangeCheck>('POST', path, { body, signal })).body
  })
}
