/**
 * The limits of one plugin that the host's owner may set. What is not here is for `sandbox/limits.ts` to say. Imports nothing:
 * the web pages have it, too.
 */

export interface LimitDefinition {
  /** What the number counts. */
  unit: 'MB' | 'bytes' | 'ms' | 'per second' | 'things'
  default: number
  /** Least and most that an owner may choose; whole numbers. */
  min: number
  max: number
  /** What the plugin meets at it. */
  description: string
}

/** No limit, unless the owner sets one. */
export const noLimit = Number.POSITIVE_INFINITY
const kibi = 1024
const mebi = 1024 * 1024

export const limitDefinitions = {
  // An idle plugin takes about 12.
  memory: of('MB', 128, 24, 4_096, 'Heap of its worker: tables, functions and the like; more ends it'),
  // More than any page or payload that a plugin may fetch.
  stringBytes: of('bytes', 16 * mebi, 64 * kibi, 256 * mebi, 'One Lua string; a longer one is an error'),
  callbackTime: of('ms', 5_000, 100, 60_000, 'Lua in one callback, or one call of another plugin'),
  loadTime: of('ms', 20_000, 500, 300_000, 'Lua in init.lua and onInit'),
  // Whoever asks for much gets what others leave (`sandbox/flow/scheduler.ts`), so nobody has to be held back for them.
  operationsPerSecond: of(
    'per second',
    noLimit,
    10,
    100_000,
    'Log lines, events, messages, objects, requests and questions in the long run, and deliveries that follow; more waits',
  ),
  // What a large plugin creates in its onInit. Without the limit above it has no effect.
  operationBurst: of('things', 10_000, 10, 1_000_000, 'The same at once, after a rest'),
  bytesPerSecond: of('bytes', noLimit, kibi, 256 * mebi, 'The same in bytes, a second'),
  httpRequests: of('things', 8, 1, 100, 'HTTP requests under way; a thousand more wait'),
  sockets: of('things', 64, 0, 10_000, 'Open WebSockets, streams over HTTP, TCP and UDP sockets'),
  serialPorts: of('things', 16, 0, 256, 'Open serial ports'),
  discoveries: of('things', 16, 0, 256, 'Searches of the network'),
  keyValueBytes: of('bytes', mebi, kibi, 64 * mebi, 'Stored values, keys and values as JSON'),
  timers: of('things', 10_000, 0, 1_000_000, 'Timers at one time'),
  pollers: of('things', 1_000, 0, 100_000, 'Pollers at work at one time'),
  eventSubscriptions: of('things', 10_000, 0, 1_000_000, 'Event listeners'),
  // As many as a client of the broker: a message may go to each.
  mqttSubscriptions: of('things', 200, 0, 10_000, 'MQTT subscriptions'),
  httpHandlers: of('things', 100, 0, 10_000, 'Handlers of requests from outside'),
  objects: of('things', 10_000, 0, 1_000_000, 'Objects'),
  sensors: of('things', 10_000, 0, 1_000_000, 'Sensors'),
  controls: of('things', 10_000, 0, 1_000_000, 'Controls'),
  // Each is an entity of Home Assistant's.
  exposures: of('things', 1_000, 0, 100_000, 'Exposed objects'),
  schedules: of('things', 1_000, 0, 100_000, 'Times at which something is done'),
  watchers: of('things', 1_000, 0, 100_000, 'Watched patterns of objects and sensors'),
  throttles: of('things', 10_000, 0, 1_000_000, 'Open throttle windows'),
} as const satisfies Record<string, LimitDefinition>

function of(
  unit: LimitDefinition['unit'],
  fallback: number,
  min: number,
  max: number,
  description: string,
): LimitDefinition {
  return { unit, default: fallback, min, max, description }
}
