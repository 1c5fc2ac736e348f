import type { SerialSettings } from '../../../../schema/outside/connection.ts'
import {
  baudRateLimit,
  defaultBaudRate,
  serialChoices,
} from '../../../../schema/outside/connection-limits.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaTable } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  functionArgument,
  optionalNumber,
  optionalText,
  tableArgument,
  textArgument,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import type { ConnectionObjects } from './connection-objects.ts'
import { readFraming } from './framing.ts'
import { readReconnect } from './options.ts'
import { openStream } from './stream.ts'

/** `plugin:serialPort` and `plugin:serialPorts` (plugin API, section 15). */
export function installSerial(context: PluginContext, connections: ConnectionObjects): void {
  const { entry, calls } = context

  context.addCallerAwareMethod('serialPort', (foreignCaller, path, given) => {
    const name = textArgument('serialPort', 1, path, textLimits.name)
    const options = given === undefined ? context.runtime.newTable() : tableArgument('serialPort', 2, given)
    return openStream(context, connections, {
      ...{ method: 'serialPort', resource: 'serialPorts', foreignCaller },
      framing: () => readFraming(options.get('framing')),
      target: () => ({
        kind: 'serial',
        settings: readSerialSettings(name, options),
        ...readReconnect(options.get('reconnect')),
      }),
    }).table
  })

  context.addCallerAwareMethod('serialPorts', (foreignCaller, callback) => {
    const run = functionArgument('serialPorts', 1, callback)
    calls.start(
      { service: 'serialPorts' },
      ({ service, answer }) => {
        if (service !== 'serialPorts') return
        const what = 'callback of serialPorts'
        if (!answer.ok) entry.call(what, run, context.runtime.newTable(), toBytes(answer.message))
        else entry.call(what, run, context.fromJson(answer.ports.map((port) => ({ ...port }))))
      },
      foreignCaller,
    )
    return true
  })
}

/** Throws `Error` with what is wrong. */
export function readSerialSettings(path: string, options: LuaTable): SerialSettings {
  if (!fits(path, textLimits.name) || path.includes('\0')) throw new Error('this is no path of a serial port')
  const baudRate = optionalNumber(options.get('baudRate') ?? defaultBaudRate)
  if (baudRate === undefined || !Number.isInteger(baudRate) || baudRate < 1 || baudRate > baudRateLimit)
    throw new Error(`baudRate must be a whole number from 1 to ${baudRateLimit}`)
  return {
    path,
    baudRate,
    dataBits: oneOf('dataBits', optionalNumber, options, serialChoices.dataBits),
    parity: oneOf('parity', optionalText, options, serialChoices.parity),
    stopBits: oneOf('stopBits', optionalNumber, options, serialChoices.stopBits),
  }
}

function oneOf<T extends number | string>(
  name: string,
  read: (value: ReturnType<LuaTable['get']>) => number | string | undefined,
  options: LuaTable,
  choices: readonly [T, ...T[]],
): T {
  const value = options.get(name)
  if (value === undefined) return choices[0]
  const wanted = read(value)
  const found = choices.find((choice) => choice === wanted)
  if (found === undefined) throw new Error(`${name} must be one of ${choices.join(', ')}`)
  return found
}
