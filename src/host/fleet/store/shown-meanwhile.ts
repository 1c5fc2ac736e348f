import type { Logger } from '../../../base/log/log.ts'
import { messageOf } from '../../../base/problem.ts'
import { StartError } from '../../start-conditions.ts'
import type { Hindrance, LastKnown } from './last-known.ts'

/** What answers questions while a start waits. */
export interface ShownMeanwhile {
  /** Port at which they are answered, or were last; undefined: the start has not waited. */
  readonly port: number | undefined
  /** Takes the place of what was shown before. Rejects with `StartError` when it may not; any other failure is logged. */
  show(hindrance: Hindrance): Promise<void>
  hide(): Promise<void>
}

export function createShownMeanwhile(
  showLastKnown: (hindrance: Hindrance) => Promise<LastKnown>,
  logger: Logger,
): ShownMeanwhile {
  let shown: LastKnown | undefined
  let port: number | undefined

  async function hide(): Promise<void> {
    const before = shown
    shown = undefined
    await before?.close()
  }

  return {
    get port() {
      return port
    },
    async show(hindrance) {
      await hide()
      try {
        shown = await showLastKnown(hindrance)
        port = shown.port
      } catch (error) {
        if (error instanceof StartError) throw error
        logger.error('What this host knew when it was last there cannot be shown', {
          error: messageOf(error),
        })
      }
    },
    hide,
  }
}
