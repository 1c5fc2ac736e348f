import { messageOf } from '../../../../base/problem.ts'
import type { ModbusAnswer, ModbusRequest } from '../../../../schema/outside/outside.ts'
import { modbusLimits, modbusTimeoutLimit } from '../../../../schema/outside/outside-limits.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  isTable,
  listOf,
  optionalFunction,
  optionalNumber,
  optionalText,
  tableArgument,
  typeName,
  withoutSelf,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { readSerialSettings } from './serial.ts'
import { modbusNumbers } from './modbus-numbers.ts'
import { withoutBrackets } from './options.ts'

export const functionCodes = {
  READ_COILS: 1,
  READ_DISCRETE: 2,
  READ_HOLDING: 3,
  READ_INPUT: 4,
  WRITE_COIL: 5,
  WRITE_SINGLE: 6,
  WRITE_COILS: 15,
  WRITE_MULTIPLE: 16,
} as const

const defaultPort = 502
const defaultUnit = 1

/** The global `Modbus` (plugin API, section 11). */
export function installModbus(context: PluginContext): void {
  const { runtime, entry, calls } = context
  const { Modbus: modbus } = context.tables
  const counts = { requests: 0, errors: 0 }

  function add(name: string, implementation: (...args: LuaValue[]) => LuaValue): void {
    const full = `Modbus.${name}`
    context.implement(full, () =>
      runtime.wrap(full, (...args) => implementation(...withoutSelf(modbus, args))),
    )
  }

  function start(name: string, options: LuaValue, callback: LuaValue, fc?: number): boolean {
    const wanted = tableArgument(`Modbus.${name}`, 1, options)
    const run = optionalFunction(`Modbus.${name}`, 2, callback)
    context.optionCheck(`Modbus.${name}`)([wanted])
    counts.requests += 1
    const heard: Parameters<typeof calls.start>[1] = (reply) => {
      if (reply.service === 'modbus') settle(name, run, reply.answer)
    }
    let request: ModbusRequest
    try {
      request = readRequest(wanted, fc ?? optionalNumber(wanted.get('fc')))
    } catch (error) {
      calls.refuse('modbus', messageOf(error), heard)
      return true
    }
    calls.start({ service: 'modbus', request }, heard)
    return true
  }

  function settle(name: string, callback: LuaFunction | undefined, answer: ModbusAnswer): void {
    if (!answer.ok) counts.errors += 1
    if (callback === undefined) return
    const what = `callback of Modbus.${name}`
    if (answer.ok) entry.call(what, callback, context.fromJson(answer.values))
    else entry.call(what, callback, undefined, toBytes(answer.message))
  }

  add('isAvailable', () => true)
  add('stats', () => context.fromJson({ ...counts, pending: calls.count('modbus') }))
  add('request', (options, callback) => start('request', options, callback))
  add('readInput', (options, callback) => start('readInput', options, callback, functionCodes.READ_INPUT))
  add('readHolding', (options, callback) =>
    start('readHolding', options, callback, functionCodes.READ_HOLDING),
  )
  add('writeSingle', (options, callback) =>
    start('writeSingle', options, callback, functionCodes.WRITE_SINGLE),
  )
  add('writeMultiple', (options, callback) =>
    start('writeMultiple', options, callback, functionCodes.WRITE_MULTIPLE),
  )
  for (const [name, implementation] of Object.entries(modbusNumbers)) add(name, implementation)
}

/** Throws `Error` with what is wrong with the options. */
function readRequest(options: LuaTable, fc: number | undefined): ModbusRequest {
  const timeout = optionalNumber(options.get('timeout'))
  const target = {
    ...readPlace(options),
    unit: whole(options, 'unit', 0, 255, defaultUnit),
    address: whole(options, 'addr', 0, 0xffff),
    ...(timeout !== undefined && timeout > 0 ? { timeout: Math.min(timeout, modbusTimeoutLimit) } : {}),
  }
  switch (fc) {
    case 1:
    case 2:
      return { ...target, fc, quantity: whole(options, 'qty', 1, modbusLimits.readBits, 1) }
    case 3:
    case 4:
      return { ...target, fc, quantity: whole(options, 'qty', 1, modbusLimits.readRegisters, 1) }
    case 5:
      return { ...target, fc, values: [coil(single(options))] }
    case 6:
      return { ...target, fc, values: [register(single(options))] }
    case 15:
      return { ...target, fc, values: several(options, modbusLimits.writeBits).map(coil) }
    case 16:
      return { ...target, fc, values: several(options, modbusLimits.writeRegisters).map(register) }
    default:
      throw new Error(`fc must be one of ${Object.values(functionCodes).join(', ')}`)
  }
}

/** A host and a port, or `port = { serial = "/dev/…", baudRate, … }`. */
function readPlace(options: LuaTable): Pick<ModbusRequest, 'host' | 'port' | 'serial' | 'rtu'> {
  const line = options.get('port')
  if (isTable(line)) {
    const path = optionalText(line.get('serial'))
    if (path === undefined || path === '') throw new Error('port.serial must be the path of a serial port')
    return { host: 'serial', port: defaultPort, serial: readSerialSettings(path, line) }
  }
  const host = withoutBrackets(optionalText(options.get('host')) ?? '')
  if (host === '' || !fits(host, textLimits.hostName)) throw new Error('host must be a name or an address')
  const framing = optionalText(options.get('framing'))
  if (framing !== undefined && framing !== 'rtu') throw new Error('framing must be "rtu", or nothing')
  const rtu = framing === undefined ? {} : { rtu: true as const }
  return { host, port: whole(options, 'port', 1, 0xffff, defaultPort), ...rtu }
}

function whole(options: LuaTable, name: string, least: number, most: number, otherwise?: number): number {
  const value = options.get(name)
  const number = value === undefined ? otherwise : optionalNumber(value)
  if (number === undefined || !Number.isInteger(number) || number < least || number > most) {
    throw new Error(`${name} must be a whole number from ${least} to ${most}`)
  }
  return number
}

function single(options: LuaTable): LuaValue {
  return options.get('value') ?? several(options, 1)[0]
}

function several(options: LuaTable, most: number): LuaValue[] {
  const values = options.get('values')
  if (!isTable(values) || values.length < 1 || values.length > most)
    throw new Error(most === 1 ? 'value must be what to write' : `values must be an array of 1 to ${most}`)
  return listOf(values)
}

/** A register holds 16 bits; a negative number is written as its complement. */
function register(value: LuaValue): number {
  const number = optionalNumber(value)
  if (number === undefined || !Number.isInteger(number) || number < -0x8000 || number > 0xffff) {
    throw new Error(
      `a register takes a whole number from -32768 to 65535, not ${number ?? `a ${typeName(value)}`}`,
    )
  }
  return number & 0xffff
}

function coil(value: LuaValue): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  const number = optionalNumber(value)
  if (number === undefined) throw new Error(`a coil takes true or false, not a ${typeName(value)}`)
  return number === 0 ? 0 : 1
}
