import type { IncomingMessage } from 'node:http'
import { type Clock, scheduleDeadline } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
import { hookBodyLimit } from '../../schema/outside/hook-limits.ts'
import { type HookAdmission, tooMany } from './hook-admission.ts'

/** Milliseconds that a body may take to arrive, and what is beyond the small part of it once more. */
const bodyTime = 10_000
/** Bytes of bodies that are being read at one time, over all plugins. */
const bytesAtOnce = 64 * 1024 * 1024
/** Bytes of a body that are read of every request: most have less. What has more waits for one of few places. */
export const smallBodyBytes = 64 * 1024

export interface HookBody {
  bytes: Uint8Array<ArrayBuffer>
  /** To be called once nobody has it any more. */
  leave(): void
}

/** Reads bodies of requests to plugins, and keeps no more of them than there is room for. */
export interface HookBodies {
  /**
   * As it came; `signal`: the other side has left. Rejects with `body_too_large`, `body_invalid`, `hook_unavailable`.
   */
  read(plugin: string, request: IncomingMessage, signal: AbortSignal): Promise<HookBody>
  /** Whoever has been sending a body the longest, to this plugin or to any, is refused; false: there is nobody. */
  refuseSlowest(plugin?: string): boolean
}

interface Reading {
  plugin: string
  finish(problem?: Problem): void
}

export function createHookBodies(clock: Clock, admission: Pick<HookAdmission, 'takeLarge'>): HookBodies {
  let held = 0
  /** In the order in which they have begun. */
  const readings = new Set<Reading>()

  /** Reads on until there are more than `most` bytes, or all; answers whether it is all. */
  function readOn(plugin: string, request: IncomingMessage, parts: Buffer[], most: number): Promise<boolean> {
    let size = sizeOf(parts)
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        deadline.cancel()
        readings.delete(reading)
        request.off('data', take).off('end', end).off('close', breakOff).pause()
      }
      const finish = (problem?: Problem): void => {
        stop()
        if (problem === undefined) resolve(request.readableEnded)
        else reject(problem)
      }
      const reading = { plugin, finish }
      const breakOff = (): void =>
        finish(new Problem('body_invalid', 'The body could not be read to its end.'))
      const take = (chunk: Buffer): void => {
        size += chunk.length
        held += chunk.length
        parts.push(chunk)
        if (size > hookBodyLimit) finish(tooLarge())
        else if (held > bytesAtOnce) finish(tooMany())
        else if (size > most) finish()
      }
      const deadline = scheduleDeadline(clock, bodyTime, () =>
        finish(new Problem('body_invalid', `The body did not arrive within ${bodyTime / 1_000} s.`)),
      )
      const end = (): void => finish()
      readings.add(reading)
      request.on('data', take).on('end', end).on('close', breakOff).resume()
      // Whoever has left while the request waited for its place will not be heard to leave, nor an end that had come with all else.
      if (request.readableEnded) finish()
      else if (request.destroyed) breakOff()
    })
  }

  return {
    async read(plugin, request, signal) {
      if (Number(request.headers['content-length'] ?? 0) > hookBodyLimit) throw tooLarge()
      const parts: Buffer[] = []
      let leave = (): void => undefined
      try {
        if (!(await readOn(plugin, request, parts, smallBodyBytes))) {
          leave = await admission.takeLarge(plugin, signal)
          await readOn(plugin, request, parts, hookBodyLimit)
        }
        // Of its own: small ones share their memory with others, and what goes to a worker goes as a whole.
        return { bytes: Uint8Array.from(Buffer.concat(parts)), leave }
      } catch (error) {
        leave()
        throw error
      } finally {
        held -= sizeOf(parts)
      }
    },
    refuseSlowest(plugin) {
      for (const reading of readings)
        if (plugin === undefined || reading.plugin === plugin) {
          reading.finish(tooMany())
          return true
        }
      return false
    },
  }
}

function sizeOf(parts: readonly Buffer[]): number {
  return parts.reduce((size, { length }) => size + length, 0)
}

function tooLarge(): Problem {
  return new Problem('body_too_large', `The body may have ${hookBodyLimit} bytes at most.`)
}
