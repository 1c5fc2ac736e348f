import { defaultReconnect, reconnectLimits } from '../../../../schema/outside/connection-limits.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isTable, optionalNumber, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'

/** Reading what the calls for connections have in common. Each throws `Error` with what is wrong. */

/** `{ min, max }`, `false` for never, nothing for the default. */
export function readReconnect(value: LuaValue): { reconnect?: { min: number; max: number } } {
  if (value === false) return {}
  if (value === undefined || value === true) return { reconnect: { ...defaultReconnect } }
  if (!isTable(value)) throw new Error(`reconnect must be a table or false, not a ${typeName(value)}`)
  const { least, most } = reconnectLimits
  const min = milliseconds('reconnect.min', value.get('min'), least, most) ?? defaultReconnect.min
  const max = milliseconds('reconnect.max', value.get('max'), least, most) ?? defaultReconnect.max
  return { reconnect: { min, max: Math.max(min, max) } }
}

/** Undefined when it is not given. */
export function milliseconds(name: string, value: LuaValue, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  const number = optionalNumber(value)
  if (number === undefined || number < least || number > most)
    throw new Error(`${name} must be a number of milliseconds from ${least} to ${most}`)
  return number
}

/** Bytes of what is written: a string as it is, a number or boolean as text. */
export function payloadOf(context: PluginContext, method: string, value: LuaValue): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'number' || typeof value === 'boolean') return toBytes(context.runtime.toText(value))
  throw new Error(`bad argument #1 to '${method}' (string expected, got ${typeName(value)})`)
}

/** An address of IPv6 as it stands in a URL, too. */
export const withoutBrackets = (host: string): string => host.trim().replace(/^\[(.*)\]$/, '$1')

/** A name or an address. */
export function readHost(text: string): string {
  const host = withoutBrackets(text)
  if (host === '' || !fits(host, textLimits.hostName) || /[\s/?#@\\]/.test(host))
    throw new Error('the host must be a name or an address')
  return host
}

export function readPort(port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 0xffff)
    throw new Error('the port must be a whole number from 1 to 65535')
  return port
}
