import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { type StarterPlugin, startStarterPlugin } from '../../test/helpers/starter-plugin.ts'
import {
  type ModbusServer,
  registersAnswer,
  startModbusServer,
} from '../../test/outside/modbus/modbus-server.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

interface Stage {
  meter: ModbusServer
  plugin: StarterPlugin
  /** What the device holds, by address; what it does not hold it refuses. */
  words: Map<number, number>
  /** Number of a device that answers nothing else than that it is broken. */
  faulty?: number
  sensor(id: string, wanted: (value: unknown) => boolean): Promise<unknown>
  status(wanted: (status: any) => boolean): Promise<any>
}

async function start(
  context: TestContext,
  words: [number, number][],
  registers: Json,
  config: Record<string, Json> = {},
): Promise<Stage> {
  const stage = { words: new Map(words) } as Stage
  stage.meter = await startModbusServer(({ unit }, body) => {
    const [fc = 0] = body
    if (stage.faulty === unit) return Buffer.from([fc | 0x80, 4])
    const [address, quantity] = [body.readUInt16BE(1), body.readUInt16BE(3)]
    const held = Array.from({ length: quantity }, (_, index) => stage.words.get(address + index))
    if (held.includes(undefined)) return Buffer.from([fc | 0x80, 2])
    if (fc <= 2)
      return Buffer.from([fc, 1, held.reduce<number>((sum, bit = 0, index) => sum | (bit << index), 0)])
    return registersAnswer(fc, held as number[])
  })
  context.after(() => stage.meter.close())
  const all = { host: '127.0.0.1', port: stage.meter.port, registers, ...config }
  stage.plugin = await startStarterPlugin('modbus-meter', all)
  context.after(() => stage.plugin.close())
  const waitFor = async (topic: string, wanted: (value: unknown) => boolean): Promise<unknown> => {
    const inbox = await stage.plugin.listen(`${stage.plugin.topic}/${topic}`)
    for (;;) {
      const value = await inbox.nextValue()
      if (wanted(value)) return value
    }
  }
  stage.sensor = (id, wanted) => waitFor(`sensors/${id}`, wanted)
  stage.status = (wanted) => waitFor('objects/status', wanted)
  return stage
}

test('every type of value becomes a sensor, and neighbours one request', { timeout }, async (context) => {
  const stage = await start(
    context,
    [
      [0, 0x41ac],
      [1, 0],
      [2, 0xfffe],
      [3, 0xffff],
      [4, 0xffff],
      [5, 0xfff6],
      [6, 1],
      [7, 2],
      [20, 1],
      [21, 0],
      [22, 0x7fc0],
      [23, 0],
    ],
    [
      'power = input 0 float32 unit=W',
      'swapped = input 2 int32 swap',
      'temperature = input 5 int16 scale=0.1 unit=°C',
      'energy = input 6 uint32 scale=0.01 round=1',
      'high = input 4',
      'pump = coil 20',
      'valve = discrete 21',
      'nothing = holding 22 float32',
    ].join('\n'),
  )
  await stage.status(({ ok }) => ok === true)
  await stage.sensor('power', (value) => value === 21.5)
  await stage.sensor('valve', (value) => value === false)
  assert.deepEqual(await stage.plugin.sensors(), {
    power: 21.5,
    swapped: -2,
    temperature: -1,
    energy: 655.4,
    high: 65535,
    pump: true,
    valve: false,
    nothing: null,
  })
  assert.deepEqual(stage.meter.seen.map(({ body }) => body).sort(), [
    '0100140001',
    '0200150001',
    '0300160002',
    '0400000008',
  ])
  assert.equal(stage.meter.connections.length, 1)
})

test(
  'what is counted up is that for Home Assistant, and all else with a unit is measured',
  { timeout },
  async (context) => {
    const registers = [
      { id: 'energy', kind: 'input', address: 0, unit: 'kWh', class: 'energy' },
      { id: 'power', kind: 'input', address: 2, unit: 'W' },
      { id: 'state', kind: 'input', address: 4 },
    ]
    const home = { discoveryPrefix: 'homeassistant' }
    const plugin = await startStarterPlugin('modbus-meter', { host: '127.0.0.1', port: 9, registers }, home)
    context.after(() => plugin.close())
    const inbox = await plugin.listen('homeassistant/device/+/config')
    const { cmps } = (await inbox.nextValue()) as { cmps: Record<string, Record<string, unknown>> }
    const classes = Object.values(cmps).map((shown) => [shown['name'], shown['state_class']])
    assert.deepEqual(Object.fromEntries(classes.slice(0, 3)), {
      energy: 'total_increasing',
      power: 'measurement',
      state: undefined,
    })
  },
)

test('a change is told, with the value before', { timeout }, async (context) => {
  const stage = await start(context, [[7, 10]], 'a = holding 7; b = holding 7 scale=0')
  await stage.sensor('b', (value) => value === 0)
  const events = await stage.plugin.listen(`${stage.plugin.topic}/events/#`)
  stage.words.set(7, 11)
  assert.equal((await stage.plugin.setControl('refresh', true)).status, 200)
  assert.deepEqual(await events.nextValue(), { id: 'a', value: 11, previous: 10 })
})

test('what the device refuses is told once, and the other values are read', { timeout }, async (context) => {
  const stage = await start(context, [[1, 5]], 'a = input 1\nb = input 100 device=9')
  const { first } = await stage.status(({ ok }) => !ok)
  assert.equal(first, 'unit 9, input 100: modbus exception 2: illegal data address')
  assert.equal((await stage.plugin.sensors()).a, 5)
  assert.deepEqual(stage.meter.seen.map(({ unit, body }) => `${unit} ${body}`).sort(), [
    '1 0400010001',
    '9 0400640001',
  ])
  await stage.plugin.setControl('refresh', true)
  stage.words.set(100, 7)
  await stage.plugin.setControl('refresh', true)
  await stage.status(({ ok }) => ok)
  assert.deepEqual(await stage.plugin.logs('warn'), [first])
})

test(
  'of two devices with the same registers behind a gateway the one that fails is told of, once, however the other one is',
  { timeout },
  async (context) => {
    const stage = await start(context, [[1, 5]], 'a = input 1 device=2\nb = input 1 device=3')
    await stage.status(({ ok }) => ok)
    stage.faulty = 2
    const problem = 'unit 2, input 1: modbus exception 4: server device failure'
    for (let reading = 0; reading < 2; reading += 1) {
      const { meter } = stage
      const read = meter.until(meter.seen.length + 2)
      await stage.plugin.setControl('refresh', true)
      await read
    }
    assert.equal((await stage.status(({ ok }) => !ok)).first, problem)
    assert.deepEqual(await stage.plugin.logs('warn'), [problem])
  },
)

test('a device that is not there is in the status', { timeout }, async (context) => {
  const gone = await startModbusServer(() => undefined)
  await gone.close()
  const stage = await start(context, [], 'a = input 1', { port: gone.port })
  const { first } = await stage.status(({ ok }) => !ok)
  assert.match(first, /^input 1: connection refused by 127\.0\.0\.1:\d+/)
})

test(
  'a row that cannot be used is an error in the log, and the others work',
  { timeout },
  async (context) => {
    const registers = [
      { id: 'a', kind: 'input', address: 1 },
      { id: 'a', kind: 'input', address: 2 },
    ]
    const stage = await start(context, [[1, 5]], registers)
    await stage.sensor('a', (value) => value === 5)
    assert.deepEqual(await stage.plugin.logs('error'), ["row 2: the id 'a' is there twice"])
  },
)
