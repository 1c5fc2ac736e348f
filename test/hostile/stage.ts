import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import type { FindersSettings } from '../../src/outside/outside.ts'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { connect } from '../bus/bus-fixture.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { complaints, type Measured, shown } from './measure.ts'
import { startWitness } from './witness.ts'

/**
 * A real host with a plugin that does something on a beat, and others beside it that mean harm. A witness in
 * another process measures whether HTTP, the broker and the other plugin still do what they are there for while each
 * of them does its worst, and, where that took longer than promised, how long it takes on this machine at rest.
 */

/** Milliseconds between two beats of the well-behaved plugin, and from a beat to the timer that follows it. */
const beat = 50
const afterBeat = 20
/** ms after which an attack counts as having had no outcome. */
const patience = 180_000
/**
 * How often an attack is made before it counts as having harmed others. What other programs do on the machine
 * only ever makes things slower, and does not come back each time; harm that the attack does is there each time.
 */
const rounds = 5
const mebi = 1024 * 1024
/** Bytes by which the host's heap may be larger after an attack: its log, its facts, and what V8 has compiled. */
const heapAllowed = 12 * mebi
/** How many times as much memory the whole process may have after all attacks of a stage as before the first. */
const residentAllowed = 1.5
/** ms within which the memory has to be back. */
const returnPatience = 10_000

export type Isolation = 'dedicated' | 'shared'

/** Limits that make an attack short. */
export const shortLimits: Partial<SandboxLimits> = {
  loadTime: 700,
  loadDeadline: 4_000,
  callbackTime: 500,
  cleanupTime: 500,
  unloadDeadline: 2_000,
  lastWordsDeadline: 500,
  heartbeatInterval: 250,
  unresponsiveAfter: 1_500,
  memory: 48,
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
        local mine = tostring(count)
        plugin:mqttPublish("peaceful/beat", mine)
        plugin:setTimeout(${afterBeat}, function() plugin:mqttPublish("peaceful/after", mine) end)
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

export interface Stage {
  host: TestHost
  isolation: Isolation
  /** Installs the plugin if need be, and enables it; resolves with its state once that is settled. */
  enable(id: string): Promise<PluginView>
  /** Installs it if need be, and sets these limits for it. */
  limit(id: string, limits: Record<string, number>): Promise<void>
  get(id: string): Promise<PluginView>
  /** What the plugin's log says since it was enabled last. */
  logs(id: string): Promise<string[]>
  /** Resolves with the first of these lines that contains or matches this. */
  logged(id: string, wanted: string | RegExp): Promise<string>
  /** Resolves when the plugin shows that it has met this limit. */
  reached(id: string, limit: string): Promise<void>
  /**
   * Measures the host while `attack` runs; asserts that everybody else was served all the while, and that the memory
   * came back. An attack that is over before enough was seen of it is made at once
   * again; one that goes on by itself waits for `enough`. All of that again when others were served too slowly.
   */
  witness(attack: MakeAttack, slowdown?: number): Promise<void>
  /** Hears the broker's messages as any client does. */
  listen(filters: string[], listener: (topic: string, payload: string) => void): Promise<void>
  /** Disables the plugin and asserts that nothing of it is left. */
  disable(id: string): Promise<void>
}

/** Makes one attack, and ends it. `enough` resolves when the witness has seen enough. */
export type MakeAttack = (enough: Promise<void>) => Promise<void>

export interface PluginView {
  state: string
  error: { code: string; message: string } | null
  resources: Record<string, number>
  limitsReached: { limit: string; value: number }[]
}

interface Memory {
  /** Bytes: the host's own heap and what it keeps outside of it, and all that the process has of the machine. */
  heap: number
  resident: number
  /** Workers with a plugin. */
  workers: number
}

export async function startStage(
  t: TestContext,
  attacks: readonly Attack[],
  limits: Partial<SandboxLimits> = {},
  isolation: Isolation = 'dedicated',
  discovery?: FindersSettings,
): Promise<Stage> {
  const plugins = attacks.map(({ id, lua, manifest = {} }) => ({
    id,
    lua: lua.includes('Plugin:new') ? lua : `local plugin = Plugin:new("${id}") ${lua}`,
    manifest,
  }))
  const host = await startTestHost({
    plugins: [peaceful, ...plugins],
    limits: { ...shortLimits, ...limits },
    settings: { isolation, hostId: 'attic', discoveryPrefix: 'homeassistant' },
    ...(discovery === undefined ? {} : { discovery }),
  })
  t.after(() => host.close())
  const enabledAt = new Map<string, string>()

  async function get(id: string): Promise<PluginView> {
    return (await host.request('GET', `/api/plugins/@fixtures/${id}`)).body as PluginView
  }

  async function logs(id: string): Promise<string[]> {
    const answer = await host.request('GET', `/api/plugins/@fixtures/${id}/logs?limit=5000`)
    const since = enabledAt.get(id) ?? ''
    const lines = answer.body.logs as { at: string; level: string; message: string }[]
    return lines.filter(({ at }) => at >= since).map(({ level, message }) => `${level} ${message}`)
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

  async function install(id: string): Promise<void> {
    const installed = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    // An attack that is made again is installed already.
    assert.ok([201, 409].includes(installed.status))
  }

  async function enable(id: string): Promise<PluginView> {
    await install(id)
    enabledAt.set(id, new Date().toISOString())
    const toggled = await host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, {
      body: { enabled: true },
    })
    assert.equal(toggled.status, 200)
    return toggled.body as PluginView
  }

  async function remembered(): Promise<Memory> {
    const { body } = await host.request('GET', '/api/system')
    collectGarbage()
    const { heapUsed, external, rss } = process.memoryUsage()
    return { heap: heapUsed + external, resident: rss, workers: body.isolates.length }
  }

  /** What is left once the memory has come back, or of the last look when it does not. */
  async function settled(first: Memory): Promise<Memory> {
    const end = performance.now() + returnPatience
    for (;;) {
      const memory = await remembered()
      // Buffers are let go of a while after the collection that found them unused.
      const back =
        memory.heap <= first.heap + heapAllowed && memory.resident <= first.resident * residentAllowed
      if ((back && memory.workers === first.workers) || performance.now() > end) return memory
      await wait(100)
    }
  }

  assert.equal((await enable('peaceful')).state, 'running')
  const witness = await startWitness(t, host.url, host.mqttUrl)
  const atRest = (): Promise<Measured> => witness.watch((enough) => enough)
  // What is compiled and opened on first use is no part of being at rest.
  await atRest()
  const first = await remembered()

  /** One attack; what is wrong with it. `rests`: of the attacks before it of the same kind, and of this one. */
  async function round(
    attack: MakeAttack,
    rests: Measured[],
    slowdown: number | undefined,
  ): Promise<string[]> {
    const found = await witness.watch(async (enough) => {
      const over = { isSeen: false }
      enough.catch(() => undefined).finally(() => (over.isSeen = true))
      do await attack(enough)
      while (!over.isSeen)
      await enough
    })
    const memory = await settled(first)
    let wrong = complaints(found, rests, isolation, slowdown)
    // What keeps the promise needs no comparison.
    if (wrong.length > 0) {
      rests.push(await atRest())
      wrong = complaints(found, rests, isolation, slowdown)
    }
    const grown = memory.heap - first.heap
    if (grown > heapAllowed) wrong.push(`the heap is ${(grown / mebi).toFixed(1)} MB larger`)
    if (memory.resident > first.resident * residentAllowed)
      wrong.push(
        `the process has ${(memory.resident / mebi).toFixed(0)} of ${(first.resident / mebi).toFixed(0)} MB`,
      )
    if (memory.workers !== first.workers)
      wrong.push(`${memory.workers} plugins run instead of ${first.workers}`)
    const size = `heap +${(grown / mebi).toFixed(1)} MB, process ×${(memory.resident / first.resident).toFixed(2)}`
    const compared = rests.map((rest) => `\n  at rest: ${shown(rest)}`).join('')
    t.diagnostic(`attacked: ${shown(found)}; ${size}${compared}`)
    return wrong
  }

  return {
    host,
    isolation,
    enable,
    get,
    async limit(id, chosen) {
      await install(id)
      const path = `/api/plugins/@fixtures/${id}/limits`
      assert.equal((await host.request('PUT', path, { body: { limits: chosen } })).status, 200)
    },
    logs,
    logged: (id, wanted) =>
      until(`a log line of ${id} with ${String(wanted)}`, async () =>
        (await logs(id)).find((line) =>
          typeof wanted === 'string' ? line.includes(wanted) : wanted.test(line),
        ),
      ),
    reached: (id, limit) =>
      until(`${id} to meet its limit ${limit}`, async () =>
        (await get(id)).limitsReached.some((met) => met.limit === limit) ? true : undefined,
      ).then(() => undefined),
    async witness(attack, slowdown) {
      let wrong: string[] = []
      const rests: Measured[] = []
      for (let made = 0; made < rounds; made += 1) {
        wrong = await round(attack, rests, slowdown)
        if (wrong.length === 0) return
        t.diagnostic(`attack ${made + 1} of ${rounds}: ${wrong.join('; ')}`)
      }
      assert.deepEqual(wrong, [])
    },
    async listen(filters, listener) {
      const client = await connect(t, host.mqttUrl)
      client.on('message', (topic, payload) => listener(topic, payload.toString()))
      for (const filter of filters) await client.subscribeAsync(filter)
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
