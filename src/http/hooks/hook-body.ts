import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
import { hookBodyLimit } from '../../schema/outside/hook-limits.ts'
import { tooMany } from './hook-places.ts'

/** Milliseconds that a body may take to arrive. */
const bodyTime = 10_000
/** Bytes of bodies that are being read at one time, over all plugins. */
const bytesAtOnce = 64 * 1024 * 1024

/** Reads bodies of requests to plugins, and keeps no more of them than there is room for. */
export interface HookBodies {
  /** As it came. Rejects with `body_too_large`, `body_invalid`, `hook_unavailable`. */
  read(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>>
}

export function createHookBodies(clock: Clock): HookBodies {
  let held = 0
  return {
    async read(request) {
      if (Number(request.headers['content-length'] ?? 0) > hookBodyLimit) throw tooLarge()
      const parts: Buffer[] = []
      let size = 0
      await new Promise<void>((resolve, reject) => {
        const finish = (problem?: Problem): void => {
          deadline.cancel()
          request.off('data', take).off('end', end).off('close', breakOff)
          held -= size
          if (problem === undefined) resolve()
          else reject(problem)
        }
        const breakOff = (): void =>
          finish(new Problem('body_invalid', 'The body could not be read to its end.'))
        const take = (chunk: Buffer): void => {
          size += chunk.length
          held += chunk.length
          parts.push(chunk)
          if (size > hookBodyLimit) finish(tooLarge())
          else if (held > bytesAtOnce) finish(tooMany())
        }
        const deadline = clock.schedule(bodyTime, () =>
          finish(new Problem('body_invalid', `The body did not arrive within ${bodyTime / 1_000} s.`)),
        )
        const end = (): void => finish()
        request.on('data', take).on('end', end).on('close', breakOff)
        // Whoever has left while the request waited for its place will not be heard to leave.
        if (request.destroyed) breakOff()
      })
      // Of its own: small ones share their memory with others, and what goes to a worker goes as a whole.
      return Uint8Array.from(Buffer.concat(parts))
    },
  }
}

function tooLarge(): Problem {
  return new Problem('body_too_large', `The body may have ${hookBodyLimit} bytes at most.`)
}
