import type { ConnectionTarget } from '../../../../schema/outside/connection.ts'
import {
  type Finding,
  readSearchTarget,
  readServiceType,
  secondsLimit,
  searchedTextLimit,
} from '../../../../schema/outside/discovery.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { functionArgument, option, optionalNumber, tableArgument, textArgument } from '../../lua/arguments.ts'
import { fromLatin1, toBytes, toUnicode } from '../../lua/text/bytes.ts'
import type { ConnectionObject } from './connection-object.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { readReconnect } from './options.ts'

/** `plugin:discover` and `plugin:discoverSsdp` (plugin API, section 15). */
export function installDiscovery(context: PluginContext, connections: ConnectionObjects): void {
  install('discover', 'discovery', (text) => {
    const service = readServiceType(text)
    if (service === undefined)
      throw new Error(`${JSON.stringify(text)} is no service of DNS-SD, such as "_http._tcp"`)
    return service
  })
  install('discoverSsdp', 'ssdp', (text) => {
    const target = readSearchTarget(text)
    if (target === undefined)
      throw new Error(`${JSON.stringify(text)} is no search target of SSDP, such as "ssdp:all"`)
    return target
  })

  function install(method: string, kind: 'discovery' | 'ssdp', read: (text: string) => string): void {
    context.addCallerAwareMethod(method, (foreignCaller, sought, callback, given) => {
      const text = textArgument(method, 1, sought, searchedTextLimit)
      const run = functionArgument(method, 2, callback)
      const options = given === undefined ? undefined : tableArgument(method, 3, given)
      const search: ConnectionObject = connections.open({
        ...{ method, resource: 'discoveries', foreignCaller },
        target: (): ConnectionTarget => ({
          ...{ kind, wanted: read(text) },
          ...readSeconds(option(options, 'seconds')),
          ...readReconnect(option(options, 'reconnect')),
        }),
        closed: (reason) => search.tell('onClose', reason),
        message: (payload) => search.tell('callback', tableOf(JSON.parse(toUnicode(payload)) as Finding)),
      })
      search.handle('callback', run)
      search.addHandler('onClose')
      return search.table
    })
  }

  function tableOf({ name, host, addresses, port, txt, gone }: Finding): LuaTable {
    const [table, all, texts] = [
      context.runtime.newTable(),
      context.runtime.newTable(),
      context.runtime.newTable(),
    ]
    for (const [index, address] of addresses.entries()) all.set(index + 1, toBytes(address))
    // Each character is a byte.
    for (const [key, value] of txt) texts.set(key, fromLatin1(value))
    const fields = { name: toBytes(name), host: toBytes(host), addresses: all, port, txt: texts, gone }
    for (const [key, value] of Object.entries(fields)) table.set(key, value)
    return table
  }
}

/** Absent: as long as the plugin runs. Throws `Error`. */
function readSeconds(value: LuaValue): { seconds?: number } {
  if (value === undefined) return {}
  const seconds = optionalNumber(value)
  if (seconds === undefined || !(seconds > 0) || seconds > secondsLimit)
    throw new Error(`seconds must be a number above 0, and ${secondsLimit} at most`)
  return { seconds }
}
