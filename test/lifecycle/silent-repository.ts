import { systemClock } from '../../src/base/time/clock.ts'
import { defaultRepositoryLimits } from '../../src/repository/limits.ts'
import type { Handler, WebServer } from '../repository/repository-fixture.ts'

/** Deadlines of requests to repositories never come. */
export const clock: typeof systemClock = {
  ...systemClock,
  schedule: (milliseconds, callback) =>
    milliseconds === defaultRepositoryLimits.requestTime || milliseconds === defaultRepositoryLimits.stageTime
      ? { cancel: () => undefined }
      : systemClock.schedule(milliseconds, callback),
}

/** From now on the server answers everything but a question for the plugin's manifest. */
export function holdManifest(server: WebServer, answer: Handler) {
  const held: (() => void)[] = []
  let hangUp: (() => void) | undefined
  /** Such a question is over. */
  const hungUp = new Promise<void>((resolve) => (hangUp = resolve))
  const asked = new Promise<void>((resolve) => {
    server.handle = (request, response) => {
      if (request.url !== '/clock/plugin.json') {
        answer(request, response)
        return
      }
      held.push(() => answer(request, response))
      response.once('close', () => hangUp?.())
      resolve()
    }
  })
  return { asked, hungUp, held }
}
