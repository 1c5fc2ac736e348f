import type { LuaTable } from '../lua/lua-value.ts'
import type { PluginContext } from '../plugin-context.ts'
import type { PluginLog } from '../plugin-log.ts'
import { isTable, typeName } from '../lua/arguments.ts'
import { closestName } from '../../../base/text/closest-name.ts'
import { fitsOption, isOptionKind, type OptionKind, optionError } from './option-kinds.ts'

const request =
  'url method headers timeout:positive body json form multipart query auth saveCookies:flag maxBody parseJson:jsonMode insecureSkipVerify:flag verifySSL:flag log'

/**
 * What a table of options may have, by the heading of its table in the guide without "Options of". Behind a colon
 * is the kind of one that the plugin API takes in place of an error: the log tells of what is of no use.
 */
export const optionsByHeading = {
  'a request': request,
  'a poller':
    'interval:duration immediate:flag initialDelay:duration timeout:positive retry:retry onTick onError:function',
  'a schedule': 'timezone days latitude longitude catchUp',
  'a watcher': 'now:flag stays debounce',
  'an event': 'throttle:duration key:text trailing:flag coalesce:coalesce qos:qos retain:flag',
  'an exposure':
    'id:text name:text area:text unit:text min:number max:maximum step:step icon:text device_class:text state_class:stateClass features:texts device options:texts modes:texts presets:texts fanModes:texts swingModes:texts effects:texts tones:texts fanSpeeds:texts',
  'a handler': 'auth methods',
  'a WebSocket': 'headers protocols ping reconnect insecureSkipVerify:flag',
  'a TCP connection': 'tls timeout framing reconnect',
  'a UDP socket': 'port multicast broadcast:flag reconnect',
  'a serial port': 'baudRate dataBits parity stopBits framing reconnect',
  'a search': 'seconds reconnect',
  'a Modbus request': 'host port framing unit fc addr qty value values timeout:positive',
} as const

type Kinds = ReadonlyMap<string, OptionKind | undefined>

const kindsByText = new Map<string, Kinds>()

/** Read when a plugin first gives such options, and once for all plugins of a worker: at a start hardly any does. */
function kindsOf(text: string): Kinds {
  const known = kindsByText.get(text)
  if (known !== undefined) return known
  const kinds = new Map(
    text.split(' ').map((entry) => {
      const [name = '', kind = ''] = entry.split(':')
      return [name, isOptionKind(kind) ? kind : undefined]
    }),
  )
  kindsByText.set(text, kinds)
  return kinds
}

/** By what is called: which of its arguments has options, from 1, and which. */
const calls = new Map<string, [position: number, options: string]>([
  ['plugin:httpRequest', [1, optionsByHeading['a request']]],
  ['plugin:httpStream', [1, `${optionsByHeading['a request']} reconnect`]],
  ['plugin:poller', [2, optionsByHeading['a poller']]],
  ['plugin:at', [3, optionsByHeading['a schedule']]],
  ['plugin:cron', [3, optionsByHeading['a schedule']]],
  ['plugin:onObject', [3, optionsByHeading['a watcher']]],
  ['plugin:onSensor', [3, optionsByHeading['a watcher']]],
  ['plugin:emit', [3, optionsByHeading['an event']]],
  ['plugin:mqttPublish', [3, 'retain:flag qos:qos']],
  ['plugin:kvSet', [3, 'ttl:number secure:flag']],
  ['plugin:httpHandler', [3, optionsByHeading['a handler']]],
  ['plugin:webSocket', [2, optionsByHeading['a WebSocket']]],
  ['plugin:tcpConnect', [3, optionsByHeading['a TCP connection']]],
  ['plugin:udpSocket', [1, optionsByHeading['a UDP socket']]],
  ['tls', [1, 'insecureSkipVerify:flag serverName ca']],
  ['plugin:serialPort', [2, optionsByHeading['a serial port']]],
  ['plugin:discover', [3, optionsByHeading['a search']]],
  ['plugin:discoverSsdp', [3, optionsByHeading['a search']]],
  ['expose', [3, optionsByHeading['an exposure']]],
  ...['request', 'readHolding', 'readInput', 'writeSingle', 'writeMultiple'].map(
    (name): [string, [number, string]] => [`Modbus.${name}`, [1, optionsByHeading['a Modbus request']]],
  ),
])

/** Those that go on without a table where the options are to be; the others raise an error. */
const lenientCalls = new Set(
  'plugin:at plugin:cron plugin:onObject plugin:onSensor plugin:emit plugin:mqttPublish plugin:kvSet plugin:httpHandler expose'.split(
    ' ',
  ),
)

export function createOptionChecks(log: PluginLog): PluginContext['optionCheck'] {
  return (call) => {
    const known = calls.get(call)
    if (known === undefined) return () => undefined
    const [position, text] = known

    /** What the log is told of an option that does not fit. */
    function complaint(name: string, options: LuaTable): string {
      const kinds = kindsOf(text)
      const kind = kinds.get(name)
      if (kind !== undefined) return `${call}: the option ${name} ${optionError(kind, options.get(name))}`
      const near = closestName(name, [...kinds.keys()])
      return `${call} has no option '${name}'${near === undefined ? '' : ` (did you mean: '${near}'?)`}`
    }

    return (args, foreignCaller) => {
      const options = args[position - 1]
      if (!isTable(options)) {
        if (options === undefined || !lenientCalls.has(call)) return
        const message = (): string =>
          `${call}: the options must be a table, not a ${typeName(options)}: they are ignored`
        log.warnOnce(call, message, foreignCaller)
        return
      }
      const kinds = kindsOf(text)
      for (const [name] of options.textEntries()) {
        // Those that fit come first: some plugins send ten thousand events a second.
        if (typeof name !== 'string' || (kinds.has(name) && fitsOption(kinds.get(name), name, options)))
          continue
        log.warnOnce(`${call} ${name}`, () => complaint(name, options), foreignCaller)
      }
    }
  }
}
