import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { createMachine } from 'xstate'
import { WebSocket } from 'ws'
import { withoutSecrets } from '../../../src/http/inspect/messages.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { installAndStart, startHostFor, startTestHost, type TestHost } from '../../helpers/test-host.ts'
import { startHttp } from '../http-over.ts'

const token = 'correct-horse-battery-staple'
let host: TestHost
before(async () => {
  host = await startTestHost({ settings: { token } })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
})
after(() => host.close())

interface Inspection {
  next(): Promise<any>
  /** Messages up to and with the first that fits. */
  until(fits: (message: any) => boolean): Promise<any[]>
  socket: WebSocket
}

async function inspect(of: TestHost = host): Promise<Inspection> {
  const socket = new WebSocket(`${of.url.replace('http', 'ws')}/api/inspect`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const waiting: any[] = []
  let wake: () => void = () => undefined
  socket.on('message', (data: Buffer) => {
    waiting.push(JSON.parse(data.toString('utf8')))
    wake()
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const next = async (): Promise<any> => {
    while (waiting.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    return waiting.shift()
  }
  return {
    next,
    socket,
    async until(fits) {
      const seen: any[] = []
      for (;;) {
        seen.push(await next())
        if (fits(seen.at(-1))) return seen
      }
    },
  }
}

test('whoever connects is introduced to the host and to every plugin, with definitions that XState takes', async () => {
  const { next, socket } = await inspect()
  try {
    const messages = [await next(), await next(), await next(), await next()]
    assert.deepEqual(
      messages.map(({ type, sessionId, rootId, parentId, name, snapshot }) => ({
        type,
        sessionId,
        rootId,
        parentId,
        name,
        value: snapshot.value,
        status: snapshot.status,
      })),
      ['@xstate.actor', '@xstate.snapshot', '@xstate.actor', '@xstate.snapshot'].map((type, position) => {
        const isPlugin = position >= 2
        const id = isPlugin ? '@fixtures/hello' : 'host'
        return {
          type,
          sessionId: id,
          rootId: 'host',
          parentId: isPlugin && type === '@xstate.actor' ? 'host' : undefined,
          name: type === '@xstate.actor' ? id : undefined,
          value: isPlugin ? 'installed' : 'ready',
          status: 'active',
        }
      }),
    )
    for (const message of messages) {
      assert.match(message.createdAt, /^\d{13}$/)
      assert.match(message._version, /^\d+\.\d+\.\d+$/)
    }
    assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length)
    const machine = createMachine(JSON.parse(messages[2].definition))
    assert.deepEqual(
      [machine.id, Object.keys(machine.states).includes('running')],
      ['plugin-lifecycle', true],
    )
    assert.equal((await host.request('GET', '/api/system')).body.http.inspectors, 1)
  } finally {
    socket.terminate()
  }
})

test('every fact comes as an event and the snapshot after it, and a new plugin is introduced first', async () => {
  const { until, socket } = await inspect()
  try {
    await until(({ type, sessionId }) => type === '@xstate.snapshot' && sessionId === '@fixtures/hello')
    await installAndStart(host, 'faulty')
    const seen = await until(
      ({ snapshot, type }) => type === '@xstate.snapshot' && snapshot.value === 'failed',
    )
    assert.deepEqual(
      seen.map(({ type, sessionId, event, sourceId, snapshot }) => [
        type.slice(8),
        sessionId,
        event?.type,
        sourceId ?? snapshot?.value,
      ]),
      [
        ['actor', '@fixtures/faulty', undefined, 'installing'],
        ['event', '@fixtures/faulty', 'PluginInstallRequested', 'host'],
        ['snapshot', '@fixtures/faulty', 'PluginInstallRequested', 'installing'],
        ['event', '@fixtures/faulty', 'PluginInstalled', 'host'],
        ['snapshot', '@fixtures/faulty', 'PluginInstalled', 'installed'],
        ['event', '@fixtures/faulty', 'PluginEnabled', 'host'],
        ['snapshot', '@fixtures/faulty', 'PluginEnabled', 'loading'],
        ['event', '@fixtures/faulty', 'PluginLoadFailed', 'host'],
        ['snapshot', '@fixtures/faulty', 'PluginLoadFailed', 'failed'],
      ],
    )
    const last = seen.at(-1)
    assert.deepEqual(
      [last.snapshot.context.enabled, last.snapshot.context.error.code, last.event.by],
      [true, 'lua_error', 'http'],
    )
  } finally {
    socket.terminate()
  }
})

test('no secret is shown', async () => {
  const { until, socket } = await inspect()
  try {
    await host.request('POST', '/api/plugins/hello/config', {
      body: { config: { apiKey: 'canary-one', nested: { password: 'canary-two' }, name: 'x' } },
    })
    const seen = await until(({ event }) => event?.type === 'PluginConfigured')
    const text = JSON.stringify(seen)
    assert.ok(!text.includes('canary'), text)
    assert.deepEqual(seen.at(-1).event.data.config.name, 'x')
  } finally {
    socket.terminate()
  }
  assert.deepEqual(
    withoutSecrets({ url: 'https://me:hunter2@example.com/a', list: [{ authToken: 7, ok: true }] }),
    {
      url: 'https://********@example.com/a',
      list: [{ authToken: '********', ok: true }],
    },
  )
})

test('a fact that is larger than what may wait for a client is told', async () => {
  const { until, socket } = await inspect()
  try {
    const name = 'x'.repeat(1_000_000)
    const facts = [1, 2].map((number) => ({ name, number, list: ['"'.repeat(20_000)] }))
    await host.host.lifecycle.configure('@fixtures/hello', facts[0] ?? {}, { by: 'http' })
    const [seen] = (await until(({ event }) => event?.type === 'PluginConfigured')).slice(-1)
    assert.equal(seen.event.data.config.name, name)
    await host.host.lifecycle.configure('@fixtures/hello', { name: 'x' }, { by: 'http' })
    await until(({ event }) => event?.data?.config.name === 'x')
  } finally {
    socket.terminate()
  }
})

test('what a client says changes nothing, and too much of it ends the connection', async () => {
  const { socket, next } = await inspect()
  await next()
  const { lastSeq } = host.host.lifecycle
  socket.send(
    JSON.stringify({ type: '@xstate.event', sessionId: '@fixtures/hello', event: { type: 'PluginEnabled' } }),
  )
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  socket.send('x'.repeat(100_000))
  assert.equal(await closed, 1009)
  assert.equal(host.host.lifecycle.lastSeq, lastSeq)
})

test('an inspector that came by a login is cut off when that has ended', async () => {
  const clock = createManualClock()
  const http = await startHttp({ stateAt: () => ({ seq: 0, plugins: [] }) }, { clock, token })
  const login = await fetch(`${http.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const headers = { cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '', origin: http.url }
  const socket = new WebSocket(`${http.url.replace('http', 'ws')}/api/inspect`, { headers })
  await once(socket, 'open')
  const ponged = once(socket, 'ping')
  clock.advance(30_000)
  await ponged
  const ended = once(socket, 'close')
  assert.equal((await fetch(`${http.url}/api/session`, { method: 'DELETE', headers })).status, 200)
  clock.advance(30_000)
  assert.deepEqual((await ended)[0], 1008)
  await http.close()
})

test('there are as many inspectors as there may be, and the end of the host ends them', async (context) => {
  const single = await startHostFor(context, { settings: { token } })
  const all: Inspection[] = []
  for (let count = 0; count < 16; count += 1) all.push(await inspect(single))
  // Not 503 `shutting_down`: a client would wait for a host that is not going away.
  await assert.rejects(inspect(single), /429/)
  const [first] = all
  assert.ok(first)
  const closed = new Promise<number>((resolve) => first.socket.once('close', resolve))
  await single.close()
  assert.equal(await closed, 1001)
})
