import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createModbusGateways, modbusTimeout } from '../../../src/outside/modbus/modbus-gateways.ts'
import { createLateAnswers, lateAnswerTime } from '../../../src/outside/modbus/modbus-late-answers.ts'
import { createRtuLink, withChecksum } from '../../../src/outside/modbus/modbus-rtu-link.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import type { ModbusRequest } from '../../../src/schema/outside/outside.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const read = (port: number, address: number, more = {}): ModbusRequest => ({
  ...{ host: '127.0.0.1', port, rtu: true, unit: 1, fc: 3, address, quantity: 1 },
  ...more,
})

/** A device behind a converter; what it does with each telegram is the test's. Each register has its address as value. */
async function serve(t: TestContext, heard: (answer: Buffer, socket: Socket) => void) {
  const asked: number[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      // A connection that was slow may bring several at once.
      for (let at = 0; at + 8 <= chunk.length; at += 8) {
        const [unit = 0, fc = 0] = chunk.subarray(at)
        const address = chunk.readUInt16BE(at + 2)
        asked.push(address)
        const value = [address >> 8, address & 0xff]
        heard(Buffer.from(withChecksum(Buffer.from([unit, fc, 2, ...value]))), socket)
      }
    })
  })
  const port = await listen(server)
  const clock = createManualClock()
  const gateways = createModbusGateways({ clock, own: createOwnListeners({ ports: () => [] }) })
  t.after(async () => {
    await gateways.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    ...{ asked, clock },
    ask: (address: number, more = {}) =>
      gateways.request('@test/probe', read(port, address, more), new AbortController().signal),
    forget: () => gateways.forget('@test/probe'),
    async until(count: number) {
      while (asked.length < count) await turn()
    },
    /** The time goes on as far as it takes. */
    async answered<T>(answer: Promise<T>): Promise<T> {
      let isThere = false
      void answer.then(() => {
        isThere = true
      })
      while (!isThere) {
        clock.advance(1)
        await turn()
      }
      return answer
    },
  }
}

test('an answer after a second attempt may be that to the first: the other one may come for a second from then on', () => {
  let now = 0
  const late = createLateAnswers(() => now)
  const [first, other, third] = [read(502, 100), read(502, 101), read(502, 102)]
  const mistakableAt = (milliseconds: number) => {
    now = milliseconds
    return late.mistakable(third)?.request
  }
  late.expect(first)
  late.expect(other)
  now = 900
  late.answered(first)
  assert.equal(mistakableAt(999), first)
  assert.equal(late.mistakable(first)?.request, other)
  assert.equal(mistakableAt(1_000), first)
  assert.equal(late.mistakable(first), undefined)
  assert.deepEqual([mistakableAt(1_899), mistakableAt(1_900)], [first, undefined])
})

test('Modbus RTU: a late answer to the first attempt is not taken for that of the next question', async (t) => {
  const answers: Buffer[] = []
  let line: Socket | undefined
  const device = await serve(t, (answer, socket) => {
    line = socket
    answers.push(answer)
    // It is late with the first telegram, and answers the second one as well: later, or before the third.
    if (device.asked.length === 2) socket.write(answers.shift() ?? '')
    else if (device.asked.length > 2) socket.write(Buffer.concat(answers.splice(0)))
  })
  const first = device.ask(100)
  const others = Promise.all([101, 102].map((address) => device.ask(address)))
  await device.until(1)
  device.clock.advance(modbusTimeout)
  assert.deepEqual(await first, { ok: true, values: [100] })
  for (let passed = 0; passed < 10; passed += 1) {
    device.clock.advance(1)
    await turn()
  }
  line?.write(Buffer.concat(answers.splice(0)))
  const begun = device.clock.monotonic()
  assert.deepEqual(await device.answered(others), [
    { ok: true, values: [101] },
    { ok: true, values: [102] },
  ])
  assert.ok(device.clock.monotonic() - begun < lateAnswerTime)
  assert.deepEqual(device.asked, [100, 100, 101, 102])
})

for (const [title, timeout] of [
  ['under way', 60_000],
  ['given up just before', 100],
] as const)
  test(`Modbus RTU: the answer to a question that was ${title} when its plugin was unloaded is not taken for that to the next`, async (t) => {
    let line: Socket | undefined
    const device = await serve(t, (answer, socket) => {
      line = socket
      // Whoever has the line by then gets it.
      device.clock.schedule(500, () => line?.write(answer))
    })
    const first = device.ask(100, { timeout })
    await device.until(1)
    if (timeout < 500) assert.equal((await device.answered(first)).ok, false)
    device.forget()
    assert.equal((await first).ok, false)
    assert.deepEqual(await device.answered(device.ask(101)), { ok: true, values: [101] })
    assert.deepEqual(await device.answered(device.ask(102)), { ok: true, values: [102] })
    // What was answered before is not waited for.
    device.forget()
    const begun = device.clock.monotonic()
    assert.deepEqual(await device.answered(device.ask(103)), { ok: true, values: [103] })
    assert.ok(device.clock.monotonic() - begun < lateAnswerTime)
  })

test('Modbus RTU: after an answer that was late the one to the second attempt is waited for as long', async (t) => {
  const answers: Buffer[] = []
  let line: Socket | undefined
  const device = await serve(t, (answer, socket) => {
    line = socket
    if (device.asked.length > 2 && answers.length === 0) socket.write(answer)
    else answers.push(answer)
  })
  const first = device.ask(100)
  await device.until(1)
  device.clock.advance(modbusTimeout)
  await device.until(2)
  device.clock.advance(lateAnswerTime - 100)
  line?.write(answers.shift() ?? '')
  assert.deepEqual(await first, { ok: true, values: [100] })
  const second = device.ask(101)
  // Counted from the first attempt alone the time would be over.
  device.clock.advance(lateAnswerTime / 2)
  for (let turns = 0; turns < 10; turns += 1) await turn()
  line?.write(answers.shift() ?? '')
  assert.deepEqual(await device.answered(second), { ok: true, values: [101] })
})

test('Modbus RTU: what no late answer can be taken for is asked at once, the rest after a second', async (t) => {
  const device = await serve(t, (answer, socket) => {
    if (device.asked.length > 1) socket.write(answer)
  })
  const first = device.ask(100)
  await device.until(1)
  device.clock.advance(modbusTimeout)
  assert.deepEqual(await first, { ok: true, values: [100] })
  const begun = device.clock.monotonic()
  const elapsed = (): number => device.clock.monotonic() - begun
  assert.deepEqual(await device.answered(device.ask(7, { unit: 2 })), { ok: true, values: [7] })
  assert.deepEqual(await device.answered(device.ask(8, { fc: 4 })), { ok: true, values: [8] })
  assert.ok(elapsed() < lateAnswerTime, `${elapsed()} ms`)
  // The time of an attempt begins when it may be asked.
  assert.deepEqual(await device.answered(device.ask(9, { timeout: 100 })), { ok: true, values: [9] })
  assert.ok(elapsed() >= lateAnswerTime, `${elapsed()} ms`)
})

test('Modbus RTU: what a line says twice is not taken for the answer to a question that has not been sent yet', async (t) => {
  let client: Socket | undefined
  const note = (message: unknown): void => void (client = (message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  t.after(() => unsubscribe('net.client.socket', note))
  let repeat = (): void => undefined
  const device = await serve(t, (answer, socket) => {
    socket.write(answer)
    repeat = () => void socket.write(answer)
  })
  assert.deepEqual(await device.ask(100), { ok: true, values: [100] })
  const next = device.ask(101)
  repeat()
  while ((client?.bytesRead ?? 0) < 14) await turn()
  assert.deepEqual(await device.answered(next), { ok: true, values: [101] })
  assert.deepEqual(device.asked, [100, 101])
})

test('Modbus RTU: a connection that breaks under a question is opened once more for it, if it had worked before', async (t) => {
  const breaks = new Set([2, 4, 5, 6])
  const device = await serve(t, (answer, socket) => {
    if (breaks.has(device.asked.length)) socket.destroy()
    else socket.write(answer)
  })
  assert.deepEqual(await device.answered(device.ask(100)), { ok: true, values: [100] })
  assert.deepEqual(await device.answered(device.ask(101)), { ok: true, values: [101] })
  for (const address of [102, 103]) {
    const answer = await device.answered(device.ask(address))
    assert.match(answer.ok ? '' : answer.message, /^the connection was closed before the answer came/)
  }
  // The last one broke a connection that had not answered anything.
  assert.deepEqual(device.asked, [100, 101, 101, 102, 102, 103])
  assert.deepEqual(await device.answered(device.ask(104)), { ok: true, values: [104] })
})

test('Modbus RTU: an answer that has come while the host was paused is heard, and nothing is asked again', async (t) => {
  const device = await serve(t, (answer, socket) => {
    device.clock.pause(60_000)
    device.clock.advance(0)
    socket.write(answer)
  })
  assert.deepEqual(await device.answered(device.ask(100)), { ok: true, values: [100] })
  assert.deepEqual(device.asked, [100])
})

test('Modbus RTU: a late answer that has come while the host was paused is not taken for that of the next question', async (t) => {
  const answers: Buffer[] = []
  let line: Socket | undefined
  const device = await serve(t, (answer, socket) => {
    line = socket
    // It is late with the first telegram, and later with the second.
    if (device.asked.length === 1) answers.push(answer)
    else socket.write(answer)
  })
  const first = device.ask(100)
  await device.until(1)
  device.clock.advance(modbusTimeout)
  assert.deepEqual(await first, { ok: true, values: [100] })
  const next = device.ask(101)
  device.clock.pause(60_000)
  line?.write(answers[0] ?? '')
  device.clock.advance(0)
  assert.deepEqual(await device.answered(next), { ok: true, values: [101] })
  assert.deepEqual(device.asked, [100, 100, 101])
})

test('Modbus RTU: a question that waited for its connection in vain is not sent together with the next attempt', async (t) => {
  const sent: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      sent.push(chunk)
      socket.end(withChecksum(Buffer.from([1, 3, 2, 0, 5])))
    })
  })
  const port = await listen(server)
  t.after(() => server.close())
  const clock = createManualClock()
  let isUp: (socket: Socket) => void = () => undefined
  const link = createRtuLink<Socket>({
    ...{ clock, rest: 2, late: createLateAnswers(clock.monotonic) },
    open: () =>
      new Promise((resolve) => {
        isUp = resolve
      }),
    shut: (socket) => socket.destroy(),
  })
  const request = read(1, 5)
  const first = link.ask(request, 1_000)
  clock.advance(1_000)
  await assert.rejects(first, /timeout after 1000 ms/)
  const second = link.ask(request, 1_000)
  isUp(connect(port, '127.0.0.1'))
  assert.deepEqual(await second, [5])
  assert.equal(Buffer.concat(sent).length, 8)
})
