import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../../src/base/time/clock.ts'
import { createKeyRing } from '../../../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../../../src/base/log/log.ts'
import { Problem } from '../../../../src/base/problem.ts'
import { connectStore } from '../../../../src/fleet/store/connect-store.ts'
import { isConnected } from '../../../../src/fleet/store/keep-nothing.ts'
import { createHostCalls, type HostCallsSettings } from '../../../../src/host/fleet/messages/host-calls.ts'
import { startNatsServer } from '../../../helpers/nats-server.ts'
import { until } from '../../../helpers/until.ts'

const key = new Uint8Array(32).fill(7)

async function stage(t: TestContext, lines: string[] = []) {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-calls-'))
  const nats = await startNatsServer(directory, { lines })
  const closing: (() => Promise<void> | void)[] = []
  t.after(async () => {
    for (const close of closing) await close()
    await nats.stop()
    await rm(directory, { recursive: true, force: true })
  })
  async function host(
    name: string,
    answer: HostCallsSettings['answer'] = async () => undefined,
    ring = createKeyRing([key]),
  ) {
    const connection = await connectStore({ servers: [nats.url], name })
    const calls = createHostCalls({
      ...{ connection, fleet: 'test', host: name, ring, clock: systemClock, logger: silentLogger, answer },
    })
    calls.listen()
    await connection.flush()
    closing.push(async () => {
      calls.close()
      await connection.close()
    })
    return { calls, connection }
  }
  return { host, nats }
}

test('what one host asks another answers, however long it is', async (t) => {
  const { host } = await stage(t)
  const long = 'ä'.repeat(2_000_000)
  const asked: unknown[] = []
  await host('b', async (method, given) => {
    asked.push([method, given])
    return { text: long }
  })
  const { calls } = await host('a')
  const answer = await calls.call('b', 'get', ['@a/b', { long }], { timeout: 10_000 })
  assert.deepEqual(answer, { text: long })
  assert.deepEqual(asked, [['get', ['@a/b', { long }]]])
})

test('what one host asks another answers, also where a message of the store has less room', async (t) => {
  const { host } = await stage(t, ['max_payload: 20000'])
  const long = 'x'.repeat(100_000)
  await host('b', async (_method, given) => ({ given }))
  const { calls } = await host('a')
  const answer = await calls.call('b', 'get', [long], { timeout: 10_000 })
  assert.deepEqual(answer, { given: [long] })
})

test('a problem of the other host is that of the caller, with its details', async (t) => {
  const { host } = await stage(t)
  const errors = [{ path: '/config/a', message: 'must be a number' }]
  await host('b', () => Promise.reject(new Problem('config_invalid', 'It is not saved.', { errors })))
  const { calls } = await host('a')
  await assert.rejects(calls.call('b', 'configure', [], { timeout: 10_000 }), (error) => {
    assert.ok(error instanceof Problem)
    assert.deepEqual(
      [error.code, error.message, error.errors],
      ['config_invalid', 'It is not saved.', errors],
    )
    return true
  })
})

test('a problem of a code that only the other host knows is internal to this one', async (t) => {
  const { host } = await stage(t)
  await host('b', async (code) => {
    throw Object.assign(new Problem('internal', 'It is too new.'), { code })
  })
  const { calls } = await host('a')
  for (const code of ['of_a_newer_host', 'constructor', '__proto__'])
    await assert.rejects(calls.call('b', code, [], { timeout: 10_000 }), {
      code: 'internal',
      status: 500,
      message: 'It is too new.',
    })
})

test('where there is no such host that is known at once; one that says nothing is given up in time', async (t) => {
  const { host } = await stage(t)
  await host('silent', () => new Promise(() => undefined))
  const { calls } = await host('a')
  await assert.rejects(calls.call('gone', 'get', [], { timeout: 3_600_000 }), { code: 'plugin_moving' })
  await assert.rejects(calls.call('silent', 'get', [], { timeout: 300 }), { code: 'fleet_unreachable' })
  let isThere = true
  const asked = calls.call('silent', 'get', [], { timeout: 3_600_000, stillAsked: () => isThere })
  isThere = false
  await assert.rejects(asked, { code: 'fleet_unreachable' })
})

test('hosts with different keys do not wait for each other, whichever of them has the key that the other lacks', async (t) => {
  const { host } = await stage(t)
  const other = new Uint8Array(32).fill(8)
  await host('old')
  const { calls } = await host('new', undefined, createKeyRing([other, key]))
  const refused = { code: 'fleet_unreachable', message: /has another key file than this one/ }
  await assert.rejects(calls.call('old', 'get', [], { timeout: 3_600_000 }), refused)
  const { calls: third } = await host('third')
  await assert.rejects(third.call('new', 'get', [], { timeout: 3_600_000 }), refused)
})

test('what is asked while the store is away is sent once, when it is back', async (t) => {
  const { host, nats } = await stage(t)
  const asked: unknown[] = []
  await host('b', async (method) => void asked.push(method))
  const { calls, connection } = await host('a')
  await nats.stop()
  await until('the connection to be lost', async () => !isConnected(connection))
  const answer = calls.call('b', 'get', [], { timeout: 3_600_000 }).catch((error: unknown) => error)
  await nats.start()
  const outcome = await answer
  // The other host may have come back later: then it is told at once that nobody is there.
  if (outcome instanceof Problem) assert.deepEqual([outcome.code, asked], ['plugin_moving', []])
  else assert.deepEqual(asked, ['get'])
})

test('an answer that is lost on the way comes again, and nothing is done twice', async (t) => {
  const { host, nats } = await stage(t)
  const asked: unknown[] = []
  let finish = (_value: string): void => undefined
  const work = new Promise<string>((resolve) => (finish = resolve))
  const { connection: answering } = await host('b', (method) => {
    asked.push(method)
    return work
  })
  const { calls, connection } = await host('a')
  const answer = calls.call('b', 'update', ['@a/b'], { timeout: 3_600_000 })
  await until('the question', async () => asked.length === 1)
  await nats.stop()
  await until('the connections to be lost', async () => !isConnected(connection) && !isConnected(answering))
  // While it is away nothing is kept for it.
  finish('done')
  await work
  await nats.start()
  assert.equal(await answer, 'done')
  assert.deepEqual(asked, ['update'])
})

test('a host that knows nothing of the question says so, and is not asked again', async (t) => {
  const { host, nats } = await stage(t)
  const asked: unknown[] = []
  const silent = await host('b', async (method) => {
    asked.push(method)
    return new Promise(() => undefined)
  })
  const { calls } = await host('a')
  const answer = calls.call('b', 'update', ['@a/b'], { timeout: 3_600_000 })
  await until('the question', async () => asked.length === 1)
  silent.calls.close()
  // Another process under its name.
  await host('b', async (method) => void asked.push(method))
  await assert.rejects(answer, { code: 'fleet_unreachable' })
  assert.deepEqual(asked, ['update'])
  await nats.stop()
})

test('who has not the key of the fleet is neither heard nor understood', async (t) => {
  const { host } = await stage(t)
  let count = 0
  await host('b', async () => {
    count += 1
  })
  const { calls: stranger } = await host('x', undefined, createKeyRing([new Uint8Array(32).fill(8)]))
  await assert.rejects(stranger.call('b', 'uninstall', ['@a/b'], { timeout: 500 }), {
    code: 'fleet_unreachable',
  })
  const { calls, connection } = await host('a')
  const seen: string[] = []
  connection.subscribe('lupine.test.calls.b', {
    callback: (_error, message) => void seen.push(message.string()),
  })
  await calls.call('b', 'configure', ['@a/b', { password: 'canary' }], { timeout: 10_000 })
  assert.equal(count, 1)
  assert.ok(seen.length === 1 && !seen.join().includes('canary'))
})
