import type { TcpTarget } from '../../../../schema/outside/connection.ts'
import {
  certificatesLimit,
  connectTimeout,
  connectTimeoutLimit,
} from '../../../../schema/outside/connection-limits.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  isTable,
  isTruthy,
  numberArgument,
  optionalText,
  tableArgument,
  textArgument,
  typeName,
} from '../../lua/arguments.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { readFraming } from './framing.ts'
import { milliseconds, readHost, readPort, readReconnect } from './options.ts'
import { openStream } from './stream.ts'

/** `plugin:tcpConnect` (plugin API, section 15). */
export function installTcp(context: PluginContext, connections: ConnectionObjects): void {
  context.addCallerAwareMethod('tcpConnect', (foreignCaller, host, port, given) => {
    const place = textArgument('tcpConnect', 1, host, textLimits.url)
    const number = numberArgument('tcpConnect', 2, port)
    const options = given === undefined ? context.runtime.newTable() : tableArgument('tcpConnect', 3, given)
    return openStream(context, connections, {
      method: 'tcpConnect',
      resource: 'sockets',
      foreignCaller,
      framing: () => readFraming(options.get('framing')),
      target: () => readTarget(context, place, number, options),
    }).table
  })
}

function readTarget(context: PluginContext, host: string, port: number, options: LuaTable): TcpTarget {
  context.optionCheck('tls')([options.get('tls')])
  return {
    kind: 'tcp',
    host: readHost(host),
    port: readPort(port),
    ...readTls(options.get('tls')),
    timeout: milliseconds('timeout', options.get('timeout'), 1, connectTimeoutLimit) ?? connectTimeout,
    ...readReconnect(options.get('reconnect')),
  }
}

function readTls(value: LuaValue): Pick<TcpTarget, 'tls'> {
  if (!isTruthy(value)) return {}
  if (value === true) return { tls: { insecure: false } }
  if (!isTable(value)) throw new Error(`tls must be true or a table, not a ${typeName(value)}`)
  const serverName = optionalText(value.get('serverName'))
  const certificates = optionalText(value.get('ca'))
  if (certificates !== undefined && !fits(certificates, certificatesLimit))
    throw new Error(`ca has more than ${certificatesLimit} bytes`)
  return {
    tls: {
      insecure: isTruthy(value.get('insecureSkipVerify')),
      ...(serverName === undefined ? {} : { serverName: readHost(serverName) }),
      ...(certificates === undefined ? {} : { certificates }),
    },
  }
}
