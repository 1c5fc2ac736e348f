import { serializeJson } from '../../src/base/text/serialized-json.ts'
import { systemClock, withDeadline } from '../../src/base/time/clock.ts'
import type { Json } from '../../src/base/text/json.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { messageOf } from '../../src/base/problem.ts'
import { createNextTime } from '../../src/lifecycle/triggers/next-time.ts'
import type { Isolate, IsolateServices, IsolateSource, Sandbox } from '../../src/sandbox/isolate.ts'
import { failedAnswer } from '../../src/schema/outside/failed-answer.ts'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import type { Connection, ConnectionTarget } from '../../src/schema/outside/connection.ts'
import { createSandbox, type SandboxSettings } from '../../src/sandbox/sandbox.ts'

/** Milliseconds after which a test gives up waiting; a plugin that works needs a fraction of it. */
const patience = 30_000
const lookAgainMs = 10

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A call that the plugin made to the host, as the test wants to read it. */
export type Call = readonly [name: string, ...details: unknown[]]

/** The host as a plugin sees it: writes down what the plugin asks for, and hands events to whoever listens. */
export interface Recorder {
  readonly services: IsolateServices
  readonly calls: Call[]
  /** Details of the calls of this name. */
  named(name: string): unknown[][]
  /** Log lines as `level message`. */
  logs(): string[]
  /** Resolves with what `probe` gives as soon as it is not undefined; asked after every call. */
  until<T>(probe: () => T | undefined): Promise<T>
  /** Resolves when a log line contains this text; with the line. */
  logged(text: string): Promise<string>
  /** Objects of other plugins, by full path. */
  readonly foreignObjects: Map<string, Json>
  isolate: Isolate | undefined
  /** What answers the plugin's requests to machines elsewhere; without one they fail. */
  outside: IsolateServices['request']
  /** What makes its connections; without one they are refused. */
  connect: IsolateServices['connect']
}

export function createRecorder(): Recorder {
  const calls: Call[] = []
  const lines: string[] = []
  const listening = new Set<string>()
  const foreignObjects = new Map<string, Json>()
  let isolate: Isolate | undefined
  /** What comes before whoever loads the plugin has it in hand. */
  const early: ((isolate: Isolate) => void)[] = []
  const watchers = new Set<() => void>()
  const record = (...call: Call): void => {
    calls.push(call)
    for (const watcher of [...watchers]) watcher()
  }
  const recorder: Recorder = {
    calls,
    foreignObjects,
    get isolate() {
      return isolate
    },
    set isolate(loaded) {
      isolate = loaded
      if (loaded !== undefined) for (const deliver of early.splice(0)) deliver(loaded)
    },
    outside: ({ service }) => Promise.resolve(failedAnswer(service, 'there is no network here')),
    connect: (target, listener) => refusedConnection(target.kind, listener),
    logs: () => lines,
    named: (name) => calls.filter((call) => call[0] === name).map(([, ...details]) => details),
    until<T>(probe: () => T | undefined): Promise<T> {
      let unrecorded: NodeJS.Timeout | undefined
      const waiting = new Promise<T>((resolve) => {
        const watcher = (): void => {
          const found = probe()
          if (found === undefined) return
          watchers.delete(watcher)
          resolve(found)
        }
        watchers.add(watcher)
        // What a plugin holds changes without a call that is recorded.
        unrecorded = setInterval(watcher, lookAgainMs)
        watcher()
      })
      return withDeadline(
        systemClock,
        patience,
        waiting,
        () => new Error(`waited in vain; the plugin did: ${JSON.stringify(calls.slice(-20), undefined, 1)}`),
      ).finally(() => {
        clearInterval(unrecorded)
      })
    },
    logged: (text) => recorder.until(() => lines.find((line) => line.includes(text))),
    services: {
      log(line) {
        const entry = line.value()
        lines.push(`${entry.level} ${entry.message}`)
        record('log', entry.level, entry.message, ...(entry.fields === undefined ? [] : [entry.fields]))
      },
      emit(name, data, options, caller) {
        record('emit', name, data.value() ?? undefined, options, ...(caller === undefined ? [] : [caller]))
        if (!listening.has(name)) return
        const bytes = Uint8Array.from(data.bytes)
        if (isolate === undefined) early.push((loaded) => loaded.deliverEvent(name, bytes))
        else isolate.deliverEvent(name, bytes)
      },
      publish: (topic, payload, options) => record('publish', topic, decoder.decode(payload), options),
      subscribeEvent({ name }) {
        listening.add(name)
        record('subscribeEvent', name)
      },
      unsubscribeEvent({ name }) {
        listening.delete(name)
        record('unsubscribeEvent', name)
      },
      subscribeTopic: ({ subscription, filter }) => record('subscribeTopic', subscription, filter),
      unsubscribeTopic: ({ subscription }) => record('unsubscribeTopic', subscription),
      setValue(kind, id, value) {
        if (kind === 'object') record('setObject', id, value?.value())
        else if (kind === 'exposed') record('setExposedState', id, value?.value())
        else record('setPoint', kind, id, value?.value())
      },
      removeValue({ of: kind, id }) {
        if (kind === 'object') record('setObject', id, undefined)
        else record('removePoint', kind, id)
      },
      setExposure: ({ id, exposure }) => record('setExposure', id, exposure),
      removeExposure: ({ id }) => record('removeExposure', id),
      setHttpHandler: ({ handler, hook }) => record('setHttpHandler', handler, hook),
      removeHttpHandler: ({ handler }) => record('removeHttpHandler', handler),
      hookAddress: ({ hook: { path } }) =>
        Promise.resolve({ url: `http://hooks/s3cretpart/${path}`, secret: 's3cretpart' }),
      setSchedule({ number, schedule }) {
        record('setSchedule', number, schedule)
        return createNextTime(schedule, Date.now()).then(() => undefined, messageOf)
      },
      removeSchedule: ({ schedule }) => record('removeSchedule', schedule),
      watch({ number, watch }) {
        record('watch', number, watch)
        return undefined
      },
      unwatch: ({ watch }) => record('unwatch', watch),
      setKeyValue: ({ key, entry }) => record('setKeyValue', key, entry),
      request: (call, signal) => recorder.outside(call, signal),
      connect: (target, listener, foreignCaller) => recorder.connect(target, listener, foreignCaller),
      lookUpObject: ({ fullPath }) => foreignObjects.get(fullPath),
      installedAs: () => [],
      listPlugins: () => [],
      refuseConnection: () => undefined,
      refuseForeignCall: () => undefined,
      refuseUse: () => undefined,
      congested: () => undefined,
      deliveries: () => 0,
      limitReached: () => undefined,
      charged: () => undefined,
      moveAway: () => void recorder.isolate?.unload(),
    },
  }
  return recorder
}

/** One that ends at once. */
function refusedConnection(
  kind: ConnectionTarget['kind'],
  listener: Parameters<IsolateServices['connect']>[1],
): Connection {
  setImmediate(() => listener.event({ event: 'closed', reason: 'there is no network here', final: true }))
  const nothing = (): void => undefined
  return {
    ...{ kind, write: nothing, pause: nothing, resume: nothing, destroy: nothing },
    ...{ overlong: nothing, continues: nothing },
    close: () => Promise.resolve(),
  }
}

/** What an event carries on its way to a plugin. */
export const json = (value?: Json): Uint8Array => serializeJson(value).bytes

/** A source with this init.lua; `Plugin:new` is called in front of it, as `plugin`, in the same line. */
export function pluginSource(lua: string, overrides: Partial<IsolateSource> = {}): IsolateSource {
  return rawSource(`local plugin = Plugin:new("probe") ${lua}`, overrides)
}

/** A source with exactly this init.lua. */
export function rawSource(lua: string, overrides: Partial<IsolateSource> = {}): IsolateSource {
  return {
    id: '@test/probe',
    shortId: 'probe',
    namespace: 'test',
    name: 'Probe',
    version: '1.2.3',
    description: 'A plugin under test',
    config: {},
    secrets: [],
    keyValues: {},
    controls: [],
    topics: { root: 'host', plugin: '@test/probe' },
    publicHooks: true,
    retained: [],
    ...overrides,
    files: { 'init.lua': encoder.encode(lua), ...overrides.files },
  }
}

export interface Running {
  recorder: Recorder
  isolate: Isolate
  sandbox: Sandbox
}

const inSharedWorkers = process.env.TEST_ISOLATION === 'shared'

/**
 * For a test that says nothing about shared workers, and why; it is left out with `TEST_ISOLATION=shared`. What
 * takes longer there than 0.4 s is unloaded and gets a worker of its own, which is the business of the lifecycle.
 */
export function needsOwnWorker(reason: string): { skip: string | false } {
  return { skip: inSharedWorkers && reason }
}

/** A sandbox of the system clock with a silent log; `TEST_ISOLATION=shared` runs any test in shared workers. */
export function testSandbox(
  limits: Partial<SandboxLimits> = {},
  more: Partial<SandboxSettings> = {},
): Sandbox {
  const isolation = inSharedWorkers ? 'shared' : 'dedicated'
  return createSandbox({ clock: systemClock, logger: silentLogger, limits, isolation, ...more })
}

/** Loads a plugin, hands it over, and leaves nothing behind. */
export async function withPlugin(
  source: IsolateSource,
  use: (running: Running) => Promise<void> | void,
  limits: Partial<SandboxLimits> = {},
): Promise<void> {
  const sandbox = testSandbox(limits)
  const recorder = createRecorder()
  try {
    const isolate = await sandbox.load(source, recorder.services)
    recorder.isolate = isolate
    await use({ recorder, isolate, sandbox })
  } finally {
    await sandbox.close()
  }
}

/** The log lines at info, without the level. */
export const printedIn = (recorder: Recorder): string[] =>
  recorder.logs().flatMap((line) => (line.startsWith('info ') ? [line.slice(5)] : []))

/** Log lines at info of a plugin that says all it has to say while it loads. */
export async function linesOf(source: IsolateSource): Promise<string[]> {
  let lines: string[] = []
  await withPlugin(source, ({ recorder }) => {
    lines = printedIn(recorder)
  })
  return lines
}
