import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networksOf } from '../../src/outside/networks.ts'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import {
  type Answer,
  countingRegisters,
  type ModbusServer,
  registersAnswer,
  startModbusServer,
} from '../outside/modbus/modbus-server.ts'
import { printedBy, withOutside, withServer } from './outside-stage.ts'
import { linesOf, pluginSource } from './stage.ts'

const withoutIPv6 = networksOf('IPv6').length === 0 && 'this machine has no network of IPv6'

const withGateway = (answer: Answer, use: (server: ModbusServer) => Promise<void>): Promise<void> =>
  withServer(startModbusServer(answer), use)

/** Lua that makes the calls one after another and prints what each callback gets, arrays with commas. */
function inTurn(port: number, calls: string[]): string {
  return `
    local function show(value) return type(value) == "table" and table.concat(value, ",") or tostring(value) end
    local function at(options) options.host = "127.0.0.1" options.port = ${port} return options end
    local calls = { ${calls.map((call) => `function(next) ${call} end`).join(', ')} }
    local function run(index)
      if calls[index] == nil then print("done") return end
      calls[index](function(registers, err) print(show(registers), show(err)) run(index + 1) end)
    end
    plugin:onInit(function() run(1) end)
  `
}

test('§11 Modbus is there with its constants, also when nothing is connected', async () => {
  const lines = await linesOf(
    pluginSource(`
      print(Modbus.READ_COILS, Modbus.READ_DISCRETE, Modbus.READ_HOLDING, Modbus.READ_INPUT)
      print(Modbus.WRITE_COIL, Modbus.WRITE_SINGLE, Modbus.WRITE_COILS, Modbus.WRITE_MULTIPLE)
      print(Modbus.isAvailable(), Modbus:isAvailable())
      local stats = Modbus.stats()
      print(stats.requests, stats.errors, Modbus.stats() ~= stats)
    `),
  )
  assert.deepEqual(lines, ['1\t2\t3\t4', '5\t6\t15\t16', 'true\ttrue', '0\t0\ttrue'])
})

test('§11 registers become numbers', async () => {
  const lines = await linesOf(
    pluginSource(`
      print(Modbus.toFloat32(0x41AC, 0), Modbus.toFloat32(0xC2F6, 0xE979) < -123.45, Modbus.toFloat32(0x7F80, 0))
      print(Modbus.toInt32(0xFFFF, 0xFFFE), Modbus.toInt32(0x7FFF, 0xFFFF), Modbus.toInt32(1, 0))
      print(Modbus.toUint32(0xFFFF, 0xFFFE), Modbus.toUint32(0, 1))
      print(Modbus.toInt16(65535), Modbus.toInt16(32767), Modbus.toInt16(32768))
      local registers = { 9, 0x41AC, 0, 0x3F80, 0 }
      print(Modbus.floatAt(registers, 2), Modbus.floatAt(registers, 4), Modbus.floatAt(registers, 5), Modbus.floatAt(nil, 1))
      print(Modbus:toFloat32(0x41AC, 0), Modbus:toInt16(65535))
      print(pcall(Modbus.toFloat32, nil, 1))
    `),
  )
  assert.deepEqual(lines, [
    '21.5\ttrue\tinf',
    '-2\t2147483647\t65536',
    '4294967294\t1',
    '-1\t32767\t-32768',
    '21.5\t1\tnil\tnil',
    '21.5\t-1',
    "false\tbad argument #1 to 'toFloat32' (number expected, got nil)",
  ])
})

test('§11 requests read and write, as functions and as methods', async () => {
  await withGateway(countingRegisters, async (server) => {
    const lines = await printedBy(
      pluginSource(
        inTurn(server.port, [
          'Modbus.request(at { unit = 3, fc = Modbus.READ_HOLDING, addr = 100, qty = 3 }, next)',
          'Modbus:request(at { fc = 4, addr = 65535, qty = 1 }, next)',
          'Modbus.readInput(at { unit = 1, addr = 10, qty = 2 }, next)',
          'Modbus.readHolding(at { unit = 1, addr = 20 }, next)',
          'Modbus.writeSingle(at { addr = 7, value = 0xBEEF }, next)',
          'Modbus.writeSingle(at { addr = 7, value = -2 }, next)',
          'Modbus.writeMultiple(at { addr = 8, values = { 1, 65535, 10 / 2 } }, next)',
          'Modbus.request(at { fc = Modbus.WRITE_COIL, addr = 1, value = true }, next)',
          'Modbus.request(at { fc = Modbus.WRITE_COIL, addr = 1, value = 0 }, next)',
          'Modbus.request(at { fc = Modbus.WRITE_COILS, addr = 2, values = { true, false, 1, 0 } }, next)',
        ]),
      ),
    )
    assert.deepEqual(lines, [
      '100,101,102\tnil',
      '65535\tnil',
      '10,11\tnil',
      '20\tnil',
      '48879\tnil',
      '65534\tnil',
      '1,65535,5\tnil',
      '1\tnil',
      '0\tnil',
      '1,0,1,0\tnil',
    ])
    assert.deepEqual(
      server.seen.map(({ unit, body }) => `${unit} ${body}`),
      [
        '3 0300640003',
        '1 04ffff0001',
        '1 04000a0002',
        '1 0300140001',
        '1 060007beef',
        '1 060007fffe',
        '1 1000080003060001ffff0005',
        '1 050001ff00',
        '1 0500010000',
        '1 0f000200040105',
      ],
    )
    assert.equal(server.connections.length, 1)
  })
})

test(
  '§11 an address of IPv6 is the same gateway with brackets and without',
  { skip: withoutIPv6 },
  async () => {
    await withGateway(countingRegisters, async (server) => {
      const read = (host: string): string =>
        `Modbus.readHolding({ host = "${host}", port = ${server.port}, addr = 5 }, next)`
      const lines = await printedBy(
        pluginSource(
          inTurn(server.port, [
            read('[::ffff:127.0.0.1]'),
            read('::ffff:127.0.0.1'),
            'Modbus.readHolding({ host = "[::1]", port = 1, addr = 5 }, next)',
          ]),
        ),
      )
      assert.deepEqual(lines, ['5\tnil', '5\tnil', 'nil\tconnection refused by [::1]:1 (ECONNREFUSED)'])
      assert.equal(server.connections.length, 1)
    })
  },
)

test('§11 coils and discrete inputs are read as 0 and 1', async () => {
  const bits: Answer = (_seen, body) => Buffer.from([body[0] ?? 0, 2, 0b01000101, 0b10])
  await withGateway(bits, async (server) => {
    const lines = await printedBy(
      pluginSource(
        inTurn(server.port, [
          'Modbus.request(at { fc = Modbus.READ_COILS, addr = 0, qty = 10 }, next)',
          'Modbus.request(at { fc = Modbus.READ_DISCRETE, addr = 0, qty = 9 }, next)',
        ]),
      ),
    )
    assert.deepEqual(lines, ['1,0,1,0,0,0,1,0,0,1\tnil', '1,0,1,0,0,0,1,0,0\tnil'])
  })
})

test('§11 an exception says what the device did not like, and is counted', async () => {
  await withGateway(
    (_seen, body) => Buffer.from([(body[0] ?? 0) | 0x80, 2]),
    async (server) => {
      const lines = await printedBy(
        pluginSource(
          inTurn(server.port, [
            'Modbus.readHolding(at { addr = 9, qty = 1 }, next)',
            'local stats = Modbus.stats() print(stats.requests, stats.errors) next(nil, nil)',
          ]),
        ),
      )
      assert.deepEqual(lines, ['nil\tmodbus exception 2: illegal data address', '1\t1', 'nil\tnil'])
    },
  )
})

test('§11 options that make no sense are told to the callback, later', async () => {
  const many = (fc: number, count: number): string =>
    `(function()
      local values = {}
      for i = 1, ${count} do values[i] = 1 end
      return { host = "x", addr = 1, fc = ${fc}, values = values }
    end)()`
  const wrong = [
    '{ host = "x", port = 65536, addr = 1 }',
    '{ host = "x", unit = 256, addr = 1 }',
    '{ host = "x", unit = -1, addr = 1 }',
    '{ host = "x", addr = 65536 }',
    '{ host = "x", addr = 1, fc = 2, qty = 2001 }',
    '{ host = "x", addr = 1, fc = 6, value = 65536 }',
    '{ host = "x", addr = 1, fc = 6, value = -32769 }',
    '{ host = "x", addr = 1, fc = 5, value = "on" }',
    '{ host = "x", addr = 1, framing = "ascii" }',
    many(15, 1969),
    many(16, 124),
    '{ host = "", addr = 1 }',
    '{ host = "x" }',
    '{ host = "x", addr = 1.5 }',
    '{ host = "x", addr = 1, qty = 126 }',
    '{ host = "x", addr = 1, qty = 0 }',
    '{ host = "x", addr = 1, fc = 99 }',
    '{ host = "x", addr = 1, fc = 6, value = "many" }',
    '{ host = "x", addr = 1, fc = 16, values = {} }',
    '{ host = "x", addr = 1, fc = 5 }',
    '{ host = "x", addr = 1, fc = 6 }',
    '{ host = "x", addr = 1, fc = 6, values = { 1, 2 } }',
  ]
  const lines = await printedBy(
    pluginSource(
      inTurn(
        1,
        wrong.map((options) => `local o = ${options} o.fc = o.fc or 3 Modbus.request(o, next)`),
      ),
    ),
  )
  assert.deepEqual(
    lines.map((line) => line.replace(/^nil\t/, '')),
    [
      'port must be a whole number from 1 to 65535',
      'unit must be a whole number from 0 to 255',
      'unit must be a whole number from 0 to 255',
      'addr must be a whole number from 0 to 65535',
      'qty must be a whole number from 1 to 2000',
      'a register takes a whole number from -32768 to 65535, not 65536',
      'a register takes a whole number from -32768 to 65535, not -32769',
      'a coil takes true or false, not a string',
      'framing must be "rtu", or nothing',
      'values must be an array of 1 to 1968',
      'values must be an array of 1 to 123',
      'host must be a name or an address',
      'addr must be a whole number from 0 to 65535',
      'addr must be a whole number from 0 to 65535',
      'qty must be a whole number from 1 to 125',
      'qty must be a whole number from 1 to 125',
      'fc must be one of 1, 2, 3, 4, 5, 6, 15, 16',
      'a register takes a whole number from -32768 to 65535, not a string',
      'values must be an array of 1 to 123',
      ...Array<string>(3).fill('value must be what to write'),
    ],
  )
})

test('§11 the callback is optional, comes later, and comes once', async () => {
  await withGateway(countingRegisters, async (server) => {
    const lines = await printedBy(
      pluginSource(`
        local function at(addr) return { host = "127.0.0.1", port = ${server.port}, addr = addr } end
        plugin:onInit(function()
          local calls = 0
          Modbus.readHolding(at(1))
          Modbus.readHolding(at(2), function(registers)
            calls = calls + 1
            print("read", registers[1], #registers)
            plugin:setTimeout(20, function() print("calls", calls) print("done") end)
          end)
          print("asked")
        end)
      `),
    )
    assert.deepEqual(lines, ['asked', 'read\t2\t1', 'calls\t1'])
    assert.equal(server.seen.length, 2)
  })
})

test('§11 one that is not answered in time is tried once more, and then it is a timeout', async () => {
  const second: Answer = (seen, _body) => {
    asked += 1
    return seen.unit === 1 && asked === 2 ? registersAnswer(3, [42]) : undefined
  }
  let asked = 0
  await withGateway(second, async (server) => {
    const lines = await printedBy(
      pluginSource(
        inTurn(server.port, [
          'Modbus.readHolding(at { addr = 1, timeout = 40 }, next)',
          'Modbus.readHolding(at { unit = 2, addr = 1, timeout = 40 }, next)',
        ]),
      ),
    )
    assert.deepEqual(lines, ['42\tnil', `nil\ttimeout after 40 ms (127.0.0.1:${server.port})`])
    assert.equal(server.seen.length, 4)
  })
})

test('§2.6 an unload drops what waits for a gateway, and no callback comes', async () => {
  await withGateway(
    () => undefined,
    async (server) => {
      const source = `
        plugin:onInit(function()
          for index = 1, 5 do
            Modbus.readHolding({ host = "127.0.0.1", port = ${server.port}, addr = index }, function() print("never") end)
          end
        end)`
      await withOutside(pluginSource(source), async ({ recorder, isolate }) => {
        await server.until(1)
        await isolate.unload()
        assert.deepEqual(recorder.logs(), [])
        assert.deepEqual(isolate.resources(), noResources)
        assert.equal(server.seen.length, 1)
      })
    },
  )
})

test('§2.6 what onCleanup writes is really written', async () => {
  await withGateway(countingRegisters, async (server) => {
    const source = `
      plugin:onCleanup(function()
        Modbus.writeSingle({ host = "127.0.0.1", port = ${server.port}, addr = 1, value = 0 })
      end)`
    await withOutside(pluginSource(source), async ({ isolate }) => {
      await isolate.unload()
      assert.deepEqual(
        server.seen.map(({ body }) => body),
        ['0600010000'],
      )
    })
  })
})
