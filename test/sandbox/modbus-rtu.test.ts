import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { createModbusGateways } from '../../src/outside/modbus/modbus-gateways.ts'
import { answerTo, rtuTelegram, withChecksum } from '../../src/outside/modbus/modbus-rtu-link.ts'
import { createOwnListeners } from '../../src/outside/own-listeners.ts'
import type { ModbusAnswer, ModbusRequest } from '../../src/schema/outside/outside.ts'
import { listen } from '../helpers/listen.ts'
import { createSerialPair } from '../helpers/serial-pair.ts'
import { printedBy } from './outside-stage.ts'
import { pluginSource } from './stage.ts'

/** A device: registers have their own addresses as values, address 999 is none, unit 9 never answers. */
function serveDevice(line: Duplex): string[] {
  const seen: string[] = []
  line.on('data', (telegram: Buffer) => {
    seen.push(telegram.toString('hex'))
    const [unit = 0, fc = 0] = telegram
    const address = telegram.readUInt16BE(2)
    if (unit === 9) return
    if (address === 999) line.write(withChecksum(Buffer.from([unit, fc | 0x80, 2])))
    else if (fc === 6 || fc === 16) line.write(withChecksum(telegram.subarray(0, 6)))
    else {
      const count = telegram.readUInt16BE(4)
      const answer = Buffer.alloc(3 + 2 * count)
      answer.set([unit, fc, 2 * count])
      for (let index = 0; index < count; index += 1) answer.writeUInt16BE(address + index, 3 + 2 * index)
      const whole = withChecksum(answer)
      // Noise in front, and the answer in two parts.
      line.write(Buffer.concat([Buffer.from([0]), whole.subarray(0, 4)]))
      setImmediate(() => line.write(whole.subarray(4)))
    }
  })
  return seen
}

const lua = (place: string): string => `
  local function at(options)
    for key, value in pairs(${place}) do options[key] = value end
    return options
  end
  local calls = {
    function(next) Modbus.readHolding(at { unit = 3, addr = 100, qty = 3 }, next) end,
    function(next) Modbus.readInput(at { addr = 999 }, next) end,
    function(next) Modbus.writeSingle(at { addr = 7, value = 0xBEEF }, next) end,
    function(next) Modbus.writeMultiple(at { addr = 8, values = { 1, 65535 } }, next) end,
    function(next) Modbus.readInput(at { unit = 9, addr = 1, timeout = 100 }, next) end,
    function(next) Modbus.readInput(at { addr = 5 }, next) end,
  }
  local function run(index)
    if calls[index] == nil then print("done") return end
    calls[index](function(registers, err)
      print(registers and table.concat(registers, ","), (err and err:gsub(" %(.*", "")))
      run(index + 1)
    end)
  end
  plugin:onInit(function() run(1) end)
`
const expected = [
  '100,101,102\tnil',
  'nil\tmodbus exception 2: illegal data address',
  '48879\tnil',
  '1,65535\tnil',
  'nil\ttimeout after 100 ms',
  '5\tnil',
]

test('§11 Modbus RTU on a serial port reads, writes, and tells what a device refuses', async (t) => {
  const { path, port } = await createSerialPair(t)
  const seen = serveDevice(port)
  const place = `{ port = { serial = "${path}", baudRate = 19200, parity = "even" } }`
  assert.deepEqual(await printedBy(pluginSource(lua(place))), expected)
  // The first one is an example of the specification's checksum; the silent device is asked twice.
  assert.equal(seen[0], '03030064000345f6')
  assert.equal(seen.length, 7)
})

test('§11 Modbus RTU over TCP is the same, for converters that pass on what is on the line', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    serveDevice(socket)
  })
  await listen(server)
  t.after(() => server.close())
  const place = `{ host = "127.0.0.1", port = ${(server.address() as AddressInfo).port}, framing = "rtu" }`
  assert.deepEqual(await printedBy(pluginSource(lua(place))), expected)
})

test('§11 a serial port that is not there, or that makes no sense, is told', async () => {
  const lines = await printedBy(
    pluginSource(`
      local left = 3
      local function try(name, port)
        Modbus.readInput({ port = port, addr = 1 }, function(_, err)
          print(name, err)
          left = left - 1
          if left == 0 then print("done") end
        end)
      end
      plugin:onInit(function()
        try("1", { serial = "/dev/not-there" })
        try("2", { baudRate = 9600 })
        try("3", { serial = "/dev/null" })
      end)
    `),
  )
  assert.deepEqual(lines.sort(), [
    '1\t/dev/not-there is not there',
    '2\tport.serial must be the path of a serial port',
    '3\t/dev/null is no serial port',
  ])
})

test('a plugin with other settings for a serial port takes it from nobody, and is told which are in use', async (t) => {
  const { path, port } = await createSerialPair(t)
  serveDevice(port)
  const gateways = createModbusGateways({ clock: systemClock, own: createOwnListeners({ ports: () => [] }) })
  t.after(() => gateways.close())
  const ask = (plugin: string, baudRate: number, unit = 1): Promise<ModbusAnswer> =>
    gateways.request(
      plugin,
      {
        ...{ host: '', port: 0, unit, fc: 3, address: 5, quantity: 1, timeout: unit === 9 ? 50 : 5_000 },
        serial: { path, baudRate, dataBits: 8, parity: 'none', stopBits: 1 },
      },
      new AbortController().signal,
    )
  const answered = { ok: true, values: [5] }
  const settings = `${path} (9600 8N1)`
  assert.deepEqual(await ask('@test/meters', 9_600), answered)
  // The port is closed after this, and free for whoever comes first.
  assert.deepEqual(await ask('@test/meters', 9_600, 9), {
    ok: false,
    message: `timeout after 50 ms (${settings})`,
  })
  assert.deepEqual(await ask('@test/pump', 19_200), {
    ok: false,
    message: `another plugin uses this port with other settings, as ${settings}`,
  })
  assert.deepEqual(await ask('@test/meters', 9_600), answered)
  gateways.forget('@test/meters')
  assert.deepEqual(await ask('@test/pump', 19_200), answered)
})

test('an answer is found by unit, function, length and checksum, and by nothing less', () => {
  const request: ModbusRequest = { host: 'a', port: 1, unit: 1, address: 0, fc: 3, quantity: 1 }
  // Modbus over serial line, as its guides have it: read one register of unit 1.
  assert.equal(Buffer.from(rtuTelegram(request)).toString('hex'), '010300000001840a')
  const answer = withChecksum(Buffer.from([1, 3, 2, 0x12, 0x34]))
  const bodyOf = (bytes: Uint8Array): string | undefined => {
    const answer = answerTo(request, bytes)
    return answer && Buffer.from(answer.body).toString('hex')
  }
  const broken = Buffer.from(answer)
  broken[3] = 0x13
  assert.deepEqual(
    [
      ...[bodyOf(answer), bodyOf(answer.subarray(0, -1)), bodyOf(broken)],
      ...[bodyOf(withChecksum(Buffer.from([2, 3, 2, 0, 0]))), bodyOf(Buffer.concat([broken, answer]))],
      bodyOf(withChecksum(Buffer.from([1, 0x83, 2]))),
    ],
    ['03021234', undefined, undefined, undefined, '03021234', '8302'],
  )
})
