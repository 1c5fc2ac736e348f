import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { createElapsedTime } from '../../../src/base/time/elapsed-time.ts'
import { leaseBuckets } from '../../../src/fleet/leases/lease-store.ts'
import { leaseTiming } from '../../../src/fleet/leases/timing.ts'
import { connectTo, startNatsServer, startStore } from '../../helpers/nats-server.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createFleetStage } from '../fleet-stage.ts'
import { createKeptHost, openKeptHost, plugins } from './keeper-stage.ts'

/** The protocol of leases over a real store; the broker is real in fleet-law.test.ts. */

const stage = createFleetStage()

/** What is in a bucket: JSON by key. */
async function contentOf(context: TestContext, url: string, bucket: string) {
  const connection = await connectTo(context, url)
  const manager = await jetstreamManager(connection)
  const name = `KV_${bucket}`
  return async (): Promise<Record<string, unknown>> => {
    const { state } = await manager.streams.info(name, { subjects_filter: '>' })
    const found: Record<string, unknown> = {}
    for (const subject of Object.keys(state.subjects ?? {})) {
      const message = await manager.streams.getMessage(name, { last_by_subj: subject })
      found[subject.replace(`$KV.${bucket}.`, '')] =
        message?.header.get('KV-Operation') === 'DEL' ? null : message?.json()
    }
    return found
  }
}

const inTurn = (text: string) => (sentence: string) => sentence.startsWith(text)

test('a host begins a session, takes what nobody runs, and writes down what the protocol says', async (context) => {
  const fleet = stage.newFleet()
  const { keeper, done, running } = await openKeptHost(context, stage.url(), fleet, 'h1', {
    wanted: plugins('@a.b/lamp', '@c/d'),
  })
  await until('both plugins', async () => running.size === 2)
  const session = keeper.state.own?.session ?? ''
  assert.equal(done[0], `began ${session}`)
  assert.match(session, /^0-x\d+-0$/)
  assert.equal(keeper.mayAct('@a.b/lamp', 1), true)
  assert.equal(keeper.mayAct('@a.b/lamp', 2), false)
  assert.equal(keeper.mayAct('@a.b/other', 1), false)
  assert.equal(keeper.maySpeak(), true)
  const { hosts, leases } = leaseBuckets(fleet)
  assert.deepEqual(await (await contentOf(context, stage.url(), leases))(), {
    'a=2Eb/lamp': { host: 'h1', session, epoch: 1 },
    'c/d': { host: 'h1', session, epoch: 1 },
  })
  const records = await (await contentOf(context, stage.url(), hosts))()
  assert.equal((records.h1 as { session: string }).session, session)
  keeper.want(plugins('@c/d'))
  await until('the lease to be given back', async () => !keeper.state.held.has('@a.b/lamp'))
  const of = done.filter((sentence) => sentence.includes('lamp') || sentence === 'flush')
  assert.deepEqual(of, ['start @a.b/lamp 1', 'stop @a.b/lamp 1', 'flush'])
  assert.deepEqual((await (await contentOf(context, stage.url(), leases))())['a=2Eb/lamp'], {
    ...{ host: null, session: null, epoch: 1 },
  })
})

/** What a log says of another host. */
function linesAbout({ lines }: ReturnType<typeof createRecordingLogger>, host: string): string[] {
  return lines
    .filter(({ fields }) => fields?.host === host)
    .map(({ level, message }) => `${level} ${message}`)
}

test('hosts share the plugins, and those of one that ends go to the others at once, after its session was fenced', async (context) => {
  const fleet = stage.newFleet()
  const wanted = plugins('@a/p0', '@a/p1', '@a/p2', '@a/p3')
  const [logOfOne, logOfTwo] = [createRecordingLogger(), createRecordingLogger()]
  const one = await openKeptHost(context, stage.url(), fleet, 'h1', { logger: logOfOne })
  const two = await openKeptHost(context, stage.url(), fleet, 'h2', { logger: logOfTwo })
  await until(
    'both sessions',
    async () => one.keeper.state.hosts.size === 2 && two.keeper.state.hosts.size === 2,
  )
  await until('both to be begun', async () => one.keeper.maySpeak() && two.keeper.maySpeak())
  for (const { keeper } of [one, two]) keeper.want(wanted)
  await until('all plugins', async () => one.running.size + two.running.size === 4)
  assert.ok(one.running.size > 0 && two.running.size > 0, 'each has some')
  const session = one.keeper.state.own?.session ?? ''
  const moving = [...one.running.keys()]
  const begin = performance.now()
  await one.keeper.close()
  assert.equal(one.running.size, 0)
  assert.equal(one.done.at(-1), `over ${session}`)
  await until('the other host to run all', async () => two.running.size === 4)
  assert.ok(
    performance.now() - begin < leaseTiming.takeOverAfter,
    'nobody waited for the session to be silent',
  )
  const fenced = two.done.indexOf(`fence h1 ${session}`)
  assert.ok(fenced >= 0)
  for (const plugin of moving) assert.ok(two.done.findIndex(inTurn(`start ${plugin} 2`)) > fenced)
  assert.deepEqual(linesAbout(logOfOne, 'h2'), ['info A host of the fleet is there'])
  assert.deepEqual(linesAbout(logOfTwo, 'h1'), ['info A host of the fleet has left'])
})

test('of two hosts of one name the second ends with one line, and the first goes on', async (context) => {
  const fleet = stage.newFleet()
  const first = await openKeptHost(context, stage.url(), fleet, 'h1', { wanted: plugins('@a/p') })
  await until('the plugin', async () => first.running.size === 1)
  const begin = performance.now()
  const second = await openKeptHost(context, stage.url(), fleet, 'h1', { wanted: plugins('@a/p') })
  const error = await until('the refusal', async () => second.errors[0])
  assert.ok(performance.now() - begin < 10_000)
  assert.match(
    error.message,
    /^Another live host of the fleet \S+ is called h1 \(session 0-x\d+-0\); give this one another HOST_ID/,
  )
  assert.equal(second.errors.length, 1)
  assert.deepEqual(second.done, [])
  assert.equal(first.keeper.mayAct('@a/p', 1), true)
  assert.deepEqual(first.errors, [])
})

test('the next process in the same directory has its plugins back at once, under another epoch and after a fence', async (context) => {
  const fleet = stage.newFleet()
  const wanted = plugins('@a/p')
  const way = await createTcpProxy(context, stage.url())
  const before = await openKeptHost(context, `nats://127.0.0.1:${way.port}`, fleet, 'h1', {
    ...{ name: { process: 'dead', heirOf: null }, wanted },
  })
  await until('the plugin', async () => before.running.size === 1)
  way.refuse()
  const begin = performance.now()
  const heir = await openKeptHost(context, stage.url(), fleet, 'h1', {
    ...{ name: { process: 'alive', heirOf: 'dead' }, wanted },
  })
  await until('the plugin again', async () => heir.running.get('@a/p') === 2)
  assert.ok(performance.now() - begin < 3_000)
  assert.ok(heir.done.indexOf('fence h1 0-dead-0') < heir.done.indexOf('start @a/p 2'))
})

test('what could not be sent while the store was away is not sent later', async (context) => {
  const fleet = stage.newFleet()
  const way = await createTcpProxy(context, stage.url())
  const { keeper } = await openKeptHost(context, `nats://127.0.0.1:${way.port}`, fleet, 'h1')
  await until('the session', async () => keeper.maySpeak())
  const connection = await stage.connection(context)
  const sent: number[] = []
  connection.subscribe(`$KV.${leaseBuckets(fleet).hosts}.h1`, {
    callback: (_error, message) => void sent.push(message.json<{ n: number }>().n),
  })
  await connection.flush()
  way.refuse()
  const n = keeper.state.own?.n ?? 0
  // Each try has a number of its own.
  await until('three tries', async () => (keeper.state.own?.n ?? 0) >= n + 3)
  const tried = keeper.state.own?.n ?? 0
  sent.length = 0
  way.pass()
  await until('a renewal', async () => sent.length > 0)
  assert.ok((sent[0] ?? 0) > tried, `${sent.join()} after ${tried}`)
  await until('the session to be fresh', async () => keeper.state.own?.sent.size === 0)
})

test('a host that is cut off has stopped before another one starts, and its writes that arrive later are refused', async (context) => {
  const fleet = stage.newFleet()
  const wanted = plugins('@a/p')
  const way = await createTcpProxy(context, stage.url())
  const log: string[] = []
  const [logOfCut, logOfOther] = [createRecordingLogger(), createRecordingLogger()]
  const cut = await openKeptHost(context, `nats://127.0.0.1:${way.port}`, fleet, 'h1', {
    ...{ wanted, logger: logOfCut },
    on: {
      sessionOver: (session) => void log.push(`over ${session}`),
    },
  })
  await until('the plugin', async () => cut.running.size === 1)
  const session = cut.keeper.state.own?.session ?? ''
  way.hold()
  const begin = performance.now()
  const other = await openKeptHost(context, stage.url(), fleet, 'h2', {
    ...{ wanted, logger: logOfOther },
    on: { start: (plugin, epoch) => void log.push(`start ${plugin} ${epoch}`) },
  })
  await until('the other host', async () => other.keeper.mayAct('@a/p', 2))
  const silence = performance.now() - begin
  assert.ok(silence < 10_000, `${silence} ms`)
  assert.deepEqual(log, [`over ${session}`, 'start @a/p 2'])
  assert.ok(cut.done.includes('stop @a/p 1'), 'it was unloaded in good time')
  assert.equal(cut.keeper.mayAct('@a/p', 1), false)
  way.pass()
  const next = await until('a new session', async () => {
    const own = cut.keeper.state.own
    return own !== null && own.validFrom !== null && own.session
  })
  assert.notEqual(next, session)
  // Each log says why the plugin went from one to the other, and that all is well again.
  await until('the other host to hear of it', async () => linesAbout(logOfOther, 'h1').length > 1)
  assert.deepEqual(linesAbout(logOfOther, 'h1'), [
    'warn A host of the fleet is gone: it is not heard of any more, so others take its plugins',
    'info A host of the fleet is there',
  ])
  const own = logOfCut.lines.map(
    ({ level, message }) => `${level} ${message.replace(/, (?:so|because) .*/, '')}`,
  )
  assert.deepEqual(
    own.filter((line) => /session|store is/.test(line)),
    [
      'info The session of this host has begun',
      "warn The connection to the fleet's store is lost",
      'warn The session of this host is over',
      "info The fleet's store is reached again",
      'info The session of this host has begun',
    ],
  )
  const { leases } = leaseBuckets(fleet)
  assert.deepEqual(await (await contentOf(context, stage.url(), leases))(), {
    'a/p': { host: 'h2', session: other.keeper.state.own?.session, epoch: 2 },
  })
})

test('a session outlives a restart of the store', async (context) => {
  const server = await startStore(context)
  const { keeper, done, running } = await openKeptHost(context, server.url, 'home', 'h1', {
    wanted: plugins('@a/p'),
  })
  await until('the plugin', async () => running.size === 1)
  await server.stop('SIGKILL')
  await server.start()
  const { revision } = keeper.state.own ?? { revision: 0 }
  await until('a renewal', async () => (keeper.state.own?.revision ?? 0) > revision)
  assert.deepEqual(done.slice(1), ['start @a/p 1'])
  assert.equal(keeper.mayAct('@a/p', 1), true)
})

test('a host that slept for less than its session lasts says why its plugins were stopped and started', async (context) => {
  const logger = createRecordingLogger()
  const elapsed = createElapsedTime()
  let slept = 0
  const { keeper, done, running } = await openKeptHost(context, stage.url(), stage.newFleet(), 'h1', {
    ...{ wanted: plugins('@a/p'), logger },
    elapsed: () => elapsed() + slept,
    // So long that the test itself may be slow.
    timing: { ...leaseTiming, unloadAfter: 200_000, sessionLength: 600_000, takeOverAfter: 700_000 },
  })
  await until('the plugin', async () => running.size === 1)
  slept = 300_000
  await until('the plugin to start again', async () => done.length === 4)
  assert.deepEqual(done.slice(1), ['start @a/p 1', 'stop @a/p 1', 'start @a/p 1'])
  const told = logger.lines.filter(({ level, message }) => level === 'warn' && message.includes('session'))
  assert.deepEqual(
    told.map(({ message }) => message.replace(/:.*/, '')),
    [
      'The session of this host was not renewed for so long that its plugins were stopped here; now they start again',
    ],
  )
  assert.equal(told[0]?.fields?.session, keeper.state.own?.session)
  assert.ok(Number(told[0]?.fields?.silentSeconds) >= 300)
})

test('a store that was emptied while hosts run is refused with one line, and nothing runs on', async (context) => {
  const server = await startStore(context)
  const { keeper, done, errors, running } = await openKeptHost(context, server.url, 'home', 'h1', {
    wanted: plugins('@a/p'),
  })
  await until('the plugin', async () => running.size === 1)
  const connection = await connectTo(context, server.url)
  const manager = await jetstreamManager(connection)
  const { leases } = leaseBuckets('home')
  await manager.streams.delete(`KV_${leases}`)
  const error = await until('the refusal', async () => errors[0])
  assert.match(
    error.message,
    /^The stream KV_LUPINE_home_LEASES was deleted while this host was running; put it back/,
  )
  assert.equal(running.size, 0)
  assert.match(done.at(-1) ?? '', /^over /)
  assert.equal(keeper.maySpeak(), false)
  await assert.rejects(manager.streams.info(`KV_${leases}`), { name: 'StreamNotFoundError' })
})

for (const { title, make } of [
  { title: 'was taken away by hand', make: undefined },
  { title: 'says something else', make: '{"host":"h1"}' },
]) {
  test(`a lease that ${title} is free, and no epoch comes twice`, async (context) => {
    const fleet = stage.newFleet()
    const first = await openKeptHost(context, stage.url(), fleet, 'h1', { wanted: plugins('@a/p', '@a/q') })
    await until('the plugins', async () => first.running.size === 2)
    first.keeper.want(plugins('@a/q'))
    await until('the lease to be given back', async () => !first.keeper.state.held.has('@a/p'))
    const connection = await stage.connection(context)
    const { headers } = await import('@nats-io/transport-node')
    const marks = headers()
    if (make === undefined) marks.set('KV-Operation', 'DEL')
    const subject = `$KV.${leaseBuckets(fleet).leases}.a/p`
    await connection.request(subject, make ?? '', { headers: marks, timeout: 5_000 })
    first.keeper.want(plugins('@a/p', '@a/q'))
    const epoch = await until('the plugin again', async () => first.running.get('@a/p'))
    assert.ok(epoch > 1, `${epoch}`)
  })
}

test('a keeper without a store says so, and one that is closed while it begins is closed', async (context) => {
  const nobody = createKeptHost(context, 'nats://127.0.0.1:1', 'home', 'h1')
  await assert.rejects(nobody.keeper.open(), { name: 'StoreUnreachableError' })
  await nobody.keeper.close()
  const early = createKeptHost(context, stage.url(), stage.newFleet(), 'h1')
  const opening = early.keeper.open().catch(() => undefined)
  await early.keeper.close()
  await opening
  assert.deepEqual(early.errors, [])
})

test('a host with 100 idle plugins exchanges a few messages a second with the store', async (context) => {
  const folder = await temporaryDirectory(context)
  const server = await startNatsServer(folder, { lines: ['http: "127.0.0.1:-1"'] })
  context.after(() => server.stop())
  const ids = Array.from({ length: 100 }, (_, index) => `@a/p${index}`)
  const { keeper, running } = await openKeptHost(context, server.url, 'home', 'h1', {
    wanted: plugins(...ids),
  })
  await until('all plugins', async () => running.size === 100)
  const portsFolder = join(folder, 'nats-server', 'ports')
  const [file = ''] = await readdir(portsFolder)
  const ports: { monitoring: string[] } = JSON.parse(await readFile(join(portsFolder, file), 'utf8'))
  const counted = async () =>
    (await (await fetch(`${ports.monitoring[0]}/varz`)).json()) as { in_msgs: number; out_msgs: number }
  const renewals = async (count: number): Promise<void> => {
    const { revision } = keeper.state.own ?? { revision: 0 }
    await until(`${count} renewals`, async () => (keeper.state.own?.revision ?? 0) >= revision + count)
  }
  await renewals(1)
  const [before, begin] = [await counted(), performance.now()]
  await renewals(4)
  const [after, seconds] = [await counted(), (performance.now() - begin) / 1_000]
  const sent = (after.in_msgs - before.in_msgs) / seconds
  const received = (after.out_msgs - before.out_msgs) / seconds
  context.diagnostic(`${sent.toFixed(1)} to the store a second, ${received.toFixed(1)} from it`)
  // Half a renewal a second, and one more; answers and signs of life come back.
  assert.ok(sent <= 1.5, `${sent} a second to the store`)
  assert.ok(sent + received <= 5, `${received} a second from it`)
})
