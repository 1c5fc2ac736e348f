import { pluginApi, request } from '../../base/api.ts'
import type { ConfigCheck } from '../../base/types.ts'
import { type Remote, useAnswer } from '../../store/remote.ts'
import type { Values } from './setting-places.ts'

/** Pause in the typing after which the host is asked, in milliseconds. */
const typingPause = 200

/** Until it is asked again after a failure, in milliseconds: without its opinion nothing can be saved. */
const retryPause = 2_000

/** The host's own opinion of a configuration, while somebody is typing it; undefined while it is being asked. */
export function useConfigCheck(id: string, config: Values): Remote<ConfigCheck> {
  const path = pluginApi(id, '/config/check')
  const body = { config }
  return useAnswer(
    `${path} ${JSON.stringify(body)}`,
    async (signal) => (await request<ConfigCheck>('POST', path, { body, signal })).body,
    { delay: typingPause, retry: retryPause },
  )
}
