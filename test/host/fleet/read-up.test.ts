import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connect } from '../../bus/bus-fixture.ts'
import { standardFixtures, writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { startFleetStage, untilPlugin } from './fleet-stage.ts'
import { startLateNews } from './late-news.ts'

/** What one host has answered is so at the next one, although that has not heard of it yet. */

const id = '@fixtures/demo'
const path = `/api/plugins/${encodeURIComponent(id)}`

/** Two hosts; the second one hears of what the first one writes when it asks. */
async function stageWithLateNews(t: TestContext) {
  const stage = await startFleetStage(t, standardFixtures)
  const late = await startLateNews(t, stage.nats.url)
  const behind = await stage.start('b', { store: late.url })
  // Alone, it is the one that answers over MQTT.
  const client = await connect(t, stage.broker)
  const answers: string[] = []
  client.on('message', (_topic, payload) => void answers.push(payload.toString()))
  await client.subscribeAsync('host/response/#', { qos: 1 })
  await until('it to answer over MQTT', async () => {
    await client.publishAsync('host/request/list', '', { qos: 1 })
    return answers.length > 0
  })
  const first = await stage.start('a')
  return { client, answers, late, first, behind }
}

test('a plugin that one host has installed is there at another one at once, for reading and for commands', async (t) => {
  const { late, first, behind } = await stageWithLateNews(t)
  late.hold()
  await first.request('POST', '/api/plugins/install', { body: { fullId: id } })
  const read = await behind.request('GET', path)
  assert.deepEqual([read.status, read.body.id], [200, id])
  await first.request('DELETE', path)
  await until('the other host to know', async () => (await behind.request('GET', path)).status === 404)
  late.hold()
  await first.request('POST', '/api/plugins/install', { body: { fullId: id } })
  const switched = await behind.request('POST', '/api/plugins/demo/toggle', { body: { enabled: true } })
  assert.deepEqual([switched.status, switched.body.enabled], [200, true], switched.body.detail)
})

test('whoever asks without a token for a page that is not there does not have the store asked', async (t) => {
  const { late, behind } = await stageWithLateNews(t)
  late.hold()
  assert.equal((await behind.request('GET', '/assets/none.js')).status, 404)
  assert.ok(late.isHolding)
  assert.equal((await behind.request('GET', '/api/plugins/none')).status, 404)
  assert.ok(!late.isHolding)
})

test('a plugin that one host has uninstalled can be installed at another one at once', async (t) => {
  const { late, first, behind } = await stageWithLateNews(t)
  await first.request('POST', '/api/plugins/install', { body: { fullId: id } })
  await untilPlugin(behind, id, 'to be had', ({ host }) => host !== null)
  late.hold()
  await first.request('DELETE', path)
  const checked = await behind.request('POST', '/api/plugins/install/check', { body: { fullId: id } })
  assert.equal(checked.status, 200, checked.body.detail)
})

test('a repository that one host has got is there at another one at once', async (t) => {
  const { late, first, behind } = await stageWithLateNews(t)
  const url = await temporaryDirectory(t)
  await writeFixtureRepository(url, standardFixtures)
  late.hold()
  await first.request('POST', '/api/repositories', { body: { name: 'more', url } })
  assert.equal((await behind.request('GET', '/api/catalog?repository=more')).status, 200)
})

test('a plugin that one host has installed can be told something over MQTT at once, though another one answers there', async (t) => {
  const { client, answers, late, first } = await stageWithLateNews(t)
  late.hold()
  await first.request('POST', '/api/plugins/install', { body: { fullId: id } })
  await client.publishAsync('host/request/config', '{"plugin": "demo", "config": {}, "transaction": 1}', {
    qos: 1,
  })
  const answer = await until('an answer', async () =>
    answers.find((text) => JSON.parse(text).transaction === 1),
  )
  assert.equal(JSON.parse(answer).status, 'ok', answer)
})

test('a command for a name that nobody here knows is not known to be wrong while the store is away', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  const toggle = () => a.request('POST', '/api/plugins/none/toggle', { body: { enabled: true } })
  assert.equal((await toggle()).status, 404)
  await stage.nats.stop()
  const { status, body } = await toggle()
  assert.deepEqual([status, body.code], [503, 'fleet_unreachable'])
  assert.match(
    body.detail,
    /^This host cannot take in now .* nothing was changed: .*none.* Ask another host, or try again\.$/,
  )
  assert.equal((await a.request('GET', '/api/plugins/none')).status, 404)
})
