import type { TableName } from '../plugin-context.ts'
import { functionCodes } from './connections/modbus.ts'
import { modbusNumbers } from './connections/modbus-numbers.ts'

/**
 * What a plugin finds under which name, by the part that has it: methods of `Plugin`, functions of the other tables, and
 * functions that are globals themselves. A part is made when one of them is used first.
 */
type PartNames = Readonly<Partial<Record<TableName | 'globals', readonly string[]>>>

const parts = {
  plugin: { Plugin: ['new', 'onInit', 'onCleanup', 'getConfig'] },
  logging: { Plugin: ['log', 'logSafe'], Logger: ['debug', 'info', 'warn', 'error'] },
  timers: { Plugin: ['setTimeout', 'setInterval', 'clearTimer'] },
  pollers: { Plugin: ['poller'] },
  keyValues: { Plugin: ['kvGet', 'kvSet', 'kvDelete', 'kvHas', 'kvList', 'kvGetAll'] },
  coercion: { Plugin: ['coerceNumber', 'coerceString', 'coerceBool'] },
  json: { Plugin: ['jsonDecode', 'jsonEncode'], JSON: ['decode', 'encode'] },
  webHelpers: { Plugin: ['url', 'basicAuth', 'bearerAuth'] },
  http: { Plugin: ['httpRequest', 'httpGet', 'httpPost'] },
  modbus: {
    Modbus: [
      ...['isAvailable', 'stats', 'request', 'readInput', 'readHolding', 'writeSingle', 'writeMultiple'],
      ...Object.keys(modbusNumbers),
    ],
  },
  objects: { Plugin: ['upsertObject', 'updateObject', 'removeObject', 'getObject', 'createObject'] },
  modules: { globals: ['require'] },
  points: { Plugin: ['sensor', 'control', 'removeSensor', 'removeControl'] },
  otherPlugins: { Plugin: ['get', 'getPlugin', 'list'] },
  events: { Plugin: ['emit', 'on'], EventBus: ['on', 'subscribe'] },
  mqtt: { Plugin: ['mqttPublish', 'mqttSubscribe'] },
  exposures: { globals: ['expose', 'unexpose'] },
  schedules: { Plugin: ['at', 'cron'] },
  watches: { Plugin: ['onObject', 'onSensor'] },
  connections: {
    Plugin: [
      ...['webSocket', 'httpStream', 'tcpConnect', 'udpSocket', 'serialPort', 'serialPorts'],
      ...['discover', 'discoverSsdp'],
    ],
  },
  httpHandlers: { Plugin: ['httpHandler', 'hookUrl'] },
} as const satisfies Record<string, PartNames>

export type PartName = keyof typeof parts

const allParts: readonly (readonly [string, PartNames])[] = Object.entries(parts)

/** As tracebacks have them, where that is not by the table alone. */
const nameOf: Readonly<Record<keyof PartNames, (key: string) => string>> = {
  Plugin: (key) => {
    if (key === 'new') return 'Plugin:new'
    const isLookUp = (parts.otherPlugins.Plugin as readonly string[]).includes(key)
    return `${isLookUp ? 'Plugin.' : 'plugin:'}${key}`
  },
  Logger: (key) => `Logger:${key}`,
  JSON: (key) => `JSON:${key}`,
  EventBus: (key) => `EventBus:${key}`,
  Modbus: (key) => `Modbus.${key}`,
  globals: (key) => key,
}

/** Which part has the function of this name. */
export const partOf: ReadonlyMap<string, PartName> = new Map(
  allParts.flatMap(([part, names]) =>
    (Object.keys(names) as (keyof PartNames)[]).flatMap((table) =>
      (names[table] ?? []).map((key) => [nameOf[table](key), part as PartName] as const),
    ),
  ),
)

/** The functions of a table, by their keys. */
function namesIn(table: keyof PartNames): Record<string, string> {
  const keys = allParts.flatMap(([, names]) => names[table] ?? [])
  return Object.fromEntries(keys.map((key) => [key, nameOf[table](key)]))
}

/** What each table has: the full names of functions, and numbers. */
export const tableFields: Readonly<Record<TableName, Readonly<Record<string, string | number>>>> = {
  Plugin: namesIn('Plugin'),
  Logger: namesIn('Logger'),
  JSON: namesIn('JSON'),
  EventBus: namesIn('EventBus'),
  Modbus: { ...functionCodes, ...namesIn('Modbus') },
}

/** Likewise those that are globals themselves. */
export const globalFunctions = namesIn('globals')
