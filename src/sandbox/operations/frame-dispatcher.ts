import { cutTexts, messageBytesLimit } from '../../base/text/cut-text.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { type SerializedJson, serializedJson, serializeJson } from '../../base/text/serialized-json.ts'
import { type LogLine, parseLogLine } from '../../schema/worker/log-line.ts'
import type { Frame, FrameReader, ValueKind } from '../../schema/worker/message-frames.ts'
import { fits, textLimits } from '../../schema/parsing/text.ts'
import type { IsolateServices } from '../isolate.ts'
import type { HeldResources } from './held-resources.ts'
import type { KeptBytes } from './kept-bytes.ts'
import type { OpenConnections } from './open-connections.ts'

/** Frames between two looks at the clock. */
const framesAtOnce = 4

export interface FrameDispatcherSettings {
  logger: Logger
  /** Full id. */
  plugin: string
  services: Pick<IsolateServices, 'emit' | 'publish' | 'log' | 'setValue'>
  held: Pick<HeldResources, 'noteValue'>
  kept: Pick<KeptBytes, 'admitValue'>
  connections: Pick<OpenConnections, 'write'>
  /** There is no room for a value. */
  cramped(): void
}

/**
 * Checks what a worker sends as frames, and hands it on as it is. Takes the next few; answers how many. Throws `Error` when the
 * bytes are no frames.
 */
export type ServeFrames = (frames: FrameReader) => number

export function createFrameDispatcher(settings: FrameDispatcherSettings): ServeFrames {
  const { logger, plugin, services, held, kept, connections, cramped } = settings

  function nonsense(errors: unknown): void {
    logger.error('A plugin worker asked for nonsense', { plugin, errors })
  }

  function setValue(kind: ValueKind, id: string, payload: Uint8Array): void {
    const isEmpty = payload.length === 0
    if (isEmpty && kind !== 'sensor' && kind !== 'control') {
      nonsense([`an ${kind} has no value`])
      return
    }
    if (!held.noteValue(kind, id)) {
      // An exposure for which there was no room has no values either.
      if (kind !== 'exposed')
        logger.error('A plugin worker asked for more than it may have', { plugin, operation: kind })
      return
    }
    if (kept.admitValue(kind, id, payload.length))
      services.setValue(kind, id, isEmpty ? undefined : serializedJson(copyOf(payload)))
    else cramped()
  }

  function log(payload: Uint8Array): void {
    const parsed = parseLogLine(payload)
    if (parsed.ok) services.log(serializedLine(payload, parsed.value))
    else nonsense(parsed.errors)
  }

  function serve(frame: Frame): void {
    const { kind, name, payload, options, foreignCaller } = frame
    if (kind === 'message') services.publish(name, payload, options)
    else if (!fits(name, textLimits.name)) nonsense([`the name of an ${kind} is too long`])
    else if (kind === 'event') services.emit(name, serializedJson(payload), options, foreignCaller)
    else if (kind === 'log') log(payload)
    else if (kind === 'connection' || kind === 'schedule' || kind === 'watch')
      nonsense([`a ${kind} is not for a worker to say`])
    else if (kind === 'data' || kind === 'text') connections.write({ ...frame, kind })
    else setValue(kind, name, payload)
  }

  return (frames) => {
    let taken = 0
    while (taken < framesAtOnce) {
      const frame = frames.next()
      if (frame === undefined) break
      taken += 1
      try {
        serve(frame)
      } catch (error) {
        const { kind } = frame
        logger.error('A service of the sandbox failed', { plugin, operation: kind, reason: messageOf(error) })
      }
    }
    return taken
  }
}

/** For what is kept: what has come with it is much larger, and so is what Node shares among small buffers. */
function copyOf(payload: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(payload.length)
  copy.set(payload)
  return copy
}

/** A worker cuts what is long; one that was taken over may not. */
function serializedLine(bytes: Uint8Array, line: LogLine): SerializedJson<LogLine> {
  return bytes.length <= messageBytesLimit ? { bytes, value: () => line } : serializeJson(cutTexts(line))
}
