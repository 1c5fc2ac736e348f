import type { PluginContext } from '../plugin-context.ts'
import type { PluginLog } from '../plugin-log.ts'
import { isTable } from '../lua/arguments.ts'
import { closestName } from '../../../base/text/closest-name.ts'

const request =
  'url method headers timeout body json form multipart query auth saveCookies maxBody parseJson insecureSkipVerify verifySSL log'

/** What a table of options may have, by the heading of its table in the guide without "Options of". */
export const optionNames = {
  'a request': request.split(' '),
  'a poller': 'interval immediate initialDelay timeout retry onTick onError'.split(' '),
  'a schedule': 'timezone days latitude longitude catchUp'.split(' '),
  'a watcher': 'now stays debounce'.split(' '),
  'an event': 'throttle key trailing coalesce qos retain'.split(' '),
  'an exposure':
    'id name area unit min max step icon device_class state_class features device options modes presets fanModes swingModes effects tones fanSpeeds'.split(
      ' ',
    ),
  'a handler': 'auth methods'.split(' '),
  'a WebSocket': 'headers protocols ping reconnect insecureSkipVerify'.split(' '),
  'a TCP connection': 'tls timeout framing reconnect'.split(' '),
  'a UDP socket': 'port multicast broadcast reconnect'.split(' '),
  'a serial port': 'baudRate dataBits parity stopBits framing reconnect'.split(' '),
  'a search': 'seconds reconnect'.split(' '),
  'a Modbus request': 'host port framing unit fc addr qty value values timeout'.split(' '),
} as const

/** By what is called: which of its arguments has options, from 1, and their names. */
const calls = new Map<string, [position: number, names: readonly string[]]>([
  ['plugin:httpRequest', [1, optionNames['a request']]],
  ['plugin:httpStream', [1, [...optionNames['a request'], 'reconnect']]],
  ['plugin:poller', [2, optionNames['a poller']]],
  ['plugin:at', [3, optionNames['a schedule']]],
  ['plugin:cron', [3, optionNames['a schedule']]],
  ['plugin:onObject', [3, optionNames['a watcher']]],
  ['plugin:onSensor', [3, optionNames['a watcher']]],
  ['plugin:emit', [3, optionNames['an event']]],
  ['plugin:mqttPublish', [3, ['retain', 'qos']]],
  ['plugin:kvSet', [3, ['ttl', 'secure']]],
  ['plugin:httpHandler', [3, optionNames['a handler']]],
  ['plugin:webSocket', [2, optionNames['a WebSocket']]],
  ['plugin:tcpConnect', [3, optionNames['a TCP connection']]],
  ['plugin:udpSocket', [1, optionNames['a UDP socket']]],
  ['plugin:serialPort', [2, optionNames['a serial port']]],
  ['plugin:discover', [3, optionNames['a search']]],
  ['plugin:discoverSsdp', [3, optionNames['a search']]],
  ['expose', [3, optionNames['an exposure']]],
  ...['request', 'readHolding', 'readInput', 'writeSingle', 'writeMultiple'].map(
    (name): [string, [number, readonly string[]]] => [`Modbus.${name}`, [1, optionNames['a Modbus request']]],
  ),
])

/** Options may have names that come from outside. */
const mostSaid = 100

export function createOptionChecks(log: PluginLog): PluginContext['optionCheck'] {
  const said = new Set<string>()
  return (call) => {
    const known = calls.get(call)
    if (known === undefined) return () => undefined
    const [position, names] = known
    return (args, foreignCaller) => {
      const options = args[position - 1]
      if (!isTable(options)) return
      for (const [name] of options.textEntries()) {
        if (typeof name !== 'string' || names.includes(name) || said.has(`${call} ${name}`)) continue
        if (said.size >= mostSaid) return
        said.add(`${call} ${name}`)
        const near = closestName(name, names)
        const hint = near === undefined ? '' : ` (did you mean: '${near}'?)`
        log.write('warn', `${call} has no option '${name}'${hint}`, foreignCaller)
      }
    }
  }
}
