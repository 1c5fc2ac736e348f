import { systemClock } from '../../src/base/time/clock.ts'
import {
  type ConnectionAllowance,
  createOutside,
  type Outside,
  type OutsideSettings,
} from '../../src/outside/outside.ts'
import type { IsolateSource } from '../../src/sandbox/isolate.ts'
import { defaultPluginLimits } from '../../src/schema/plugin/plugin-limits.ts'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import { createRecorder, type Recorder, type Running, testSandbox } from './stage.ts'

export interface OutsideOptions {
  outside?: Partial<OutsideSettings>
  limits?: Partial<SandboxLimits>
  /** What its connections may do; without it anything. */
  allowed?: Partial<ConnectionAllowance>
  /** Before the load. */
  prepare?(recorder: Recorder): void
}

const anything: ConnectionAllowance = {
  connect: () => undefined,
  serial: () => undefined,
  discover: () => undefined,
}

/** Loads a plugin that can reach servers, hands it over, and leaves nothing behind. */
export async function withOutside(
  source: IsolateSource,
  use: (running: Running & { outside: Outside }) => Promise<void> | void,
  options: OutsideOptions = {},
): Promise<void> {
  const sandbox = testSandbox(options.limits)
  const outside = createOutside({
    clock: systemClock,
    hostVersion: '1.2.3',
    environment: {},
    rewrite: {},
    ownPorts: () => [],
    // What is on the network of whoever runs the tests is none of their business.
    discovery: { networks: () => ({}) },
    ...options.outside,
  })
  const recorder = createRecorder()
  recorder.outside = (call, signal) =>
    outside.request(source.id, call, signal, {
      connect: () => undefined,
      serial: () => undefined,
      seesSerial: () => true,
      httpRequests: options.limits?.httpRequests ?? defaultPluginLimits.httpRequests,
    })
  recorder.connect = (target, listener, foreignCaller) =>
    outside.connect(source.id, target, listener, { ...anything, ...options.allowed }, foreignCaller)
  options.prepare?.(recorder)
  try {
    const isolate = await sandbox.load(source, recorder.services)
    recorder.isolate = isolate
    await use({ recorder, isolate, sandbox, outside })
  } finally {
    await sandbox.close()
    await outside.close()
  }
}

/** Hands over a server, and closes it. */
export async function withServer<S extends { close(): Promise<unknown> }>(
  started: Promise<S>,
  use: (server: S) => Promise<void>,
): Promise<void> {
  const server = await started
  try {
    await use(server)
  } finally {
    await server.close()
  }
}

/** Lua that makes requests one after another, of which `base` may be a part, and shows the `answer` and `err` of each. */
export function requestsInTurn(base: string, requests: string[], show: string): string {
  return `
    local base = "${base}"
    local requests = { ${requests.join(', ')} }
    local function run(index)
      if index > #requests then print("done") return end
      plugin:httpRequest(requests[index], function(answer, err)
        print(${show})
        run(index + 1)
      end)
    end
    plugin:onInit(function() run(1) end)
  `
}

/** What the plugin prints until it prints `done`. */
export async function printedBy(source: IsolateSource, options: OutsideOptions = {}): Promise<string[]> {
  const lines: string[] = []
  await withOutside(
    source,
    async ({ recorder }) => {
      await recorder.logged('info done')
      lines.push(...recorder.logs().filter((line) => !line.startsWith('debug ')))
    },
    options,
  )
  return lines.filter((line) => line !== 'info done').map((line) => line.replace(/^info /, ''))
}
