import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import jsmodbus from 'jsmodbus'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import {
  createModbusGateways,
  gatewayLimit,
  idleTimeout,
  type ModbusGateways,
  modbusTimeout,
  waitingRequestsLimit,
  pluginGatewayLimit,
} from '../../../src/outside/modbus/modbus-gateways.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import type { ModbusAnswer, ModbusRequest } from '../../../src/schema/outside/outside.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import {
  type Answer,
  countingRegisters,
  framed,
  type ModbusServer,
  registersAnswer,
  startModbusServer,
} from './modbus-server.ts'

const own = createOwnListeners({ ports: () => [] })
const never = new AbortController().signal

interface Stage {
  server: ModbusServer
  gateways: ModbusGateways
  /** Reads one holding register. */
  read(address: number, more?: Partial<ReadRequest>): Promise<ModbusAnswer>
}

type ReadRequest = Extract<ModbusRequest, { fc: 3 | 4 }>

async function stage(
  answer: Answer,
  use: (stage: Stage) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const server = await startModbusServer(answer)
  const gateways = createModbusGateways({ clock, own })
  try {
    const read = (address: number, more: Partial<ReadRequest> = {}) =>
      gateways.request(
        '@test/probe',
        { host: '127.0.0.1', port: server.port, unit: 1, fc: 3, address, quantity: 1, ...more },
        never,
      )
    await use({ server, gateways, read })
  } finally {
    await gateways.close()
    await server.close()
  }
}

const values = (...all: number[]): ModbusAnswer => ({ ok: true, values: all })

test('every function reads and writes what an independent server holds', async () => {
  const listener = createServer()
  const sockets: Socket[] = []
  listener.on('connection', (socket) => sockets.push(socket))
  const holding = Buffer.alloc(512)
  const input = Buffer.from([0x41, 0xac, 0x00, 0x00, 0xff, 0xff])
  const coils = Buffer.from([0b10100101, 0b00000011])
  const device = new jsmodbus.server.TCP(listener, { holding, input, coils, discrete: coils })
  assert.ok(device)
  const port = await listen(listener)
  const gateways = createModbusGateways({ clock: systemClock, own })
  try {
    const ask = (request: DistributiveOmit<ModbusRequest, 'host' | 'port' | 'unit'>) =>
      gateways.request('@test/probe', { host: '127.0.0.1', port, unit: 1, ...request }, never)
    assert.deepEqual(await ask({ fc: 4, address: 0, quantity: 3 }), values(0x41ac, 0, 0xffff))
    assert.deepEqual(await ask({ fc: 1, address: 0, quantity: 10 }), values(1, 0, 1, 0, 0, 1, 0, 1, 1, 1))
    assert.deepEqual(await ask({ fc: 2, address: 0, quantity: 3 }), values(1, 0, 1))
    assert.deepEqual(await ask({ fc: 6, address: 5, values: [0xbeef] }), values(0xbeef))
    assert.deepEqual(await ask({ fc: 16, address: 6, values: [1, 65535] }), values(1, 65535))
    assert.deepEqual(await ask({ fc: 3, address: 5, quantity: 3 }), values(0xbeef, 1, 65535))
    assert.deepEqual(await ask({ fc: 3, address: 0, quantity: 125 }), {
      ok: true,
      values: Array.from({ length: 125 }, (_, index) => ({ 5: 0xbeef, 6: 1, 7: 65535 })[index] ?? 0),
    })
    assert.deepEqual(await ask({ fc: 5, address: 1, values: [1] }), values(1))
    assert.deepEqual(await ask({ fc: 5, address: 0, values: [0] }), values(0))
    assert.deepEqual(await ask({ fc: 15, address: 3, values: [1, 1, 0] }), values(1, 1, 0))
    assert.deepEqual(await ask({ fc: 1, address: 0, quantity: 8 }), values(0, 1, 1, 1, 1, 0, 0, 1))
    assert.equal(sockets.length, 1)
  } finally {
    await gateways.close()
    for (const socket of sockets) socket.destroy()
    listener.close()
  }
})

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

test('what a device refuses is said in the words of the specification', async () => {
  const refuse: Answer = (_seen, body) => Buffer.from([(body[0] ?? 0) | 0x80, body.readUInt16BE(1)])
  await stage(refuse, async ({ server, read }) => {
    const told = []
    for (const code of [1, 2, 3, 4, 6, 10, 11, 99]) told.push(await read(code))
    const refused = (message: string): ModbusAnswer => ({ ok: false, message })
    assert.deepEqual(told, [
      refused('modbus exception 1: illegal function'),
      refused('modbus exception 2: illegal data address'),
      refused('modbus exception 3: illegal data value'),
      refused('modbus exception 4: server device failure'),
      refused('modbus exception 6: server device busy'),
      refused('modbus exception 10: gateway path unavailable'),
      refused('modbus exception 11: gateway target device failed to respond'),
      refused('modbus exception 99: unknown'),
    ])
    assert.equal(server.connections.length, 1, 'the connection is none the worse for it')
  })
})

test('one connection is kept for each gateway, and its units and plugins share it', async () => {
  await stage(countingRegisters, async ({ server, gateways, read }) => {
    assert.deepEqual(
      await Promise.all([
        read(1),
        read(2, { unit: 7 }),
        gateways.request(
          '@test/other',
          { host: '127.0.0.1', port: server.port, unit: 255, fc: 4, address: 3, quantity: 2 },
          never,
        ),
      ]),
      [values(1), values(2), values(3, 4)],
    )
    await read(4)
    assert.equal(server.connections.length, 1)
    assert.deepEqual(server.seen.map(({ unit }) => unit).sort(), [1, 1, 255, 7])
  })
})

test('one request at a time is on the way, in the order of each plugin, and plugins take turns', async () => {
  const replies: (() => void)[] = []
  let most = 0
  const hold: Answer = (_seen, body, socket) => {
    most = Math.max(most, replies.length + 1)
    replies.push(() => {
      replies.shift()
      const transaction = server.seen.length
      socket.write(framed(transaction, 1, registersAnswer(3, [body.readUInt16BE(1)])))
    })
    return undefined
  }
  let server: ModbusServer
  await stage(hold, async (stage) => {
    server = stage.server
    const ask = (plugin: string, address: number) =>
      stage.gateways.request(
        plugin,
        { host: '127.0.0.1', port: server.port, unit: 1, fc: 3, address, quantity: 1 },
        never,
      )
    const answers = [
      ...[1, 2, 3, 4].map((address) => ask('@test/greedy', address)),
      ...[11, 12].map((address) => ask('@test/modest', address)),
    ]
    for (let count = 1; count <= answers.length; count += 1) {
      await server.until(count)
      replies[0]?.()
    }
    assert.deepEqual(
      await Promise.all(answers),
      [1, 2, 3, 4, 11, 12].map((value) => values(value)),
    )
    assert.equal(most, 1)
    assert.deepEqual(
      server.seen.map(({ body }) => Number.parseInt(body.slice(2, 6), 16)),
      // The second was already next when the other plugin came.
      [1, 2, 11, 3, 12, 4],
    )
  })
})

test('a request that is not answered in time is tried once more', async () => {
  const clock = createManualClock()
  const second: Answer = (seen, body, socket) => {
    const count = server?.seen.length ?? 0
    return count % 2 === 1 ? undefined : countingRegisters(seen, body, socket)
  }
  let server: ModbusServer | undefined
  await stage(
    second,
    async (stage) => {
      server = stage.server
      const answer = stage.read(9)
      await server.until(1)
      clock.advance(modbusTimeout)
      assert.deepEqual(await answer, values(9))
      const own = stage.read(9, { timeout: 700 })
      await server.until(3)
      clock.advance(699)
      assert.equal(server.seen.length, 3)
      clock.advance(1)
      assert.deepEqual(await own, values(9))
      assert.equal(server.connections.length, 1)
    },
    clock,
  )
})

test('an answer that has come while the host was paused is heard, and nothing is asked again', async () => {
  const clock = createManualClock()
  const asked: Answer = (...seen) => {
    clock.pause(60_000)
    clock.advance(0)
    return countingRegisters(...seen)
  }
  await stage(
    asked,
    async ({ server, read }) => {
      assert.deepEqual(await read(9), values(9))
      assert.equal(server.seen.length, 1)
    },
    clock,
  )
})

test('after two attempts in vain it is an error, and the next request has a new connection', async () => {
  const clock = createManualClock()
  const silentFirst: Answer = (seen, body, socket) =>
    seen.connection === 1 ? undefined : countingRegisters(seen, body, socket)
  await stage(
    silentFirst,
    async ({ server, read }) => {
      const [first, next] = [read(1), read(2)]
      await server.until(1)
      clock.advance(modbusTimeout)
      await server.until(2)
      clock.advance(modbusTimeout)
      assert.deepEqual(await first, {
        ok: false,
        message: `timeout after 5000 ms (127.0.0.1:${server.port})`,
      })
      assert.deepEqual(await next, values(2))
      assert.deepEqual(
        server.seen.map(({ connection }) => connection),
        [1, 1, 2],
      )
    },
    clock,
  )
})

test('an answer that comes too late is not taken for the answer to the next request', async () => {
  const clock = createManualClock()
  const late: Answer = (_seen, body, socket) => {
    if (server?.seen.length === 1) return undefined
    // First the answer to the attempt before, then the one to this.
    socket.write(framed(1, 1, registersAnswer(3, [666])))
    return registersAnswer(3, [body.readUInt16BE(1)])
  }
  let server: ModbusServer | undefined
  await stage(
    late,
    async (stage) => {
      server = stage.server
      const answer = stage.read(5)
      await server.until(1)
      clock.advance(modbusTimeout)
      assert.deepEqual(await answer, values(5))
    },
    clock,
  )
})

test('a device that answers with numbers of its own is told apart from one that says nothing', async (t) => {
  let client: Socket | undefined
  const note = (message: unknown): void => void (client = (message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  t.after(() => unsubscribe('net.client.socket', note))
  const clock = createManualClock()
  const ownNumbers: Answer = (_seen, _body, socket) => {
    socket.write(framed(0, 1, registersAnswer(3, [7])))
    return undefined
  }
  await stage(
    ownNumbers,
    async ({ server, read }) => {
      const answer = read(5)
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        await server.until(attempt)
        while ((client?.bytesRead ?? 0) < attempt * 11) await new Promise(setImmediate)
        clock.advance(modbusTimeout)
      }
      assert.deepEqual(await answer, {
        ok: false,
        message: `timeout after 5000 ms: what was answered has the number of another question (127.0.0.1:${server.port})`,
      })
    },
    clock,
  )
})

test('a device that sends without end what nobody asked for loses its connection, and is asked again on another', async () => {
  const talkative: Answer = (seen, body, socket) => {
    const strays = seen.connection === 1 ? body.readUInt16BE(1) : 0
    socket.write(
      Buffer.concat(Array.from({ length: strays }, () => framed(0xffff, 1, registersAnswer(3, [7])))),
    )
    return countingRegisters(seen, body, socket)
  }
  await stage(talkative, async ({ server, read }) => {
    const message = 'what answers has sent more than 1000 telegrams that nobody asked for'
    assert.deepEqual(await read(1_000), values(1_000))
    assert.deepEqual(await read(1_001), { ok: false, message })
    assert.deepEqual(await read(1_001), values(1_001))
    assert.equal(server.connections.length, 2)
  })
})

test('a gateway that is not there is an error at once, and is found when it is back', async (context) => {
  await stage(countingRegisters, async ({ server, gateways }) => {
    const gone = await startModbusServer(countingRegisters)
    await gone.close()
    const ask = (port: number) =>
      gateways.request(
        '@test/probe',
        { host: '127.0.0.1', port, unit: 1, fc: 3, address: 1, quantity: 1 },
        never,
      )
    assert.deepEqual(await ask(gone.port), {
      ok: false,
      message: `connection refused by 127.0.0.1:${gone.port} (ECONNREFUSED)`,
    })
    assert.deepEqual(await ask(server.port), values(1))
    const back = createServer((socket) =>
      socket.on('data', (data) => socket.write(framed(data.readUInt16BE(0), 1, registersAnswer(3, [7])))),
    )
    context.after(() => void back.close())
    await new Promise<void>((resolve) => back.listen(gone.port, '127.0.0.1', resolve))
    assert.deepEqual(await ask(gone.port), values(7))
    await gateways.close()
    await new Promise((resolve) => back.close(resolve))
  })
})

test('a connection that the gateway has closed is opened again', async () => {
  await stage(countingRegisters, async ({ server, read }) => {
    await read(1)
    const closed = new Promise((resolve) => server.connections[0]?.once('close', resolve))
    server.connections[0]?.end()
    await closed
    assert.deepEqual(await read(2), values(2))
    assert.equal(server.connections.length, 2)
  })
})

test('a connection that breaks under a request is opened once more for it, if it had worked before', async () => {
  const rude: Answer = (seen, body, socket) => {
    if (body.readUInt16BE(1) !== 13 || seen.connection === 2) return countingRegisters(seen, body, socket)
    socket.destroy()
    return undefined
  }
  await stage(rude, async ({ server, read }) => {
    assert.deepEqual(await read(1), values(1))
    assert.deepEqual(await read(13), values(13))
    assert.equal(server.connections.length, 2)
    server.connections[1]?.destroy()
    const broken = await read(13)
    assert.match(broken.ok ? '' : broken.message, /closed before the answer/)
    assert.equal(server.connections.length, 3)
  })
  await stage(rude, async ({ server, read }) => {
    assert.equal((await read(13)).ok, false)
    assert.equal(server.connections.length, 1, 'one that has never answered is not asked again')
  })
})

test('a connection that is reset under a request is opened once more for it, if that one had worked before', async (t) => {
  const clients: Socket[] = []
  const note = (message: unknown): void => void clients.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  t.after(() => unsubscribe('net.client.socket', note))
  const resetting: Answer = (seen, body, socket) => {
    if (body.readUInt16BE(1) !== 13 || seen.connection === 2) return countingRegisters(seen, body, socket)
    socket.resetAndDestroy()
    return undefined
  }
  await stage(resetting, async ({ server, read }) => {
    assert.deepEqual(await read(1), values(1))
    assert.deepEqual(await read(13), values(13))
    assert.equal(server.connections.length, 2)
    // Once that one has gone, the next is a new one that has never answered.
    const gone = new Promise((resolve) => clients[1]?.once('close', resolve))
    server.connections[1]?.destroy()
    await gone
    assert.deepEqual(await read(13), {
      ok: false,
      message: `the connection was closed before the answer came (127.0.0.1:${server.port})`,
    })
    assert.equal(server.connections.length, 3)
  })
})

test('what answers but does not speak Modbus is an error, and nothing breaks', async () => {
  const garbage: (Buffer | undefined)[] = [
    Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    framed(2, 1, Buffer.alloc(300)),
    framed(3, 1, registersAnswer(4, [1])),
    framed(4, 1, registersAnswer(3, [1, 2])),
    framed(5, 1, Buffer.from([3, 2, 0])),
    Buffer.from([0, 6, 0, 0, 0, 1, 1]),
  ]
  const answer: Answer = (_seen, _body, socket) => {
    const bytes = garbage.shift()
    if (bytes === undefined) return registersAnswer(3, [42])
    socket.write(bytes)
    return undefined
  }
  await stage(answer, async ({ read }) => {
    const told = []
    for (let count = 0; count < 7; count += 1) {
      const said = await read(1)
      told.push(said.ok ? said.values : said.message)
    }
    assert.deepEqual(told, [
      'what answers does not speak Modbus TCP',
      'what answers does not speak Modbus TCP',
      'the answer is to another function than was asked for',
      'the answer has another length than was asked for',
      'the answer has another length than was asked for',
      'what answers does not speak Modbus TCP',
      [42],
    ])
  })
})

test('an answer that comes in pieces is put together', async () => {
  const pieces: Answer = (_seen, _body, socket) => {
    const bytes = framed(1, 1, registersAnswer(3, [513]))
    socket.setNoDelay(true)
    const next = (index: number): void => {
      if (index >= bytes.length) return
      socket.write(bytes.subarray(index, index + 1), () => setImmediate(next, index + 1))
    }
    next(0)
    return undefined
  }
  await stage(pieces, async ({ read }) => assert.deepEqual(await read(0), values(513)))
})

test('a gateway that does not take a connection has none under way once its time is over', async (t) => {
  const sockets: Socket[] = []
  const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  t.after(() => unsubscribe('net.client.socket', note))
  const clock = createManualClock()
  // A name server that says nothing is as good as a gateway that is switched off.
  const silent = createOwnListeners({ ports: () => [], lookup: () => undefined })
  const gateways = createModbusGateways({ clock, own: silent })
  t.after(() => gateways.close())
  for (const over of [{}, { rtu: true as const }])
    for (let count = 0; count < 3; count += 1) {
      const place = { host: 'off.example', port: 502, ...over }
      const answer = gateways.request(
        '@test/probe',
        { ...place, unit: 1, fc: 3, address: 0, quantity: 1, timeout: 100 },
        never,
      )
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await new Promise(setImmediate)
        clock.advance(100)
      }
      assert.match(JSON.stringify(await answer), /timeout after 100 ms/)
    }
  assert.ok(sockets.length >= 6)
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    sockets.map(() => true),
  )
})

test('an unused connection is closed after five minutes', async () => {
  const clock = createManualClock()
  await stage(
    countingRegisters,
    async ({ server, read }) => {
      await read(1)
      clock.advance(idleTimeout - 1)
      await read(2)
      assert.equal(server.connections.length, 1)
      const closed = new Promise((resolve) => server.connections[0]?.once('close', resolve))
      clock.advance(idleTimeout)
      await closed
      assert.equal(clock.waiting, 0)
      assert.deepEqual(await read(3), values(3))
      assert.equal(server.connections.length, 2)
    },
    clock,
  )
})

test('a connection is closed when the last plugin that has used it is unloaded, also while it is asked', async () => {
  const clock = createManualClock()
  await stage(
    countingRegisters,
    async ({ server, gateways, read }) => {
      const request = {
        host: '127.0.0.1',
        port: server.port,
        unit: 1,
        fc: 3,
        address: 4,
        quantity: 1,
      } as const
      await read(1)
      await gateways.request('@test/other', request, never)
      gateways.forget('@test/probe')
      assert.deepEqual(await gateways.request('@test/other', request, never), values(4))
      assert.equal(server.connections.length, 1, 'the other one still has it')
      const closed = new Promise((resolve) => server.connections[0]?.once('close', resolve))
      gateways.forget('@test/other')
      await closed
      assert.equal(clock.waiting, 0)
      const last = read(2)
      await server.until(4)
      const closedToo = new Promise((resolve) => server.connections[1]?.once('close', resolve))
      gateways.forget('@test/probe')
      await last
      await closedToo
    },
    clock,
  )
})

test('a device that does not answer has its connection no longer than the plugin that asks it', async () => {
  const clock = createManualClock()
  await stage(
    (seen, body, socket) => (seen.connection === 1 ? undefined : countingRegisters(seen, body, socket)),
    async ({ server, gateways, read }) => {
      const unloading = new AbortController()
      const answers = [1, 2].map((address) =>
        gateways.request(
          '@test/probe',
          { host: '127.0.0.1', port: server.port, unit: 1, fc: 3, address, quantity: 1, timeout: 60_000 },
          unloading.signal,
        ),
      )
      await server.until(1)
      unloading.abort()
      gateways.forget('@test/probe')
      let isOver = false
      void Promise.all(answers).then(() => {
        isOver = true
      })
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
      assert.deepEqual([isOver, clock.waiting], [true, 0])
      // Loaded again at once, it asks as if nothing had been.
      assert.deepEqual(await read(3), values(3))
      assert.deepEqual(
        server.seen.map(({ connection }) => connection),
        [1, 2],
      )
    },
    clock,
  )
})

test('a request that waits is never sent once nobody waits for it', async () => {
  let reply = (): void => undefined
  const hold: Answer = (_seen, _body, socket) => {
    reply = () => socket.write(framed(1, 1, registersAnswer(3, [1])))
    return undefined
  }
  await stage(hold, async ({ server, gateways, read }) => {
    const first = read(1)
    const cancel = new AbortController()
    const second = gateways.request(
      '@test/probe',
      { host: '127.0.0.1', port: server.port, unit: 1, fc: 6, address: 2, values: [1] },
      cancel.signal,
    )
    await server.until(1)
    cancel.abort()
    reply()
    assert.deepEqual(await first, values(1))
    assert.deepEqual(await second, { ok: false, message: 'the request was cancelled' })
    assert.equal(server.seen.length, 1)
  })
})

test('more waiting requests than a plugin may have are refused', async () => {
  await stage(
    () => undefined,
    async ({ server, gateways, read }) => {
      const answers = Array.from({ length: waitingRequestsLimit + 2 }, (_, index) => read(index))
      assert.deepEqual(await answers.at(-1), {
        ok: false,
        message: `too many requests are waiting for 127.0.0.1:${server.port}: at most 500`,
      })
      await gateways.close()
      for (const answer of await Promise.all(answers)) assert.equal(answer.ok, false)
    },
  )
})

test('a request that is refused since too many wait is never sent', async () => {
  await stage(countingRegisters, async ({ server, read }) => {
    const answers = await Promise.all(
      Array.from({ length: waitingRequestsLimit + 2 }, (_, index) => read(index)),
    )
    assert.equal(answers.at(-1)?.ok, false)
    await read(7)
    assert.equal(server.seen.length, answers.filter(({ ok }) => ok).length + 1)
  })
})

test('closing ends the connections, and every request has its answer', async () => {
  const clock = createManualClock()
  await stage(
    () => undefined,
    async ({ server, gateways, read }) => {
      const answers = [read(1), read(2)]
      await server.until(1)
      const closed = new Promise((resolve) => server.connections[0]?.once('close', resolve))
      await gateways.close()
      await closed
      for (const answer of await Promise.all(answers)) assert.equal(answer.ok, false)
      assert.deepEqual(await read(3), { ok: false, message: 'the request was cancelled' })
      assert.equal(clock.waiting, 0)
      assert.equal(server.connections.length, 1)
    },
    clock,
  )
})

test('a plugin does not take the gateways of others, and may use its own as before', async () => {
  const servers = await Promise.all([
    startModbusServer(() => undefined),
    startModbusServer(countingRegisters),
  ])
  const [silent, talking] = servers
  const gateways = createModbusGateways({
    clock: createManualClock(),
    // Every name is this machine.
    own: { ...own, connect: (options) => own.connect({ ...options, host: '127.0.0.1' }) },
  })
  const ending = new AbortController()
  try {
    const read = (plugin: string, number: number, port: number): Promise<ModbusAnswer> =>
      gateways.request(
        plugin,
        { host: `gateway-${number}.example`, port, unit: 1, fc: 3, address: 1, quantity: 1 },
        ending.signal,
      )
    const numbers = Array.from({ length: gatewayLimit }, (_, index) => index)
    const kept = numbers
      .slice(0, pluginGatewayLimit)
      .map((number) => read('@evil/greedy', number, silent.port))
    const refused = await Promise.all(
      numbers.slice(pluginGatewayLimit).map((number) => read('@evil/greedy', number, silent.port)),
    )
    assert.deepEqual(
      [...new Set(refused.map((answer) => (answer.ok ? 'taken' : answer.message)))],
      [`too many gateways: a plugin may keep ${pluginGatewayLimit} busy at one time`],
    )
    kept.push(read('@evil/greedy', 0, silent.port))
    assert.deepEqual(await read('@home/meter', 1, talking.port), values(1))
    const oneMore = await read('@evil/greedy', 1, talking.port)
    assert.match(oneMore.ok ? 'taken' : oneMore.message, /^too many gateways: a plugin may keep/)
    await gateways.close()
    const ends = (await Promise.all(kept)).map((answer) => (answer.ok ? 'taken' : answer.message))
    assert.equal(ends.length, pluginGatewayLimit + 1)
    assert.deepEqual(
      ends.filter((message) => message.startsWith('too many')),
      [],
    )
  } finally {
    await gateways.close()
    for (const server of servers) await server.close()
  }
})

test('an unused connection makes room for another gateway, and one more than all that are asked is refused', async () => {
  let holds = false
  const server = await startModbusServer((seen, body, socket) =>
    holds ? undefined : countingRegisters(seen, body, socket),
  )
  const clock = createManualClock()
  const gateways = createModbusGateways({
    clock,
    // Every name is this machine.
    own: { ...own, connect: (options) => own.connect({ ...options, host: '127.0.0.1' }) },
  })
  const read = (number: number): Promise<ModbusAnswer> =>
    gateways.request(
      `@home/meter-${number % 5}`,
      { host: `gateway-${number}.example`, port: server.port, unit: 1, fc: 3, address: 1, quantity: 1 },
      never,
    )
  try {
    for (let number = 0; number < gatewayLimit; number += 1) assert.deepEqual(await read(number), values(1))
    assert.equal(clock.waiting, gatewayLimit)
    const closed = new Promise((resolve) => server.connections[0]?.once('close', resolve))
    assert.deepEqual(await read(gatewayLimit), values(1))
    await closed
    assert.equal(clock.waiting, gatewayLimit)
    holds = true
    const held = Array.from({ length: gatewayLimit }, (_, number) => read(number))
    assert.deepEqual(await read(gatewayLimit), {
      ok: false,
      message: `too many gateways: at most ${gatewayLimit} at one time`,
    })
    await gateways.close()
    assert.ok((await Promise.all(held)).every(({ ok }) => !ok))
  } finally {
    await gateways.close()
    await server.close()
  }
})
