import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { mosquittoMissing } from '../bus/mosquitto.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { until } from '../helpers/until.ts'
import { createMissedEventsStage, cut, recordMany, upTo } from './missed-events-stage.ts'

/** What another broker hears of events that happened while it was away: of each, in order, and once. */

const options = { skip: mosquittoMissing }

test(
  'events of a time without the broker come when both are back, although the host was stopped and started in between',
  options,
  async (context) => {
    const stage = await createMissedEventsStage(context)
    const first = await stage.start()
    await stage.allToldBy(first)
    await cut(stage, first)
    await first.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
    await first.request('POST', '/api/plugins/demo/toggle')
    await first.host.close()
    const second = await stage.start()
    await second.request('POST', '/api/plugins/demo/config', { body: { config: { count: 1 } } })
    await second.host.close()
    stage.way.pass()
    const lastSeq = await stage.stop(await stage.start())
    assert.deepEqual(stage.numbers(), upTo(lastSeq))
    assert.equal(stage.events().at(-1)?.type, 'HostStopped')
    assert.deepEqual(await stage.cursor(), {
      version: 1,
      broker: stage.mqttUrl,
      root: 'host',
      seq: lastSeq,
      event: stage.events().at(-1)?.id,
      mode: 0o600,
    })
  },
)

test('after an orderly stop with the broker there nothing comes twice', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  let last = 0
  for (let round = 1; round <= 3; round += 1) {
    const host = await stage.start()
    await recordMany(host, 150)
    last = await stage.stop(host)
    assert.deepEqual(stage.numbers(), upTo(last), `round ${round}`)
    assert.equal((await stage.cursor()).seq, last)
  }
  assert.ok(last > 450)
})

test('what happens while missed events are told waits for them', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  const host = await stage.start()
  await stage.allToldBy(host)
  await cut(stage, host)
  await recordMany(host, 2_000)
  stage.way.pass()
  const { lastSeq } = host.host.lifecycle
  await until('the first missed event', async () => stage.received.all.length > lastSeq - 2_000)
  await recordMany(host, 200)
  await stage.allToldBy(host)
  const last = await stage.stop(host)
  assert.deepEqual(stage.numbers(), upTo(last))
  assert.ok(!stage.messages('warn').includes('A message was dropped: too many wait for the MQTT broker'))
})

test('another root, and another broker, begin at the present', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  const first = await stage.stop(await stage.start())
  const second = await stage.stop(await stage.start({ mqttRoot: 'other' }), 'other')
  assert.deepEqual(stage.numbers('other'), upTo(second, first + 1))
  const elsewhere = await createMissedEventsStage(context)
  const third = await elsewhere.stop(await stage.start({ mqttUrl: elsewhere.mqttUrl }))
  assert.deepEqual(elsewhere.numbers(), upTo(third, second + 1))
  assert.deepEqual(stage.numbers(), upTo(first))
  const { broker, root } = await stage.cursor()
  assert.deepEqual([broker, root], [elsewhere.mqttUrl, 'host'])
})

test(
  'a login in the address of the broker is not written down, and is not what tells one from another',
  options,
  async (context) => {
    const stage = await createMissedEventsStage(context)
    await stage.stop(await stage.start({ mqttUrl: stage.mqttUrl.replace('//', '//user:CANARYpw@') }))
    assert.ok(!(await readFile(stage.path(), 'utf8')).includes('CANARYpw'))
    const first = await stage.start()
    await cut(stage, first)
    await first.host.close()
    stage.way.pass()
    const last = await stage.stop(await stage.start())
    assert.deepEqual([...new Set(stage.numbers())], upTo(last))
  },
)

for (const [title, content] of [
  ['that is cut off', '{"version":1,"broker":"mqtt'],
  ['with a number that is none', '{"version":1,"broker":"mqtt://x","root":"host","seq":-1,"event":null}'],
  ['that is empty', ''],
] as const)
  test(`a file ${title} stops no start: a warning, and the present`, options, async (context) => {
    const stage = await createMissedEventsStage(context)
    await stage.stop(await stage.start())
    await writeFile(stage.path(), content)
    const second = await stage.start()
    const warning = stage.logger.lines.find(({ fields }) => fields?.path === stage.path())
    assert.match(String(warning?.fields?.reason), /^it is damaged: /)
    const last = await stage.stop(second)
    assert.deepEqual(stage.numbers(), upTo(last))
    assert.equal((await stage.cursor()).seq, last)
  })

test('a file of another journal is noticed', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  await stage.stop(await stage.start())
  const cursor = JSON.parse(await readFile(stage.path(), 'utf8'))
  await writeFile(stage.path(), JSON.stringify({ ...cursor, seq: 1, event: 'of-another-journal' }))
  const second = await stage.stop(await stage.start())
  const folder = dirname(stage.path())
  for (const name of await readdir(folder))
    if (/^\.host\.(json|journal|checkpoint)/.test(name)) await rm(join(folder, name))
  const before = stage.numbers()
  assert.deepEqual(before, upTo(second))
  const third = await stage.stop(await stage.start())
  const warnings = stage.logger.lines.filter(({ fields }) => fields?.reason === 'it is of another journal')
  assert.equal(warnings.length, 2)
  assert.deepEqual(stage.numbers().slice(before.length), upTo(third))
})

test(
  'a file that cannot be written is told once and delays nothing; its events come again after the next start',
  options,
  async (context) => {
    const stage = await createMissedEventsStage(context)
    const told = await stage.stop(await stage.start())
    const files = failingFileSystem((_operation, path) => basename(path).startsWith('.host.lifecycle'))
    const second = await stage.start({}, { files })
    const answer = await second.request('POST', '/api/plugins/install', {
      body: { fullId: '@fixtures/demo' },
    })
    assert.equal(answer.status, 201)
    await until('the warning', async () => stage.messages('warn').some((text) => text.startsWith('How far')))
    const toldTwice = await stage.stop(second)
    assert.equal(stage.messages('warn').filter((text) => text.startsWith('How far')).length, 1)
    assert.equal((await stage.cursor()).seq, told)
    const last = await stage.stop(await stage.start())
    assert.deepEqual(stage.numbers(), [...upTo(toldTwice), ...upTo(last, told + 1)])
  },
)

test('events that were moved away with their files are left out, and named', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  const told = await stage.stop(await stage.start())
  stage.way.refuse()
  const second = await stage.start({}, { segmentBytes: 4_096 })
  for (let round = 0; round < 10; round += 1) await recordMany(second, 20)
  await second.host.close()
  const folder = dirname(stage.path())
  const segments = (await readdir(folder)).filter((name) => /^\.host\.journal\.\d+$/.test(name)).sort()
  assert.ok(segments.length > 2, segments.join())
  for (const name of segments.slice(0, 2)) await rm(join(folder, name))
  const from = Number(segments[2]?.split('.').at(-1))
  stage.way.pass()
  const last = await stage.stop(await stage.start())
  assert.deepEqual(stage.numbers(), [...upTo(told), ...upTo(last, from)])
  const fields = stage.logger.lines
    .filter(({ level, message }) => level === 'warn' && message.includes('moved away'))
    .map((line) => line.fields)
  assert.deepEqual(fields, [{ first: told + 1, last: from - 1 }])
})

test(
  'events that cannot be read are tried again, then named and left out: those that come do not wait for ever',
  options,
  async (context) => {
    const stage = await createMissedEventsStage(context)
    // The next attempt comes soon.
    const clock = {
      ...systemClock,
      schedule: (milliseconds: number, callback: () => void) =>
        systemClock.schedule(Math.min(milliseconds, 50), callback),
    }
    const host = await stage.start({}, { segmentBytes: 4_096, clock })
    await stage.allToldBy(host)
    await cut(stage, host)
    // More than may be under way, so that the rest has to be read.
    for (let round = 0; round < 20; round += 1) await recordMany(host, 20)
    const folder = dirname(stage.path())
    const segments = (await readdir(folder)).filter((name) => /^\.host\.journal\.\d+$/.test(name)).sort()
    for (const name of segments.slice(-4)) {
      const text = await readFile(join(folder, name), 'utf8')
      await writeFile(join(folder, name), text.replaceAll('NamespaceClaimed', 'NamespaceGlaimed'))
    }
    stage.way.pass()
    const leftOut = await until('the end of the attempts', async () =>
      stage.logger.lines.find(({ message }) => message.includes('cannot be read, and are left out')),
    )
    const { first, last } = leftOut.fields ?? {}
    assert.equal(last, host.host.lifecycle.lastSeq)
    assert.equal(stage.messages('warn').filter((text) => text.includes('it is tried again')).length, 4)
    await recordMany(host, 3)
    await stage.allToldBy(host)
    const end = await stage.stop(host)
    assert.deepEqual(stage.numbers(), [...upTo(Number(first) - 1), ...upTo(end, end - 4)])
  },
)

test('an event that the broker does not take counts as told, and holds up none', options, async (context) => {
  const stage = await createMissedEventsStage(context, ['allow_anonymous true', 'max_packet_size 3000'])
  const first = await stage.start()
  await stage.allToldBy(first)
  await cut(stage, first)
  await first.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  const large = first.host.lifecycle.lastSeq + 1
  const config = { name: 'x'.repeat(5_000) }
  await first.request('POST', '/api/plugins/hello/config', { body: { config } })
  await first.host.close()
  stage.way.pass()
  await stage.stop(await stage.start())
  const last = await stage.stop(await stage.start())
  assert.deepEqual(
    stage.numbers(),
    upTo(last).filter((number) => number !== large),
  )
  assert.equal(
    stage.messages('warn').filter((text) => text === 'The MQTT broker refused a message').length,
    1,
  )
})

test('what comes late hides secrets as what comes at once', options, async (context) => {
  const stage = await createMissedEventsStage(context)
  const first = await stage.start()
  await first.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  const config = { name: 'SEEN', apiKey: 'CANARYpw' }
  await first.request('POST', '/api/plugins/hello/config', { body: { config } })
  await stage.allToldBy(first)
  await cut(stage, first)
  await first.request('POST', '/api/plugins/hello/config', { body: { config: { ...config, interval: 61 } } })
  await first.host.close()
  stage.way.pass()
  const last = await stage.stop(await stage.start())
  assert.deepEqual(stage.numbers(), upTo(last))
  const configs = stage
    .events()
    .flatMap((event) => (event.type === 'PluginConfigured' ? [event.data.config] : []))
  const shown = { name: 'SEEN', apiKey: '********' }
  assert.deepEqual(configs, [shown, { ...shown, interval: 61 }])
  assert.ok(stage.received.all.every(({ text }) => !text.includes('CANARYpw')))
})
