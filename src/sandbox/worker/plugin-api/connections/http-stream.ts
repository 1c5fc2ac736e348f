import type { Json } from '../../../../base/json.ts'
import type { HttpStreamTarget } from '../../../../schema/connection.ts'
import type { LuaTable } from '../../lua/lua-value.ts'
import type { ForeignCaller } from '../../peers/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { bytesOf, functionArgument, option, tableArgument, textOf } from '../arguments.ts'
import { readHttpOptions } from '../http-options.ts'
import type { ConnectionObject, ConnectionObjects } from './connection-objects.ts'
import { readReconnect } from './options.ts'

const handlers = ['onEvent', 'onLine', 'onClose']

/** `plugin:httpStream` (plugin API, section 15). */
export function installHttpStreams(context: PluginContext, connections: ConnectionObjects): void {
  context.addCallerAwareMethod('httpStream', (foreignCaller, given, callbacks) => {
    const options = tableArgument('httpStream', 1, given)
    const table = callbacks === undefined ? undefined : tableArgument('httpStream', 2, callbacks)
    const first = handlers.map((name) => {
      const run = option(table, name)
      return run === undefined ? undefined : functionArgument(name, 1, run)
    })
    const stream: ConnectionObject = connections.open({
      ...{ method: 'httpStream', resource: 'sockets', foreignCaller },
      target: () => readTarget(context, options, foreignCaller),
      closed: (reason) => stream.tell('onClose', reason === null ? undefined : bytesOf(reason)),
      message(payload, isEvent) {
        if (isEvent) stream.tell('onEvent', context.fromJson(JSON.parse(textOf(payload)) as Json))
        else stream.tell('onLine', payload)
      },
    })
    for (const [index, name] of handlers.entries()) stream.addHandler(name, first[index])
    stream.addMethod('isOpen', () => stream.isOpen)
    return stream.table
  })
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
