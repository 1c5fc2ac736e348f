import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type Inbox, type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import { startWebServer, type WebServer } from '../../test/outside/web-server.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

const telegram = { telegramToken: '12345:a-very-secret-token', telegramChat: '-42' }

/** Answers with these statuses, the last one for ever. */
async function openServer(context: TestContext, ...statuses: number[]): Promise<WebServer> {
  const server = await startWebServer((_seen, response) => {
    const status = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(status < 400 ? { ok: true } : { ok: false, description: 'No such chat' }))
  })
  context.after(() => server.close())
  return server
}

async function start(
  context: TestContext,
  server: WebServer,
  config: Record<string, Json>,
): Promise<{ plugin: StarterPlugin; events: Inbox }> {
  const settings = { httpRewrite: { 'https://api.telegram.org': server.url } }
  const plugin = await startStarterPlugin('notify', config, settings)
  context.after(() => plugin.close())
  return { plugin, events: await plugin.listen(`${plugin.topic}/events/#`) }
}

test('text on the topic goes out over every channel that is set up', { timeout }, async (context) => {
  const server = await openServer(context, 200)
  const config = { ...telegram, webhookUrl: `${server.url}/hook`, ntfyTopic: 'home', ntfyServer: server.url }
  const { plugin, events } = await start(context, server, config)
  await plugin.publish('notify/send', 'The washing machine is done')
  const told = [await events.nextValue(), await events.nextValue(), await events.nextValue()]
  assert.deepEqual(told.map((each) => (each as { channel: string }).channel).sort(), [
    'ntfy',
    'telegram',
    'webhook',
  ])
  const bodies = Object.fromEntries(server.seen.map(({ target, body }) => [target, JSON.parse(body) as Json]))
  assert.deepEqual(bodies, {
    [`/bot${telegram.telegramToken}/sendMessage`]: {
      chat_id: '-42',
      text: 'The washing machine is done',
      parse_mode: 'HTML',
      disable_notification: false,
    },
    '/hook': { text: 'The washing machine is done', priority: 3 },
    '/': { topic: 'home', message: 'The washing machine is done', priority: 3 },
  })
  assert.deepEqual(await plugin.sensors(), { sent: 3, failed: 0, waiting: 0 })
  assert.deepEqual((await plugin.objects()).channels, { available: ['telegram', 'ntfy', 'webhook'] })
})

test('a document says more, and a topic of its own names the channel', { timeout }, async (context) => {
  const server = await openServer(context, 200)
  const { plugin, events } = await start(context, server, { ...telegram, webhookUrl: `${server.url}/hook` })
  await plugin.publish(
    'notify/send',
    '{"text":"Water!","title":"Cellar","priority":"urgent","channel":"webhook"}',
  )
  assert.deepEqual(await events.nextValue(), { channel: 'webhook', title: 'Cellar' })
  await plugin.publish('notify/send/webhook', '{"no":"text"}')
  assert.deepEqual(await events.nextValue(), { channel: 'webhook' })
  assert.deepEqual(
    server.seen.map(({ body }) => JSON.parse(body) as Json),
    [
      { text: 'Cellar\nWater!', title: 'Cellar', priority: 5 },
      { text: '{"no":"text"}', priority: 3 },
    ],
  )
})

test('another plugin sends by a call, and hears what came of it', { timeout }, async (context) => {
  const server = await openServer(context, 200, 404)
  const { plugin } = await start(context, server, telegram)
  const results = await plugin.listen('results')
  await plugin.runBeside(
    'caller',
    `local caller = Plugin:new("caller")
    caller:onInit(function()
      local notify = Plugin.get("@starter/notify")
      local function told(ok, reason) caller:mqttPublish("results", { ok = ok, reason = reason }) end
      caller:mqttPublish("results", { refused = { notify:send({ text = "" }) }, select("#", notify:send({ title = "x" })) })
      notify:send("Hello", told)
      caller:mqttPublish("results", { accepted = notify:send({ text = "World" }, told) })
    end)
    return caller`,
  )
  assert.deepEqual(await results.nextValue(), { '1': 2, refused: { '2': 'the message has no text' } })
  // The first message may have gone out while the second call is still under way: then it is told in between.
  const told = [await results.nextValue(), await results.nextValue(), await results.nextValue()]
  assert.deepEqual(
    new Set(told.map((result) => JSON.stringify(result))),
    new Set(['{"accepted":true}', '{"ok":true}', '{"ok":false,"reason":"telegram: HTTP 404: No such chat"}']),
  )
})

test('a refusal is told with its reason, and no secret is in it', { timeout }, async (context) => {
  const server = await openServer(context, 404)
  const { plugin, events } = await start(context, server, telegram)
  await plugin.publish('notify/send', 'Hello')
  assert.deepEqual(await events.nextValue(), { channel: 'telegram', error: 'HTTP 404: No such chat' })
  assert.deepEqual(await plugin.logs('error'), [
    'A message over telegram was not sent: HTTP 404: No such chat',
  ])
  const { body } = await plugin.host.request('GET', '/api/plugins/notify')
  assert.deepEqual(body.config, { telegramToken: '********', telegramChat: '-42' })
  assert.equal(server.seen.length, 1)
})

test('what the server could not take is sent again', { timeout }, async (context) => {
  const server = await openServer(context, 503, 200)
  const { plugin, events } = await start(context, server, telegram)
  await plugin.publish('notify/send', 'Hello')
  assert.deepEqual(await events.nextValue(), { channel: 'telegram' })
  assert.equal(server.seen.length, 2)
})

test('what cannot be sent is said in the log', { timeout }, async (context) => {
  const server = await openServer(context, 200)
  const { plugin, events } = await start(context, server, { ...telegram, ntfyToken: 'tk', topic: 'say' })
  await plugin.publish('say', '{"text":"Hello","channel":"pigeon"}')
  await plugin.publish('say', '{"text":"Hello","priority":"loud"}')
  await plugin.publish('say', '')
  await plugin.publish('say', 'Hello')
  await events.next()
  assert.deepEqual(await plugin.logs('warn'), [
    "A message was refused: the channel 'pigeon' is not set up",
    'A message was refused: the priority must be min, low, normal, high or urgent, or 1 to 5',
  ])
  assert.equal(server.seen.length, 1)
})

test('without a channel it says what to set', { timeout }, async (context) => {
  const plugin = await startStarterPlugin('notify', { telegramChat: '1' })
  context.after(() => plugin.close())
  assert.deepEqual(await plugin.logs('error'), [
    'telegram is left out: telegramToken is not set',
    'No channel is set up: set telegramToken and telegramChat, ntfyTopic, or webhookUrl',
  ])
})
