import { createFrameReader, type Frame, type FrameKind } from '../../schema/worker/message-frames.ts'
import type { PluginApi } from './plugin-api/plugin-api.ts'
import type { PluginLog } from './plugin-log.ts'

export interface DeliveriesSettings {
  part: PluginApi['part']
  log: PluginLog
  /** So many bytes of deliveries have been taken up. */
  handled(bytes: number): void
}

/** Makes of a batch of the host's what delivers one of its frames each time, and answers whether that was the last one. */
export function createDeliveries({
  part,
  log,
  handled,
}: DeliveriesSettings): (frames: Uint8Array) => () => boolean {
  /** Answers what goes on with a frame that is not done yet: the bytes of a connection may be thousands of lines. */
  function deliver(frame: Frame, bytes: number): (() => boolean) | undefined {
    const { kind, name, subscription, payload, foreignCaller } = frame
    if (isOfConnection(kind)) return part('connections').deliver(frame)
    handled(bytes)
    if (kind === 'event') part('events').deliver(name, payload, foreignCaller)
    else if (kind === 'message') part('mqtt').deliver(subscription, name, payload)
    else if (kind === 'schedule') part('schedules').deliver(subscription)
    else if (kind === 'watch') part('watches').deliver(subscription, name, payload)
    return undefined
  }

  return (frames) => {
    const reader = createFrameReader(frames)
    let rest: (() => boolean) | undefined

    return () => {
      const before = reader.left
      const frame = rest === undefined ? reader.next() : undefined
      try {
        if (frame !== undefined) rest = deliver(frame, before - reader.left)
        if (rest?.() === true) rest = undefined
      } catch (error) {
        rest = undefined
        log.failure('delivery', error)
      }
      return rest === undefined && reader.left === 0
    }
  }
}

/** What connections bring they account for themselves. */
const isOfConnection = (kind: FrameKind): boolean =>
  kind === 'connection' || kind === 'data' || kind === 'text'
