import { messageOf } from '../base/problem.ts'
import type { Settings } from '../settings/settings.ts'
import type { LastKnownSettings } from './fleet/store/last-known.ts'
import type { OpenFleet, OpenFleetSettings } from './fleet/open-fleet.ts'
import { StartInterrupted } from './interrupted-start.ts'
import { StartError } from './start-conditions.ts'

/**
 * Joins the fleet that the settings name, if they name one; its libraries are loaded only then. Throws `StartError`, and
 * `StartInterrupted` when the start is to end before.
 */
export async function openConfiguredFleet(
  settings: Settings,
  parts: Pick<OpenFleetSettings, 'interrupt'> & Omit<LastKnownSettings, 'settings'>,
): Promise<OpenFleet | undefined> {
  const { fleet, mqttUrl = '', mqttRoot: root, safeMode } = settings
  if (fleet === undefined) return undefined
  const { openFleet } = await import('./fleet/open-fleet.ts')
  const showLastKnown: OpenFleetSettings['showLastKnown'] = async (hindrance) =>
    (await import('./fleet/store/last-known.ts')).showLastKnown({ ...parts, settings }, hindrance)
  return openFleet({ ...parts, settings: fleet, mqttUrl, root, safeMode, showLastKnown }).catch(
    (error: unknown) => {
      throw error instanceof StartInterrupted ? error : new StartError(messageOf(error), { cause: error })
    },
  )
}
