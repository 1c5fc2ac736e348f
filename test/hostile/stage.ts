import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import { noResources } from '../../src/schema/plugin.ts'
import { connect } from '../bus/bus-fixture.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'

/**
 * A real host with a plugin that does something on a beat, and others beside it that mean harm. The witness
 * asks over and over whether HTTP, the broker and the other plugin still do what they are there for.
 */

/** Milliseconds between two beats of the well-behaved plugin. */
const beat = 50
/** Measurements by which the host at rest is known, and that are made under attack at least. */
const idleSamples = 20
const attackSamples = 10
/**
 * How much slower than at rest an answer may be under attack, and what is allowed in any case (ms): the machine
 * that runs the tests has few cores, and one of them is the attacker's.
 */
const slowdownAllowed = 20
const delayAllowed = 150
/** ms after which an attack counts as having had no outcome. */
const patience = 60_000

/** Limits that make an attack short. */
export const shortLimits: Partial<SandboxLimits> = {
  luaLoad: 700,
  loadDeadline: 4_000,
  luaCallback: 500,
  luaCleanup: 500,
  unloadDeadline: 2_000,
  lastWordsDeadline: 500,
  heartbeatInterval: 250,
  unresponsiveAfter: 1_500,
  oldGenerationMegabytes: 48,
}

const peaceful: FixturePlugin = {
  id: 'peaceful',
  lua: `
    local plugin = Plugin:new("peaceful")
    local secret = "the peaceful plugin's own"
    local count = 0
    plugin:onInit(function()
      plugin:upsertObject("state", { count = 0 })
      plugin:setInterval(${beat}, function()
        count = count + 1
        plugin:mqttPublish("peaceful/beat", tostring(count))
      end)
    end)
    function plugin:greet(name) return "hello " .. tostring(name) end
    function plugin:each(callback) return callback(1) end
    function plugin:peek() return secret end
  `,
}

export interface Attack {
  /** Short name, also the plugin's id. */
  id: string
  /** The whole `init.lua`; without `Plugin:new` it is what follows `local plugin = Plugin:new(id)`. */
  lua: string
  manifest?: Record<string, unknown>
}

export interface Measured {
  /** Longest of nine tenths of the answers, in ms. */
  http: number
  mqtt: number
  /** Longest pause between two beats of the peaceful plugin, in ms. */
  pause: number
}

export interface Stage {
  host: TestHost
  /** Installs and enables the plugin; resolves with its state once that is settled. */
  enable(id: string): Promise<PluginView>
  get(id: string): Promise<PluginView>
  logs(id: string): Promise<string[]>
  /** Resolves with the first log line of the plugin that contains or matches this. */
  logged(id: string, wanted: string | RegExp): Promise<string>
  /** Measures the host until `done` settles, and asserts that everybody else was served all the while. */
  witness<T>(done: Promise<T>): Promise<T>
  /** Disables the plugin and asserts that nothing of it is left. */
  disable(id: string): Promise<void>
}

export interface PluginView {
  state: string
  error: { code: string; message: string } | null
  resources: Record<string, number>
}

export async function startStage(
  t: TestContext,
  attacks: readonly Attack[],
  limits: Partial<SandboxLimits> = {},
): Promise<Stage> {
  const plugins = attacks.map(({ id, lua, manifest = {} }) => ({
    id,
    lua: lua.includes('Plugin:new') ? lua : `local plugin = Plugin:new("${id}") ${lua}`,
    manifest,
  }))
  const host = await startTestHost({
    plugins: [peaceful, ...plugins],
    limits: { ...shortLimits, ...limits },
  })
  t.after(() => host.close())
  const client = await connect(t, host.mqttUrl)
  let lastBeat = 0
  let longestPause = 0
  const echoes = new Map<string, () => void>()
  client.on('message', (topic, payload) => {
    if (topic === 'peaceful/beat') {
      const now = performance.now()
      longestPause = Math.max(longestPause, now - lastBeat)
      lastBeat = now
    } else echoes.get(payload.toString())?.()
  })
  await client.subscribeAsync(['peaceful/beat', 'witness/echo'])
  let lastEcho = 0

  async function timed(task: () => Promise<unknown>): Promise<number> {
    const begun = performance.now()
    await task()
    return performance.now() - begun
  }

  const askHttp = async (): Promise<void> => {
    const answer = await host.request('GET', '/api/plugins/@fixtures/peaceful')
    assert.equal(answer.status, 200)
    assert.equal(answer.body.state, 'running')
  }

  async function askBroker(): Promise<void> {
    lastEcho += 1
    const text = String(lastEcho)
    const came = new Promise<void>((resolve) => echoes.set(text, resolve))
    client.publish('witness/echo', text)
    await came
    echoes.delete(text)
  }

  async function measure(enough: (samples: number) => boolean): Promise<Measured> {
    const http: number[] = []
    const mqtt: number[] = []
    lastBeat = performance.now()
    longestPause = 0
    while (!enough(http.length)) {
      http.push(await timed(askHttp))
      mqtt.push(await timed(askBroker))
      // Asked as often as a person and some devices would; the witness is not to be the attacker.
      await wait(10)
    }
    return { http: high(http), mqtt: high(mqtt), pause: Math.max(longestPause, performance.now() - lastBeat) }
  }

  async function get(id: string): Promise<PluginView> {
    return (await host.request('GET', `/api/plugins/@fixtures/${id}`)).body as PluginView
  }

  async function logs(id: string): Promise<string[]> {
    const answer = await host.request('GET', `/api/plugins/@fixtures/${id}/logs?limit=5000`)
    return answer.body.logs.map(
      ({ level, message }: { level: string; message: string }) => `${level} ${message}`,
    )
  }

  async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
    const end = performance.now() + patience
    for (;;) {
      const found = await probe()
      if (found !== undefined) return found
      if (performance.now() > end) assert.fail(`waited in vain for ${what}`)
      await wait(20)
    }
  }

  async function enable(id: string): Promise<PluginView> {
    const installed = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    assert.equal(installed.status, 201)
    const toggled = await host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, {
      body: { enabled: true },
    })
    assert.equal(toggled.status, 200)
    return toggled.body as PluginView
  }

  assert.equal((await enable('peaceful')).state, 'running')
  const idle = await measure((samples) => samples >= idleSamples)

  return {
    host,
    enable,
    get,
    logs,
    logged: (id, wanted) =>
      until(`a log line of ${id} with ${String(wanted)}`, async () =>
        (await logs(id)).find((line) =>
          typeof wanted === 'string' ? line.includes(wanted) : wanted.test(line),
        ),
      ),
    async witness(done) {
      let over = false
      const settled = done.finally(() => (over = true))
      // Its failure is told below.
      settled.catch(() => undefined)
      const found = await measure((samples) => over && samples >= attackSamples)
      const outcome = await settled
      const report = `at rest ${JSON.stringify(idle)}, under attack ${JSON.stringify(found)}`
      t.diagnostic(report)
      assert.ok(found.http <= idle.http * slowdownAllowed + delayAllowed, `HTTP answers: ${report}`)
      assert.ok(found.mqtt <= idle.mqtt * slowdownAllowed + delayAllowed, `the broker delivers: ${report}`)
      assert.ok(found.pause <= idle.pause * slowdownAllowed + delayAllowed, `other plugins run: ${report}`)
      return outcome
    },
    async disable(id) {
      const answer = await host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, {
        body: { enabled: false },
      })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body.resources, { ...noResources })
      assert.deepEqual((await host.request('GET', `/api/plugins/@fixtures/${id}/objects`)).body, {
        objects: {},
      })
    },
  }
}

/** The longest of the shortest nine tenths. */
function high(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.9) - 1] ?? 0
}
