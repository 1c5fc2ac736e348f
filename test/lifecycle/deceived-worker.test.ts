import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { MessagePort, Worker } from 'node:worker_threads'
import { type LogFields, silentLogger } from '../../src/base/log/log.ts'
import type { HostMessage, UrgentMessage, WorkerMessage } from '../../src/schema/worker/worker-protocol.ts'
import { collect, connect } from '../bus/bus-fixture.ts'
import { listen } from '../helpers/listen.ts'
import { command, logMessages, startHostFor } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/**
 * A worker keeps to limits and rights by itself. One that a plugin has taken over does not, and is like one that was told of
 * others: what the host allows is counted and judged by the host.
 */

type Load = Extract<HostMessage, { kind: 'load' }>

/** What workers are told at a load, from now on. */
function deceiveWorkers(context: TestContext, change: (load: Load, worker: Worker) => Load): void {
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (
    this: Worker,
    ...[value, ...more]: Parameters<typeof postMessage>
  ) {
    const message = value as HostMessage
    postMessage.call(this, message.kind === 'load' ? change(message, this) : message, ...more)
  }
  context.after(() => {
    Worker.prototype.postMessage = postMessage
  })
}

const connectionsOf = (server: Server): Promise<number> => promisify(server.getConnections.bind(server))()

test('a worker that counts otherwise has no more with the host than its plugin may have', async (t) => {
  const limits = Object.fromEntries(
    [
      ...['eventSubscriptions', 'mqttSubscriptions', 'httpHandlers', 'watchers', 'schedules'],
      ...['objects', 'sensors', 'controls', 'exposures'],
    ].map((name) => [name, 2]),
  )
  deceiveWorkers(t, (load) => ({
    ...load,
    limits: { ...load.limits, ...Object.fromEntries(Object.keys(limits).map((name) => [name, 1_000])) },
  }))
  const refused = new Set<unknown>()
  const host = await startHostFor(t, {
    plugins: [
      {
        id: 'greedy',
        lua: `
          local plugin = Plugin:new("greedy")
          local function value() return 1 end
          plugin:onInit(function()
            for round = 1, 10 do
              local name = "n" .. round
              plugin:on(name, print)
              plugin:mqttSubscribe(name, print)
              plugin:httpHandler(name, print)
              plugin:upsertObject(name, { value = 1 })
              plugin:sensor(name, value):notify()
              plugin:control(name, value, print)
              expose({ get = value }, "sensor", { id = name, name = name })
              print("watcher", select(2, pcall(function() plugin:onSensor("@a/b/" .. name, print) return "made" end)))
              print("schedule", select(2, plugin:cron("0 0 1 1 *", print)) or "made")
            end
          end)
        `,
      },
    ],
    logger: {
      ...silentLogger,
      error: (_message: string, { operation }: LogFields = {}) => refused.add(operation),
    },
  })
  await command(host, 'install', { fullId: '@fixtures/greedy' })
  assert.equal((await host.request('PUT', '/api/plugins/greedy/limits', { body: { limits } })).status, 200)
  await command(host, 'greedy/toggle')
  assert.deepEqual([...refused].sort(), [
    ...['control', 'object', 'sensor', 'setExposure', 'setHttpHandler', 'subscribeEvent', 'subscribeTopic'],
  ])
  const lines = await logMessages(host, 'greedy')
  const said = (what: string): (string | undefined)[] =>
    lines.filter((line) => line.startsWith(`${what}\t`)).map((line) => line.split(/[\t ]/).at(-1))
  assert.deepEqual(said('watcher'), [...Array(2).fill('made'), ...Array(8).fill('watchers')])
  assert.deepEqual(said('schedule'), [...Array(2).fill('made'), ...Array(8).fill('schedules')])
  for (const what of ['objects', 'sensors', 'controls', 'exposures', 'hooks']) {
    const { body } = await host.request('GET', `/api/plugins/greedy/${what}`)
    assert.equal(Object.keys(body[what]).length, 2, what)
  }
})

test('schedules that a worker asks for all at once are no more than its plugin may have', async (t) => {
  let ask: ((message: WorkerMessage) => void) | undefined
  let isolate = 0
  const answers = new Map<number, unknown>()
  const { postMessage } = MessagePort.prototype
  MessagePort.prototype.postMessage = function (this: MessagePort, ...given: Parameters<typeof postMessage>) {
    const message = given[0] as UrgentMessage
    if (message.kind === 'answer' && message.ok) answers.set(message.number, message.value)
    postMessage.apply(this, given)
  }
  t.after(() => {
    MessagePort.prototype.postMessage = postMessage
  })
  deceiveWorkers(t, (load, worker) => {
    ;({ isolate } = load)
    ask = (message) => void worker.emit('message', message)
    return load
  })
  const host = await startHostFor(t, { plugins: [{ id: 'greedy', lua: 'Plugin:new("greedy")' }] })
  await command(host, 'install', { fullId: '@fixtures/greedy' })
  await host.request('PUT', '/api/plugins/greedy/limits', { body: { limits: { schedules: 2 } } })
  await command(host, 'greedy/toggle')
  const numbers = Array.from({ length: 20 }, (_, index) => 1_000 + index)
  for (const number of numbers) {
    const schedule = { kind: 'cron', expression: '0 0 1 1 *' } as const
    ask?.({ kind: 'question', isolate, number, question: { kind: 'setSchedule', number, schedule } })
  }
  await until('all answers', () => Promise.resolve(numbers.every((number) => answers.has(number))))
  assert.deepEqual(
    numbers.map((number) => answers.get(number)),
    [undefined, undefined, ...Array(18).fill('too many schedules')],
  )
})

test('a worker that counts its connections otherwise has twice as many as its plugin may have, as some may be ending, and one', async (t) => {
  deceiveWorkers(t, (load) => ({ ...load, limits: { ...load.limits, sockets: 1_000 } }))
  const server = createServer((socket) => socket.on('error', () => undefined))
  const port = await listen(server)
  t.after(() => server.close())
  const host = await startHostFor(t, {
    plugins: [
      {
        id: 'caller',
        lua: `
          local plugin = Plugin:new("caller")
          local connected, refused = 0, 0
          local function tell()
            if connected + refused == 20 then print(connected .. " connected, " .. refused .. " refused") end
          end
          plugin:onInit(function()
            for _ = 1, 20 do
              local socket = plugin:tcpConnect("127.0.0.1", ${port})
              socket:onConnect(function() connected = connected + 1 tell() end)
              socket:onClose(function(err)
                if err:find("too many connections") then refused = refused + 1 tell() end
              end)
            end
          end)
        `,
      },
    ],
  })
  await command(host, 'install', { fullId: '@fixtures/caller' })
  await host.request('PUT', '/api/plugins/caller/limits', { body: { limits: { sockets: 2 } } })
  await command(host, 'caller/toggle')
  const told = await until('what became of them', async () => (await logMessages(host, 'caller'))[0])
  assert.equal(told, '5 connected, 15 refused')
  await command(host, 'caller/toggle', { enabled: false })
  await until('the end of all connections', () => connectionsOf(server).then((count) => count === 0))
})

test('a worker that takes everything for allowed does nothing with the host that the manifest does not list', async (t) => {
  deceiveWorkers(t, (load) => {
    const { source } = load
    return {
      ...load,
      source: { ...source, publicHooks: true, topics: { ...source.topics, permitted: undefined } },
    }
  })
  const host = await startHostFor(t, {
    plugins: [
      {
        id: 'sly',
        manifest: { permissions: { mqtt: { publish: ['open'], subscribe: ['open'] } } },
        lua: `
          local plugin = Plugin:new("sly")
          plugin:onInit(function()
            plugin:mqttSubscribe("closed", print)
            plugin:mqttSubscribe("+", print)
            plugin:mqttSubscribe("open", function() print("open") end)
            plugin:mqttPublish("closed", "x")
            plugin:mqttPublish("open", "x", { retain = true })
            plugin:httpHandler("public", print, { auth = "none" })
            plugin:httpHandler("secret", print)
          end)
        `,
      },
    ],
  })
  const client = await connect(t, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync(['open', 'closed'])
  await command(host, 'install', { fullId: '@fixtures/sly' })
  await command(host, 'sly/toggle')
  await client.publishAsync('closed', 'y', { qos: 1 })
  await client.publishAsync('open', 'y', { qos: 1 })
  const lines = await until('what it hears', async () => {
    const found = await logMessages(host, 'sly')
    return found.filter((line) => line === 'open').length === 2 && found
  })
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('Refused: ')),
    ['open', 'open'],
  )
  assert.deepEqual(
    (await received.take(3)).map(({ topic, text }) => `${topic} ${text}`),
    ['open x', 'closed y', 'open y'],
  )
  const { body } = await host.request('GET', '/api/plugins/sly/hooks')
  assert.deepEqual(
    body.hooks.map(({ path }: { path: string }) => path),
    ['secret'],
  )
})
