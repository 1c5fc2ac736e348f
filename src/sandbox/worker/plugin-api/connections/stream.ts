import { connectionMessageLimit } from '../../../../schema/outside/connection-limits.ts'
import type { OverlongPart, SerialTarget, TcpTarget } from '../../../../schema/outside/connection.ts'
import type { PluginContext } from '../../plugin-context.ts'
import type { ConnectionObject, ConnectionPlan, ReceivedStream } from './connection-object.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { createFramer, type Framing } from './framing.ts'
import { payloadOf } from './options.ts'

export interface StreamPlan extends Pick<ConnectionPlan, 'method' | 'resource' | 'foreignCaller'> {
  /** What it throws is told as a refusal. */
  framing(): Framing | undefined
  target(): Omit<TcpTarget, 'silence'> | Omit<SerialTarget, 'silence'>
}

/** What a TCP connection and a serial port have in common. */
export function openStream(
  context: PluginContext,
  connections: ConnectionObjects,
  { framing: readFraming, target: readTarget, ...plan }: StreamPlan,
): ConnectionObject {
  let framing: Framing | undefined
  const stream: ConnectionObject = connections.open({
    ...plan,
    target() {
      framing = readFraming()
      return { ...readTarget(), ...(framing?.by === 'silence' ? { silence: framing.milliseconds } : {}) }
    },
    stream: () => framing && createFrameStream(framing, 'frame', (frame) => stream.tell('onData', frame)),
    opened: () => stream.tell('onConnect'),
    closed: (reason) => stream.tell('onClose', reason),
    message: (payload) => stream.tell('onData', payload),
  })
  for (const handler of ['onConnect', 'onData', 'onClose']) stream.addHandler(handler)
  stream.addMethod('isConnected', () => stream.isOpen)
  stream.addMethod('write', (caller, data) => stream.send('data', payloadOf(context, 'write', data), caller))
  return stream
}

/** `endsWhole`: what has come before an end in order is a frame, also without an end of its own. */
export function createFrameStream(
  framing: Framing,
  part: OverlongPart,
  tell: (frame: Uint8Array) => void,
  endsWhole = false,
): ReceivedStream {
  const framer = createFramer(framing, connectionMessageLimit)
  return {
    add: framer.add,
    fellSilent: framer.finish,
    ended(reason) {
      if (endsWhole && reason === null) framer.finish()
    },
    tellNext() {
      const frame = framer.next()
      if (frame === undefined) return false
      tell(new Uint8Array(frame))
      return true
    },
    get overlong() {
      return framer.isOverlong ? part : undefined
    },
  }
}
