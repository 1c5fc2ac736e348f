import { isUtf8 } from 'node:buffer'
import type { WebSocketTarget } from '../../../../schema/outside/connection.ts'
import { defaultPing, pingLimits, protocolLimit } from '../../../../schema/outside/connection-limits.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTruthy, listOf, optionalText, tableArgument, textArgument, typeName } from '../../lua/arguments.ts'
import { sendableJson } from '../json-text.ts'
import { readSendableHeaders } from '../http/http-options.ts'
import type { ConnectionObject } from './connection-object.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { milliseconds, payloadOf, readReconnect } from './options.ts'

/** `plugin:webSocket` (plugin API, section 15). */
export function installWebSockets(context: PluginContext, connections: ConnectionObjects): void {
  context.addCallerAwareMethod('webSocket', (foreignCaller, url, given) => {
    const address = textArgument('webSocket', 1, url, textLimits.url)
    const options = given === undefined ? context.runtime.newTable() : tableArgument('webSocket', 2, given)
    const socket: ConnectionObject = connections.open({
      method: 'webSocket',
      resource: 'sockets',
      foreignCaller,
      target: () => readTarget(context, address, options),
      opened: () => socket.tell('onOpen'),
      closed: (reason, code) => socket.tell('onClose', code, reason),
      message: (payload, isText) => socket.tell('onMessage', payload, !isText),
    })
    for (const handler of ['onOpen', 'onMessage', 'onClose']) socket.addHandler(handler)
    socket.addMethod('isOpen', () => socket.isOpen)
    socket.addMethod('send', (caller, data, binary) => {
      const payload = payloadOf(context, 'send', data)
      const kind = binary !== true && isUtf8(payload) ? 'text' : 'data'
      return socket.send(kind, payload, caller)
    })
    socket.addMethod('sendJson', (caller, value) =>
      socket.send('text', sendableJson(context, 'sendJson', value), caller),
    )
    return socket.table
  })
}

function readTarget(context: PluginContext, url: string, options: LuaTable): WebSocketTarget {
  if (!fits(url, textLimits.url)) throw new Error(`the url has more than ${textLimits.url} bytes`)
  return {
    kind: 'webSocket',
    url,
    headers: readSendableHeaders(context, options.get('headers')).headers,
    protocols: readProtocols(options.get('protocols')),
    ...readPing(options.get('ping')),
    insecure: isTruthy(options.get('insecureSkipVerify')),
    ...readReconnect(options.get('reconnect')),
  }
}

function readPing(value: LuaValue): { ping?: number } {
  if (value === false || value === 0) return {}
  return { ping: milliseconds('ping', value, pingLimits.least, pingLimits.most) ?? defaultPing }
}

/** One, or an array of them. */
function readProtocols(value: LuaValue): string[] {
  if (value === undefined) return []
  const all = listOf(value)
  if (all.length > protocolLimit) throw new Error(`there are more than ${protocolLimit} protocols`)
  return all.map((each) => {
    const text = optionalText(each)
    if (text === undefined || !fits(text, textLimits.label))
      throw new Error(`protocols must be texts, not a ${typeName(each)}`)
    return text
  })
}
