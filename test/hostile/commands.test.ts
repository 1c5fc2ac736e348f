import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { type Collector, collect, type Received } from '../bus/bus-fixture.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'

/** What a plugin may set off over MQTT: nothing at the host, and at another plugin what its permissions name. */

const root = 'my/house'
const victim = '@fixtures/victim'

/** Says at the end of its onInit what each publication answered. */
const attacker = (id: string, manifest: Record<string, unknown>) => ({
  id,
  manifest,
  lua: `
    local plugin = Plugin:new("${id}")
    plugin:control("own", function() return 0 end, function(value) print("own set to " .. tostring(value)) end)
    plugin:onInit(function()
      local met, victim = pcall(Plugin.get, "victim")
      if not met then victim = nil end
      for _, topic in ipairs({
        "${root}/request/config", "${root}/request/uninstall", "${root}/status",
        "${root}/plugins/${victim}/controls/lamp/set", "${root}/plugins/${victim}/exposed/lamp/state/set",
        "${root}/plugins/@fixtures/${id}/controls/own/set", "free/${id}",
      }) do
        for _, publisher in ipairs({ plugin, victim or plugin }) do
          print("tried", topic, publisher.mqttPublish(publisher, topic, [[{"plugin":"${victim}","config":{"url":"evil"}}]]))
        end
      end
      print("done")
    end)
  `,
})

let host: TestHost
let client: MqttClient
let heard: Collector<Received>
before(async () => {
  host = await startTestHost({
    settings: { mqttRoot: root },
    plugins: [
      {
        id: 'victim',
        manifest: {
          configSchema: [
            { key: 'url', type: 'string' },
            { key: 'token', type: 'string', secret: true },
          ],
        },
        lua: `
          local plugin = Plugin:new("victim")
          plugin:control("lamp", function() return "off" end, function(value) print("lamp set to " .. tostring(value)) end)
        `,
      },
      attacker('undeclared', {}),
      attacker('empty', { permissions: { plugins: [victim] } }),
      attacker('wildcard', { permissions: { mqtt: { publish: ['#', '+/+/plugins/#'] }, plugins: [victim] } }),
      attacker('named', {
        permissions: { mqtt: { publish: ['host/plugins/+/+/controls/+/set', 'free/+'] } },
      }),
    ],
  })
  client = await mqtt.connectAsync(host.mqttUrl, { reconnectPeriod: 0 })
  heard = collect(client)
  await client.subscribeAsync(['free/#', `${root}/response/#`], { qos: 1 })
  await install('victim', { url: 'http://good.example', token: 'canary-4711' })
})
after(async () => {
  await client.endAsync(true)
  await host.close()
})

async function install(id: string, config: object = {}): Promise<void> {
  assert.equal(
    (await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })).status,
    201,
  )
  assert.equal((await host.request('POST', `/api/plugins/${id}/config`, { body: { config } })).status, 200)
  const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running', JSON.stringify(body.error))
}

interface Line {
  message: string
  fields?: Record<string, unknown>
}

async function linesOf(id: string): Promise<Line[]> {
  return (await host.request('GET', `/api/plugins/${id}/logs?limit=5000`)).body.logs
}

/** What each topic was answered, to the plugin itself and then through the victim's instance. */
async function answersOf(id: string): Promise<Record<string, string[]>> {
  await install(id)
  const answers: Record<string, string[]> = {}
  for (const { message } of await linesOf(id)) {
    const [, topic = '', answer = ''] = /^tried\t(\S+)\t(.*)$/s.exec(message) ?? []
    if (topic !== '') (answers[topic.replace(`${root}/`, '')] ??= []).push(answer)
  }
  return answers
}

const hostOwn = /^false\tno plugin may publish to "\S+": the topic is the host's own$/
const notNamed = /^false\tthe manifest of \S+ does not allow it to publish to .*permissions\.mqtt\.publish$/
const lamp = `plugins/${victim}/controls/lamp/set`
const shown = `plugins/${victim}/exposed/lamp/state/set`

for (const id of ['undeclared', 'empty', 'wildcard']) {
  test(`a plugin (${id}) commands neither the host nor another plugin, by itself or through that plugin`, async () => {
    const answers = await answersOf(id)
    for (const topic of ['request/config', 'request/uninstall', 'status']) {
      assert.equal(answers[topic]?.length, 2, topic)
      for (const answer of answers[topic] ?? []) assert.match(answer, hostOwn)
    }
    for (const topic of [lamp, shown]) {
      assert.equal(answers[topic]?.length, 2, topic)
      for (const answer of answers[topic] ?? []) assert.match(answer, notNamed)
    }
    const [own, ownThroughOther] = answers[`plugins/@fixtures/${id}/controls/own/set`] ?? []
    assert.equal(own, 'true')
    assert.match(ownThroughOther ?? '', /^false\tthe manifest of /)
    assert.equal((await host.request('GET', '/api/plugins/victim')).body.config.url, 'http://good.example')
    const refused = (await linesOf(id)).filter(({ message }) => message.startsWith('Refused: '))
    assert.ok(refused.some(({ message }) => message.includes(`${root}/request/config`)))
    const lines = await linesOf('victim')
    assert.deepEqual(
      lines.filter(({ message }) => /lamp set to|sets /.test(message)),
      [],
    )
  })
}

test('a plugin whose permissions name the topic sets it, and the log of the other one says who it was', async () => {
  const answers = await answersOf('named')
  assert.equal(answers[lamp]?.[0], 'true')
  assert.match(answers[shown]?.[0] ?? '', notNamed)
  assert.match(answers['request/config']?.[0] ?? '', hostOwn)
  // A free message comes after the command that was sent before it.
  while (!heard.all.some(({ topic }) => topic === 'free/named')) await heard.take(heard.all.length + 1)
  const lines = await linesOf('victim')
  const origin = lines.filter(({ fields }) => fields?.origin !== undefined)
  assert.deepEqual(
    origin.map(({ message, fields }) => [message, fields]),
    [['@fixtures/named sets controls/lamp over MQTT', { origin: '@fixtures/named' }]],
  )
  const sets = async (): Promise<number> =>
    (await linesOf('victim')).filter(({ message }) => message.startsWith('lamp set to')).length
  while ((await sets()) < 2) await new Promise(setImmediate)
  assert.equal(await sets(), 2)
})

test('a stored secret is not put back beside another value that came over MQTT, and is over HTTP', async () => {
  const request = async (config: object) => {
    const before = heard.all.filter(({ topic }) => topic === `${root}/response/config`).length
    await client.publishAsync(`${root}/request/config`, JSON.stringify({ plugin: victim, config }), {
      qos: 1,
    })
    for (;;) {
      const answers = heard.all.filter(({ topic }) => topic === `${root}/response/config`)
      if (answers.length > before) return JSON.parse(answers[before]?.text ?? '')
      await heard.take(heard.all.length + 1)
    }
  }
  const refused = await request({ url: 'http://evil.example', token: '********' })
  assert.equal(refused.error.code, 'config_invalid')
  assert.deepEqual(
    refused.error.errors.map(({ path }: { path: string }) => path),
    ['/config/token'],
  )
  assert.equal((await request({ url: 'http://good.example', token: '********' })).status, 'ok')
  assert.equal((await request({ url: 'http://other.example', token: 'canary-4712' })).status, 'ok')
  assert.equal((await request({ url: 'http://good.example' })).status, 'ok')
  assert.equal((await request({ url: 'http://good.example', token: '********' })).status, 'ok')
  const body = { config: { url: 'http://mine.example', token: '********' } }
  assert.equal((await host.request('POST', '/api/plugins/victim/config', { body })).status, 200)
})
