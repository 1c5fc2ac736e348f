import { connectionMessageLimit } from '../../../../schema/outside/connection-limits.ts'
import type { HttpStreamTarget } from '../../../../schema/outside/connection.ts'
import type { LuaTable } from '../../lua/lua-value.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { option, optionalFunction, tableArgument } from '../../lua/arguments.ts'
import { readHttpOptions } from '../http/http-options.ts'
import type { ConnectionObject, ReceivedStream } from './connection-object.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { createEventStreamReader, type StreamEvent, type StreamPosition } from './event-stream-reader.ts'
import { createFramer } from './framing.ts'
import { readReconnect } from './options.ts'
import { createFrameStream } from './stream.ts'

const handlers = ['onEvent', 'onLine', 'onClose']

/** `plugin:httpStream` (plugin API, section 15). */
export function installHttpStreams(context: PluginContext, connections: ConnectionObjects): void {
  context.addCallerAwareMethod('httpStream', (foreignCaller, given, callbacks) => {
    const options = tableArgument('httpStream', 1, given)
    const table = callbacks === undefined ? undefined : tableArgument('httpStream', 2, callbacks)
    const first = handlers.map((name) => optionalFunction(name, 1, option(table, name)))
    const position: StreamPosition = { lastEventId: '', wait: 0 }
    const stream: ConnectionObject = connections.open({
      ...{ method: 'httpStream', resource: 'sockets', foreignCaller },
      target: () => readTarget(context, options, foreignCaller),
      stream: ({ isEventStream }) =>
        isEventStream === true
          ? eventsOf(position, (event) => stream.tell('onEvent', context.fromJson({ ...event })))
          : createFrameStream({ by: 'line' }, 'line', (line) => stream.tell('onLine', line), true),
      closed: (reason) => stream.tell('onClose', reason),
      position,
    })
    for (const [index, name] of handlers.entries()) stream.addHandler(name, first[index])
    stream.addMethod('isOpen', () => stream.isOpen)
    return stream.table
  })
}

const never = (): void => undefined
const lineFeed = 0x0a
const carriageReturn = 0x0d

function eventsOf(position: StreamPosition, tell: (event: StreamEvent) => void): ReceivedStream {
  const lines = createFramer({ by: 'line' }, connectionMessageLimit)
  const reader = createEventStreamReader(position, connectionMessageLimit)
  let wasReturn = false
  return {
    add(bytes) {
      // Also a carriage return alone is an end of a line here. What has come is nobody else's, so it is changed on the spot.
      let length = 0
      for (const byte of bytes) {
        if (byte !== lineFeed || !wasReturn) bytes[length++] = byte === carriageReturn ? lineFeed : byte
        wasReturn = byte === carriageReturn
      }
      lines.add(bytes.subarray(0, length))
    },
    fellSilent: never,
    // An event without an empty line after it is none.
    ended: never,
    tellNext() {
      for (let line = lines.next(); line !== undefined; line = lines.next()) {
        const event = reader.line(line)
        if (event === undefined) continue
        tell(event)
        return true
      }
      return false
    },
    get overlong() {
      if (reader.isOverlong) return 'event'
      return lines.isOverlong ? 'line' : undefined
    },
  }
}

function readTarget(
  context: PluginContext,
  options: LuaTable,
  foreignCaller: ForeignCaller,
): HttpStreamTarget {
  const { request } = readHttpOptions(context, options)
  if (request.cookies === true && foreignCaller !== undefined)
    throw new Error('another plugin cannot use the cookies of this one')
  return { kind: 'httpStream', request, ...readReconnect(options.get('reconnect')) }
}
