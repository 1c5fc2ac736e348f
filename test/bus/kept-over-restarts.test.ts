import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { diskRetryDelay } from '../../src/base/files/disk-retry-delays.ts'
import type { Bus, PublishOptions } from '../../src/bus/bus.ts'
import { sessionQueueLimit } from '../../src/bus/store/broker-sessions.ts'
import { pluginRetainedLimits } from '../../src/schema/plugin/retained-account.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { createRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import {
  collect,
  collectFromBus,
  connect,
  connectListening,
  createRecordingLogger,
  lines,
  textOf,
} from './bus-fixture.ts'
import { bytesOnDisk, createKeptBus, untilOnDisk } from './kept-bus.ts'
import {
  acknowledgePacket,
  connectRaw,
  idIn,
  publishedIn,
  publishPacket,
  type RawClient,
  subscribePacket,
} from './raw-client.ts'

/** What the embedded broker keeps on disk, and what it does not. */

async function retainedAt(bus: Bus): Promise<string[]> {
  const { take, subscription } = await collectFromBus(bus, '#')
  await bus.publish('mark', '')
  for (let count = 1; ; count += 1) {
    const messages = (await take(count)).map(textOf)
    if (messages.at(-1) !== 'mark ') continue
    await subscription.close()
    return messages.slice(0, -1).sort()
  }
}

async function publishedTo(client: RawClient, count: number) {
  const messages = []
  while (messages.length < count) messages.push(publishedIn(await client.expect('publish')))
  return messages
}

test('What clients and plugins have retained is there after a restart, with whose it is; the host says its own anew', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const client = await connect(context, first.url)
  const own: PublishOptions = { qos: 1, retain: true }
  const ofPlugin: PublishOptions = { retain: true, publisher: '@a/one' }
  await client.publishAsync('zigbee2mqtt/bridge/state', 'online', { qos: 1, retain: true })
  await client.publishAsync('homeassistant/light/x/config', '{"old":1}', { retain: true })
  await client.publishAsync('homeassistant/light/x/config', '{"new":1}', { qos: 2, retain: true })
  await client.publishAsync('cleared', 'x', { qos: 1, retain: true })
  await client.publishAsync('cleared', '', { qos: 1, retain: true })
  await client.publishAsync('taken', 'by the host', { qos: 1, retain: true })
  await first.publish('taken', 'the host has it', own)
  await first.publish('host/plugins/@a/one/state', 'running', own)
  await first.publish('plugin/topic', 'of a plugin', ofPlugin)
  await first.publish('host/plugins/@a/one/events/e', '1', ofPlugin)
  await first.close()

  const second = await kept.start()
  assert.deepEqual(await retainedAt(second), [
    'homeassistant/light/x/config {"new":1}',
    'host/plugins/@a/one/events/e 1',
    'host/status online',
    'plugin/topic of a plugin',
    'zigbee2mqtt/bridge/state online',
  ])
  assert.deepEqual(
    ['plugin/topic', 'zigbee2mqtt/bridge/state', 'taken'].map((topic) =>
      second.mayBeRetainedBy('@a/one', topic),
    ),
    [true, false, false],
  )
  assert.deepEqual(
    [...second.retainedByPlugins()],
    [
      { plugin: '@a/one', topic: 'host/plugins/@a/one/events/e', payload: 1 },
      { plugin: '@a/one', topic: 'plugin/topic', payload: 11 },
    ],
  )
  const later = await connect(context, second.url)
  const received = collect(later)
  await later.subscribeAsync('homeassistant/#', { qos: 2 })
  assert.deepEqual(await received.take(1), [
    { topic: 'homeassistant/light/x/config', text: '{"new":1}', qos: 2, retain: true },
  ])
  await second.publish('plugin/topic', '', own)
  await later.publishAsync('homeassistant/light/x/config', '', { qos: 1, retain: true })
  await second.close()
  const third = await kept.start()
  assert.deepEqual(await retainedAt(third), [
    'host/plugins/@a/one/events/e 1',
    'host/status online',
    'zigbee2mqtt/bridge/state online',
  ])
})

test('A session with clean off is there after a restart: subscriptions, what waits, and how far each message has come', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const options = { id: 'sleeper', clean: false }
  const asleep = await connectRaw(context, first.url, options)
  asleep.send(subscribePacket(1, ['x/#', 2], ['low', 1], ['gone', 2], ['$SYS/#', 2]))
  await asleep.expect('suback')
  const publisher = await connect(context, first.url)
  await publisher.publishAsync('x/1', 'confirmed', { qos: 1 })
  await publisher.publishAsync('x/2', 'sent', { qos: 1 })
  await publisher.publishAsync('x/3', 'received', { qos: 2 })
  const [confirmed, sent, received] = await publishedTo(asleep, 3)
  assert.ok(confirmed && sent && received)
  asleep.send(acknowledgePacket('puback', confirmed.id), acknowledgePacket('pubrec', received.id))
  await asleep.expect('pubrel')
  await asleep.vanish()
  // The broker hears of the end of a connection a little later.
  await until('one client', () => Promise.resolve(first.clients === 1))
  await publisher.publishAsync('x/4', 'waits', { qos: 2, retain: true })
  await publisher.publishAsync('low', 'waits, too', { qos: 2 })
  await publisher.publishAsync('x/5', 'nobody has to keep this', { qos: 0 })
  await first.close()

  const second = await kept.start()
  const late = await connect(context, second.url)
  await late.publishAsync('x/6', 'later', { qos: 1 })
  const again = await connectRaw(context, second.url, options)
  assert.equal(again.sessionPresent, true)
  assert.deepEqual(publishedIn(await again.expect('publish')), { ...sent, dup: true })
  assert.equal(idIn(await again.expect('pubrel')), received.id)
  const rest = await publishedTo(again, 3)
  assert.deepEqual(
    rest.map(({ topic, payload, qos, dup, retain }) => [topic, payload, qos, dup, retain]),
    [
      ['x/4', 'waits', 2, false, false],
      ['low', 'waits, too', 1, false, false],
      ['x/6', 'later', 1, false, false],
    ],
  )
  assert.equal(new Set([sent.id, received.id, ...rest.map(({ id }) => id)]).size, 5, 'no id is there twice')
  await late.publishAsync('x/7', 'live', { qos: 1 })
  const live = publishedIn(await again.expect('publish'))
  assert.equal(live.payload, 'live')
  again.send(acknowledgePacket('pubcomp', received.id))
  for (const { id, qos } of [sent, ...rest, live]) {
    again.send(acknowledgePacket(qos === 1 ? 'puback' : 'pubrec', id))
    if (qos === 2) await again.expect('pubrel')
    if (qos === 2) again.send(acknowledgePacket('pubcomp', id))
  }
  again.send(Buffer.from([0xc0, 0]))
  await again.expect('pingresp')
  await second.close()

  const third = await kept.start()
  const last = await connectRaw(context, third.url, options)
  assert.equal(last.sessionPresent, true)
  await third.publish('x/8', 'nothing else waits', { qos: 1 })
  assert.equal(publishedIn(await last.expect('publish')).topic, 'x/8')
})

test('What has waited for several clients comes to each of them once, after a restart and a kill, whoever has it already', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const names = ['a', 'b', 'c']
  const away = (bus: { url: string }, clientId: string) =>
    connectListening(context, bus.url, { clientId, clean: false })
  for (const [index, clientId] of names.entries()) {
    const client = await connect(context, first.url, { clientId, clean: false })
    await client.subscribeAsync('x/#', { qos: index === 0 ? 1 : 2 })
    await client.endAsync()
  }
  const publisher = await connect(context, first.url)
  await publisher.publishAsync('x/1', 'both ways', { qos: 2 })
  await publisher.publishAsync('x/2', 'waits', { qos: 1 })
  await first.close()

  const second = await kept.start()
  const early = away(second, 'b')
  assert.deepEqual(lines(await early.received.take(2)).sort(), ['x/1 both ways', 'x/2 waits'])
  await early.client.endAsync()
  const sender = await connect(context, second.url)
  await sender.publishAsync('x/3', 'later', { qos: 1 })
  await untilOnDisk(kept.directory, 'later')
  const directory = await kept.copy()

  const third = await kept.start({}, directory)
  await third.publish('x/4', 'last', { qos: 1 })
  const told = await Promise.all(
    [2, 4, 4].map(async (count, index) => {
      const { received } = away(third, names[(index + 1) % 3] ?? '')
      // Their library tells of one of QoS 2 later than of one of QoS 1.
      return lines(await received.take(count)).sort()
    }),
  )
  const others = ['x/1 both ways', 'x/2 waits', 'x/3 later', 'x/4 last']
  assert.deepEqual(told, [['x/3 later', 'x/4 last'], others, others])
})

test('A message of QoS 2 that a client had not released is not published again after a restart', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const options = { id: 'sender', clean: false }
  const message = { topic: 'once', payload: 'x', qos: 2, id: 9 } as const
  const sender = await connectRaw(context, first.url, options)
  sender.send(publishPacket(message), publishPacket({ ...message, id: 10 }))
  for (let count = 0; count < 2; count += 1) await sender.expect('pubrec')
  sender.send(acknowledgePacket('pubrel', 10))
  await sender.expect('pubcomp')
  await first.close()

  const second = await kept.start()
  const { take } = await collectFromBus(second, 'once')
  const again = await connectRaw(context, second.url, options)
  again.send(publishPacket({ ...message, dup: true }), publishPacket({ ...message, id: 10 }))
  for (let count = 0; count < 2; count += 1) await again.expect('pubrec')
  await second.publish('once', 'mark')
  assert.deepEqual((await take(2)).map(textOf), ['once x', 'once mark'])
})

test('What a killed process had taken is there, and the wills of those that were connected are published', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const will = (topic: string) => ({ topic, payload: 'gone', qos: 1, retain: true })
  await connectRaw(context, first.url, { id: 'watched', clean: true, will: will('watched/state') })
  await connectRaw(context, first.url, { id: 'forbidden', clean: true, will: will('host/status') })
  const polite = await connectRaw(context, first.url, {
    id: 'polite',
    clean: true,
    will: will('polite/state'),
  })
  polite.send(Buffer.from([0xe0, 0]))
  await polite.ended
  const sleeper = await connect(context, first.url, { clientId: 'sleeper', clean: false })
  const heard = collect(sleeper)
  await sleeper.subscribeAsync('#', { qos: 1 })
  // What it has not confirmed would come again.
  assert.deepEqual(lines(await heard.take(1)), ['host/status online'])
  await sleeper.endAsync()
  const client = await connect(context, first.url)
  await client.publishAsync('watched/state', 'online', { qos: 1, retain: true })
  await client.publishAsync('last', 'word', { qos: 2, retain: true })
  await untilOnDisk(kept.directory, 'last')
  const directory = await kept.copy()

  const second = await kept.start({}, directory)
  assert.deepEqual(await retainedAt(second), ['host/status online', 'last word', 'watched/state gone'])
  const awake = connectListening(context, second.url, { clientId: 'sleeper', clean: false })
  assert.deepEqual(lines(await awake.received.take(4)), [
    'watched/state online',
    'last word',
    'watched/state gone',
    'host/status online',
  ])
  await second.close()
  const third = await kept.start({}, directory)
  await third.publish('watched/state', 'online', { retain: true })
  await third.close()
  assert.deepEqual(await retainedAt(await kept.start({}, directory)), ['host/status online', 'last word'])
})

test('The will of a connection that another one has taken over is not published by the next start, where that one has a lesser will', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const { take } = await collectFromBus(first, 'watched/#')
  const client = (qos: number, retain: boolean) =>
    connectRaw(context, first.url, {
      id: 'watched',
      clean: true,
      will: { topic: 'watched/state', payload: 'gone', qos, retain },
    })
  await client(1, true)
  await untilOnDisk(kept.directory, 'watched/state')
  await client(0, false)
  assert.deepEqual((await take(1)).map(textOf), ['watched/state gone'])
  const other = await connect(context, first.url)
  await other.publishAsync('watched/state', 'online', { qos: 1, retain: true })
  await other.publishAsync('last', 'word', { qos: 1, retain: true })
  await untilOnDisk(kept.directory, 'last')
  const second = await kept.start({}, await kept.copy())
  assert.deepEqual(await retainedAt(second), ['host/status online', 'last word', 'watched/state online'])
})

test('A client that begins anew leaves nothing of its session on disk, and commands of the host never come there', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const options = { clientId: 'mine', clean: false }
  const mine = await connect(context, first.url, options)
  await mine.subscribeAsync({ '#': { qos: 2 } })
  await mine.endAsync()
  const client = await connect(context, first.url)
  await client.publishAsync('host/request/config', '{"password":"a-secret"}', { qos: 1, retain: true })
  await client.publishAsync('waits', 'not-a-secret', { qos: 1 })
  await untilOnDisk(kept.directory, 'not-a-secret')
  assert.ok(!(await bytesOnDisk(kept.directory)).includes('a-secret"'))
  const anew = await connect(context, first.url, { clientId: 'mine', clean: true })
  await anew.endAsync()
  await first.close()
  const second = await kept.start()
  const again = await connectRaw(context, second.url, { id: 'mine', clean: false })
  assert.equal(again.sessionPresent, false)
  again.send(subscribePacket(1, ['new', 1]))
  await again.expect('suback')
  await second.publish('new', 'nothing else waits', { qos: 1 })
  assert.equal(publishedIn(await again.expect('publish')).topic, 'new')
})

test('Nothing is made before there is something to keep; then for the owner alone', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const client = await connect(context, first.url)
  await client.subscribeAsync('#', { qos: 1 })
  await client.publishAsync('plain', 'x', { qos: 2 })
  await first.publish('host/own', 'x', { retain: true })
  await first.close()
  assert.deepEqual(await readdir(kept.directory), [])
  const second = await kept.start()
  const other = await connect(context, second.url)
  await other.publishAsync('kept', 'x', { qos: 1, retain: true })
  await second.close()
  assert.deepEqual(await readdir(kept.directory), ['.broker'])
  assert.equal((await stat(kept.folder)).mode & 0o777, 0o700)
})

test('What is not allowed any more, or too much, is left out at the next start and goes from the disk', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start({ root: 'other' })
  const client = await connect(context, first.url)
  for (const topic of ['host/status', 'host/plugins/x/y/state', 'fine'])
    await client.publishAsync(topic, 'x', { qos: 1, retain: true })
  for (let number = 0; number < pluginRetainedLimits.topics; number += 1)
    await first.publish(`plugin/${number}`, 'x', { retain: true, publisher: '@a/one' })
  await first.close()
  const second = await kept.start()
  assert.deepEqual(
    (await retainedAt(second)).filter((line) => !line.startsWith('plugin/')),
    ['fine x', 'host/status online'],
  )
  assert.equal([...second.retainedByPlugins()].length, pluginRetainedLimits.topics)
  await second.publish('plugin/more', 'x', { retain: true, publisher: '@a/one' })
  assert.ok(!second.mayBeRetainedBy('@a/one', 'plugin/more'))
  await second.close()
  const third = await kept.start({ root: 'other' })
  assert.deepEqual(
    (await retainedAt(third)).filter((line) => !line.startsWith('plugin/')),
    ['fine x', 'other/status online'],
  )
})

test('A session that holds as much as it may is there as a whole', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const options = { clientId: 'full', clean: false }
  const full = await connect(context, first.url, options)
  await full.subscribeAsync('x', { qos: 1 })
  await full.endAsync()
  for (let number = 0; number < sessionQueueLimit + 3; number += 1)
    await first.publish('x', `${number}`, { qos: 1 })
  await first.close()
  const second = await kept.start()
  const again = await connect(context, second.url, options)
  assert.deepEqual(
    (await collect(again).take(sessionQueueLimit)).map(({ text }) => text),
    Array.from({ length: sessionQueueLimit }, (_, index) => `${index + 3}`),
  )
})

for (const [name, damage] of [
  ['the list of its files', (names: string[]) => names.find((one) => one.startsWith('MANIFEST'))],
  ['the name of that list', () => 'CURRENT'],
] as const) {
  test(`A folder of which ${name} is damaged is put aside, told in one line, and begun anew`, async (context) => {
    const logger = createRecordingLogger()
    const kept = await createKeptBus(context, { logger })
    const first = await kept.start()
    const client = await connect(context, first.url)
    await client.publishAsync('lost', 'x', { qos: 1, retain: true })
    await first.close()
    // From earlier times: those that are too many go.
    for (const time of [1, 2, 3, 4, 5])
      await cp(kept.folder, `${kept.folder}.damaged-${time}`, { recursive: true })
    const file = join(kept.folder, damage(await readdir(kept.folder)) ?? '')
    const content = await readFile(file)
    await writeFile(file, content.fill(0x5a))
    const second = await kept.start()
    assert.deepEqual(await retainedAt(second), ['host/status online'])
    const told = logger.lines.filter(({ level }) => level === 'error')
    assert.match(
      told.map(({ message }) => message).join('\n'),
      /^What the broker had kept is damaged; it was put aside/,
    )
    assert.equal(second.memoryOnly, undefined)
    const other = await connect(context, second.url)
    await other.publishAsync('kept', 'x', { qos: 1, retain: true })
    await second.close()
    const names = (await readdir(kept.directory)).sort()
    assert.deepEqual(
      names.map((one) => one.replace(/\d{2,}$/, '…')),
      ['.broker', ...['1', '…', '4', '5'].map((time) => `.broker.damaged-${time}`)],
    )
    assert.deepEqual(await retainedAt(await kept.start()), ['host/status online', 'kept x'])
  })
}

test('What is on a disk that is away, or not read for want of memory, is not damaged: it is there as soon as it can be read', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const client = await connect(context, first.url)
  await client.publishAsync('first', 'x', { qos: 1, retain: true })
  await first.close()
  const file = join(kept.folder, 'CURRENT')
  await rename(file, `${file}-away`)
  // As a device that is not there: nobody can open it.
  const socket = createServer()
  context.after(() => void socket.close())
  await new Promise<void>((resolve) => socket.listen(file, resolve))

  const clock = createManualClock()
  const second = await kept.start({ clock })
  assert.match(second.memoryOnly?.reason ?? '', /No such device or address/)
  assert.deepEqual(await readdir(kept.directory), ['.broker'])
  socket.close()
  await rename(`${file}-away`, file)
  clock.advance(diskRetryDelay(0))
  await until('the folder to be read', () => Promise.resolve(second.memoryOnly === undefined))
  assert.deepEqual(await retainedAt(second), ['first x', 'host/status online'])
})

test('What waits for a client while the disk is away takes the place of nothing that waits on it', async (context) => {
  const kept = await createKeptBus(context)
  const clock = createManualClock()
  /** Has a message wait for a client of this name. */
  async function leaveOne(bus: Bus & { url: string }, clientId: string): Promise<void> {
    const client = await connect(context, bus.url, { clientId, clean: false })
    await client.subscribeAsync(clientId, { qos: 1 })
    await client.endAsync()
    const publisher = await connect(context, bus.url)
    await until('one client', () => Promise.resolve(bus.clients === 1))
    await publisher.publishAsync(clientId, `for ${clientId}`, { qos: 1 })
    await publisher.endAsync()
  }
  const first = await kept.start({ clock })
  await leaveOne(first, 'early')
  await first.close()
  await rename(kept.folder, `${kept.folder}-away`)
  // Nobody can make a folder there.
  await writeFile(kept.folder, '')

  clock.advance(1)
  const second = await kept.start({ clock })
  assert.ok(second.memoryOnly !== undefined)
  await leaveOne(second, 'late')
  await rm(kept.folder)
  await rename(`${kept.folder}-away`, kept.folder)
  clock.advance(diskRetryDelay(0))
  await until('the folder to be read', () => Promise.resolve(second.memoryOnly === undefined))
  const publisher = await connect(context, second.url)
  for (const clientId of ['early', 'late']) {
    await publisher.publishAsync(clientId, 'behind it', { qos: 1 })
    const { received } = connectListening(context, second.url, { clientId, clean: false })
    const [message] = await received.take(1)
    assert.equal(message?.text, `for ${clientId}`)
  }
})

test('A file system that maps no files into memory is told with what to do, and nothing is lost by it', async (context) => {
  const kept = await createKeptBus(context)
  const first = await kept.start()
  const client = await connect(context, first.url)
  await client.publishAsync('first', 'x', { qos: 1, retain: true })
  await first.close()
  // Opened once more, so that what was written first is in a table by now.
  await (await kept.start()).close()
  const table = join(kept.folder, (await readdir(kept.folder)).find((name) => name.endsWith('.ldb')) ?? '')
  await rename(table, `${table}-away`)
  // The system maps no folder either.
  await mkdir(table)

  const clock = createManualClock()
  const second = await kept.start({ clock })
  assert.match(second.memoryOnly?.reason ?? '', /maps no files into memory .*mount it so that it does/)
  await rm(table, { recursive: true })
  await rename(`${table}-away`, table)
  clock.advance(diskRetryDelay(0))
  await until('the folder to be read', () => Promise.resolve(second.memoryOnly === undefined))
  assert.deepEqual(await retainedAt(second), ['first x', 'host/status online'])
})

test('Whatever happens to its files, a bus starts, and keeps what comes then', async (context) => {
  const kept = await createKeptBus(context)
  const whole = await kept.start()
  const client = await connect(context, whole.url)
  const away = await connect(context, whole.url, { clientId: 'away', clean: false })
  await away.subscribeAsync('#', { qos: 1 })
  await away.endAsync()
  for (let number = 0; number < 50; number += 1)
    await client.publishAsync(`x/${number}`, 'x'.repeat(200), { qos: 1, retain: true })
  await whole.close()
  // Opened once more, so that what was written first is in a table by now.
  await (await kept.start()).close()
  const random = createRandom(1)
  for (let round = 0; round < 30; round += 1) {
    const directory = await kept.copy()
    const folder = join(directory, '.broker')
    const names = (await readdir(folder)).filter((name) => !/^LO/.test(name)).sort()
    const file = join(folder, names[round % names.length] ?? '')
    const bytes = await readFile(file)
    const at = Math.floor(random() * bytes.length)
    if (round % 3 === 0) await rm(file)
    else if (round % 3 === 1) await writeFile(file, bytes.subarray(0, at))
    else await writeFile(file, bytes.fill(random() * 256, at, Math.min(bytes.length, at + 40)))
    const bus = await kept.start({}, directory)
    const publisher = await connect(context, bus.url)
    await publisher.publishAsync('new', 'x', { qos: 1, retain: true })
    await publisher.endAsync()
    await bus.close()
    const again = await kept.start({}, directory)
    assert.ok((await retainedAt(again)).includes('new x'), file)
    assert.equal(again.memoryOnly, undefined)
    await again.close()
  }
})
