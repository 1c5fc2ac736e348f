import assert from 'node:assert/strict'
import { copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import type { Bus } from '../../../src/bus/bus.ts'
import { createRetainedTopics } from '../../../src/lifecycle/stores/retained-topics.ts'
import { pluginRetainedLimits } from '../../../src/schema/plugin/retained-account.ts'
import { collect, connect } from '../../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../../bus/mosquitto.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { startHostFor, type TestHost } from '../../helpers/test-host.ts'

/** What a plugin retained stays when it is unloaded, and goes when it is uninstalled. */

const [one, two, three] = ['@a/one', '@a/two', '@a/three']

type Entry = ReturnType<Bus['retainedByPlugins']> extends Iterable<infer One> ? One : never

/** A host's memory of topics on a real folder, with a bus that notes what is cleared and a clock moved by hand. */
async function createStage(context: TestContext) {
  const directory = await temporaryDirectory(context)
  const state = {
    connected: true,
    cleared: [] as string[],
    notTheirs: new Set<string>(),
    writes: 0,
    atBroker: [] as Entry[],
  }
  const waiting: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    schedule(_milliseconds, callback) {
      waiting.push(callback)
      return { cancel: () => void waiting.splice(waiting.indexOf(callback), 1) }
    },
  }
  const files: FileSystem = {
    ...systemFileSystem,
    rename(from, to) {
      state.writes += 1
      return systemFileSystem.rename(from, to)
    },
  }
  const bus: Partial<Bus> = {
    get connected() {
      return state.connected
    },
    mayBeRetainedBy: (_plugin, topic) => !state.notTheirs.has(topic),
    retainedByPlugins: () => state.atBroker,
    publish(topic, payload, options) {
      assert.deepEqual([payload, options?.retain], ['', true])
      state.cleared.push(topic)
      return Promise.resolve()
    },
  }
  const start = async () => {
    const retained = createRetainedTopics({
      ...{ directory, files, clock, logger: silentLogger },
      bus: bus as Bus,
    })
    await retained.recover()
    return retained
  }
  return { state, start, folder: join(directory, '.retained'), elapse: () => waiting.splice(0).length }
}

test('what plugins retained is known to the next run, and only a changed set of topics is written', async (context) => {
  const { state, start, folder } = await createStage(context)
  const first = await start()
  for (const topic of ['x', 'y', 'z']) assert.ok(first.take(one, topic, 5))
  assert.ok(first.take(two, 'z', 5), 'taken over')
  first.take(one, 'x', 0)
  await Promise.all([first.release(one), first.release(two)])
  assert.equal(state.writes, 2)
  for (let payload = 1; payload < 100; payload += 1) first.take(one, 'y', payload)
  await first.release(one)
  await first.close()
  assert.equal(state.writes, 2)
  for (const name of await readdir(folder)) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600)
  const second = await start()
  assert.deepEqual(second.entries(one), [['y', 5]])
  assert.deepEqual(second.entries(two), [['z', 5]])
  await second.clear(one)
  assert.deepEqual(state.cleared, ['y'])
  await second.close()
  assert.deepEqual((await start()).plugins(), [two])
})

test('a topic that was cleared and is retained again is known, one that is another’s now is not, nor a list that is damaged or of another plugin', async (context) => {
  const { state, start, folder } = await createStage(context)
  const first = await start()
  first.take(one, 'y', 5)
  first.take(two, 'z', 5)
  await first.release(two)
  first.take(three, 'z', 5)
  for (const payload of [5, 0, 5]) {
    first.take(one, 'x', payload)
    await first.release(one)
  }
  await first.close()
  state.notTheirs.add('y')
  const second = await start()
  assert.deepEqual([one, two, three].map(second.entries), [[['x', 5]], [], [['z', 5]]])
  await second.close()
  const [ofOne = '', ofThree = ''] = (await readdir(folder)).sort().map((name) => join(folder, name))
  await copyFile(ofOne, ofThree)
  await writeFile(ofOne, 'damaged')
  assert.deepEqual((await start()).plugins(), [two])
})

test('nothing is cleared while the broker is away, and nothing that is somebody else’s now', async (context) => {
  const { state, start } = await createStage(context)
  const first = await start()
  for (const topic of ['mine', 'theirs']) first.take(one, topic, 5)
  await first.release(one)
  state.connected = false
  await first.clear(one)
  await first.close()
  assert.deepEqual(state.cleared, [])
  const second = await start()
  state.connected = true
  state.notTheirs.add('theirs')
  await second.clear(one)
  assert.deepEqual(state.cleared, ['mine'])
  assert.deepEqual((await start()).plugins(), [])
})

test('a plugin has room for so many topics and bytes, whatever was unloaded meanwhile, and clearing gives it back', async (context) => {
  const { start } = await createStage(context)
  const retained = await start()
  const { topics, bytes } = pluginRetainedLimits
  for (let number = 0; number < topics; number += 1) assert.ok(retained.take(one, `t${number}`, 1))
  await retained.release(one)
  assert.ok(!retained.take(one, 'more', 1))
  assert.ok(retained.take(one, 't1', 2), 'replaced')
  assert.ok(retained.take(two, 'more', bytes - 'more'.length), 'of another one')
  assert.ok(!retained.take(two, 'x', 1))
  assert.ok(retained.take(one, 't1', 0))
  assert.ok(retained.take(one, 'more', 1))
  await retained.close()
})

const plugins = [
  {
    id: 'keeper',
    lua: `
      local plugin = Plugin:new("keeper")
      plugin:onInit(function()
        for _, topic in ipairs({ "kept/own", "kept/client", "kept/other" }) do
          plugin:mqttPublish(topic, "keeper", { retain = true })
        end
        plugin:emit("kept", "keeper", { retain = true })
      end)
    `,
  },
  {
    id: 'other',
    lua: `
      local plugin = Plugin:new("other")
      plugin:onInit(function() plugin:mqttPublish("kept/other", "other", { retain = true }) end)
    `,
  },
]

const event = 'host/plugins/@fixtures/keeper/events/kept'

/** What is retained now, of what the plugins say. */
async function retainedAt(context: TestContext, url: string): Promise<Record<string, string>> {
  const client = await connect(context, url)
  const received = collect(client)
  const arrived = async (mark: string) => {
    while (!received.all.some(({ topic }) => topic === mark)) await received.take(received.all.length + 1)
  }
  // The built-in broker tells the youngest of what is retained last; another one tells all of it at once.
  await client.publishAsync('mark/last', '', { retain: true, qos: 1 })
  await client.publishAsync('mark/last', 'end', { retain: true, qos: 1 })
  await client.subscribeAsync('#', { qos: 1 })
  await arrived('mark/last')
  await client.publishAsync('mark/then', 'end', { qos: 1 })
  await arrived('mark/then')
  await client.endAsync(true)
  const retained = received.all.filter(({ topic }) => topic.startsWith('kept/') || topic === event)
  return Object.fromEntries(retained.map(({ topic, text }) => [topic, text]))
}

async function toggle(host: TestHost, id: string, enabled: boolean): Promise<void> {
  const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled } })
  assert.equal(body.state, enabled ? 'running' : 'unloaded', JSON.stringify(body.error))
}

async function startWithPlugins(
  context: TestContext,
  settings: { mqttUrl?: string } = {},
): Promise<TestHost> {
  const host = await startHostFor(context, { settings, plugins })
  for (const { id } of plugins) {
    const { status } = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    assert.equal(status, 201)
  }
  await toggle(host, 'keeper', true)
  return host
}

const all = { 'kept/own': 'keeper', 'kept/client': 'keeper', 'kept/other': 'keeper', [event]: '"keeper"' }

test('embedded broker: what a plugin retained survives its unload, and goes with its uninstallation where it is still its own', async (context) => {
  const host = await startWithPlugins(context)
  await toggle(host, 'keeper', false)
  assert.deepEqual(await retainedAt(context, host.mqttUrl), all)
  await toggle(host, 'other', true)
  const client = await connect(context, host.mqttUrl)
  await client.publishAsync('kept/client', 'client', { qos: 1, retain: true })
  assert.equal((await host.request('DELETE', '/api/plugins/keeper')).status, 200)
  assert.deepEqual(await retainedAt(context, host.mqttUrl), {
    'kept/client': 'client',
    'kept/other': 'other',
  })
  await toggle(host, 'other', false)
  assert.deepEqual(await readdir(join(host.directory, '.retained')), ['fixtures--other.json'])
})

test(
  'external broker: a plugin that is uninstalled after a restart takes along what it retained before',
  { skip: mosquittoMissing },
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const host = await startWithPlugins(context, { mqttUrl: mosquitto.url })
    await toggle(host, 'keeper', false)
    const again = await host.restart()
    assert.deepEqual(await retainedAt(context, mosquitto.url), all)
    await toggle(again, 'other', true)
    assert.equal((await again.request('DELETE', '/api/plugins/keeper')).status, 200)
    // What was said before is there before the answer to a later subscription; the host's clearing may be under way.
    let left = await retainedAt(context, mosquitto.url)
    while (Object.keys(left).length > 1) left = await retainedAt(context, mosquitto.url)
    assert.deepEqual(left, { 'kept/other': 'other' })
  },
)

test(
  'external broker: what an uninstalled plugin retained is remembered until a broker that hangs has cleared it, for the next host',
  { skip: mosquittoMissing },
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const host = await startWithPlugins(context, { mqttUrl: mosquitto.url })
    await toggle(host, 'keeper', false)
    assert.deepEqual(await retainedAt(context, mosquitto.url), all)
    const remembered = () => readdir(join(host.directory, '.retained'))
    mosquitto.pause()
    assert.equal((await host.request('DELETE', '/api/plugins/keeper')).status, 200)
    assert.deepEqual(await remembered(), ['fixtures--keeper.json'])
    mosquitto.resume()
    while ((await remembered()).length > 0) await retainedAt(context, mosquitto.url)
    assert.deepEqual(await retainedAt(context, mosquitto.url), {})
  },
)

test('what a broker has of a plugin counts and goes with it, also where a crash has cost the list of it', async (context) => {
  const { state, start } = await createStage(context)
  state.atBroker = [
    { plugin: one, topic: 'x', payload: 5 },
    { plugin: two, topic: 'y', payload: 7 },
  ]
  const retained = await start()
  assert.deepEqual(retained.plugins().sort(), [one, two].sort())
  assert.deepEqual(retained.entries(two), [['y', 7]])
  await retained.clear(one)
  assert.deepEqual(state.cleared, ['x'])
})

test('embedded broker: what a plugin retained is there after a restart, and goes with it although the list of it is lost', async (context) => {
  const host = await startWithPlugins(context)
  await toggle(host, 'keeper', false)
  await host.host.close()
  await rm(join(host.directory, '.retained'), { recursive: true })
  const again = await host.restart()
  assert.deepEqual(await retainedAt(context, again.mqttUrl), all)
  assert.equal((await again.request('DELETE', '/api/plugins/keeper')).status, 200)
  assert.deepEqual(await retainedAt(context, again.mqttUrl), {})
  const last = await again.restart()
  assert.deepEqual(await retainedAt(context, last.mqttUrl), {})
})
