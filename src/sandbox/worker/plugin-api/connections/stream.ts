import type { Framing } from '../../../../schema/connection.ts'
import { delimiterLimit, silenceLimit } from '../../../../schema/connection-limits.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { bytesOf, isTable, optionalNumber, optionalText } from '../arguments.ts'
import type { ConnectionObject, ConnectionObjects, ConnectionPlan } from './connection-objects.ts'
import { payloadOf } from './options.ts'

/** What a TCP connection and a serial port have in common. */
export function openStream(
  context: PluginContext,
  connections: ConnectionObjects,
  plan: Pick<ConnectionPlan, 'method' | 'resource' | 'foreignCaller' | 'target'>,
): ConnectionObject {
  const stream: ConnectionObject = connections.open({
    ...plan,
    opened: () => stream.tell('onConnect'),
    closed: (reason) => stream.tell('onClose', reason === null ? undefined : bytesOf(reason)),
    message: (payload) => stream.tell('onData', payload),
  })
  for (const handler of ['onConnect', 'onData', 'onClose']) stream.addHandler(handler)
  stream.addMethod('isConnected', () => stream.isOpen)
  stream.addMethod('write', (caller, data) => stream.send('data', payloadOf(context, 'write', data), caller))
  return stream
}

/** The option `framing`. Throws `Error` with what is wrong with it. */
export function readFraming(value: LuaValue): { framing?: Framing } {
  if (value === undefined) return {}
  if (isTable(value)) {
    const [delimiter, length, silence] = ['delimiter', 'length', 'silence'].map((name) => value.get(name))
    if (delimiter instanceof Uint8Array) return { framing: readDelimiter(delimiter) }
    const bytes = optionalNumber(length)
    if (bytes === 2 || bytes === 4) return { framing: { by: 'length', bytes } }
    const milliseconds = optionalNumber(silence)
    if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= silenceLimit)
      return { framing: { by: 'silence', milliseconds } }
  } else if (optionalText(value) === 'line') return { framing: { by: 'line' } }
  throw new Error(
    'framing must be "line", { length = 2 or 4 }, { delimiter = "…" } or { silence = milliseconds }',
  )
}

function readDelimiter(bytes: Uint8Array): Framing {
  if (bytes.length === 0 || bytes.length > delimiterLimit)
    throw new Error(`a delimiter has 1 to ${delimiterLimit} bytes, not ${bytes.length}`)
  return { by: 'delimiter', delimiter: Buffer.from(bytes).toString('latin1') }
}
