import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBody, encodeRequest, splitTelegram } from '../../../src/outside/modbus/modbus-telegram.ts'
import type { ModbusRequest } from '../../../src/schema/outside/outside.ts'

/** Bytes as the examples of the specification have them (Modbus application protocol 1.1b3, section 6). */

const place = { host: 'a', port: 502, unit: 17 }
const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')

const exchanges: [request: ModbusRequest, sent: string, answer: string, values: number[]][] = [
  [
    { ...place, fc: 1, address: 19, quantity: 19 },
    '01 0013 0013',
    '01 03 cd6b05',
    [1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1],
  ],
  [
    { ...place, fc: 2, address: 196, quantity: 22 },
    '02 00c4 0016',
    '02 03 acdb35',
    [0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1],
  ],
  [{ ...place, fc: 3, address: 107, quantity: 3 }, '03 006b 0003', '03 06 022b 0000 0064', [555, 0, 100]],
  [{ ...place, fc: 4, address: 8, quantity: 1 }, '04 0008 0001', '04 02 000a', [10]],
  [{ ...place, fc: 5, address: 172, values: [1] }, '05 00ac ff00', '05 00ac ff00', [1]],
  [{ ...place, fc: 5, address: 172, values: [0] }, '05 00ac 0000', '05 00ac 0000', [0]],
  [{ ...place, fc: 6, address: 1, values: [3] }, '06 0001 0003', '06 0001 0003', [3]],
  [
    { ...place, fc: 15, address: 19, values: [1, 0, 1, 1, 0, 0, 1, 1, 1, 0] },
    '0f 0013 000a 02 cd01',
    '0f 0013 000a',
    [1, 0, 1, 1, 0, 0, 1, 1, 1, 0],
  ],
  [
    { ...place, fc: 16, address: 1, values: [10, 258] },
    '10 0001 0002 04 000a 0102',
    '10 0001 0002',
    [10, 258],
  ],
]

test('requests and answers are the bytes of the specification', () => {
  for (const [request, sent, answer, values] of exchanges) {
    const body = hex(sent)
    const length = (body.length + 1).toString(16).padStart(4, '0')
    assert.deepEqual(encodeRequest(0x1501, request), Buffer.concat([hex(`1501 0000 ${length} 11`), body]))
    assert.deepEqual(decodeBody(request, hex(answer)), values, sent)
  }
})

test('an exception is told by name, and an answer of another function or length is none', () => {
  const request: ModbusRequest = { ...place, fc: 3, address: 107, quantity: 3 }
  const wrong: [answer: string, message: RegExp][] = [
    ['83 01', /^modbus exception 1: illegal function$/],
    ['83 02', /^modbus exception 2: illegal data address$/],
    ['83 03', /^modbus exception 3: illegal data value$/],
    ['83 04', /^modbus exception 4: server device failure$/],
    ['83 05', /^modbus exception 5: acknowledge$/],
    ['83 06', /^modbus exception 6: server device busy$/],
    ['83 07', /^modbus exception 7: negative acknowledge$/],
    ['83 08', /^modbus exception 8: memory parity error$/],
    ['83 0a', /^modbus exception 10: gateway path unavailable$/],
    ['83 0b', /^modbus exception 11: gateway target device failed to respond$/],
    ['83 09', /^modbus exception 9: unknown$/],
    ['84 02', /another function/],
    ['04 06 022b 0000 0064', /another function/],
    ['03 04 022b 0000', /another length/],
    ['03 06 022b 0000 00', /another length/],
    ['03 08 022b 0000 0064 0001', /another length/],
    ['', /another function/],
  ]
  for (const [answer, message] of wrong)
    assert.throws(() => decodeBody(request, hex(answer)), { name: 'ModbusError', message }, answer)
})

test('a write whose answer has another address, value or count has not been done as it was asked for', () => {
  const one: ModbusRequest = { ...place, fc: 6, address: 1, values: [3] }
  const coil: ModbusRequest = { ...place, fc: 5, address: 172, values: [1] }
  const several: ModbusRequest = { ...place, fc: 16, address: 1, values: [10, 258] }
  const wrong: [request: ModbusRequest, answer: string, message: RegExp][] = [
    [
      one,
      '06 0001 0002',
      /^the device answers that it wrote address 1, value 2, and not address 1, value 3$/,
    ],
    [one, '06 0002 0003', /wrote address 2, value 3, and not address 1, value 3$/],
    [coil, '05 00ac 0000', /wrote address 172, value 0, and not address 172, value 65280$/],
    [several, '10 0001 0001', /wrote address 1, count 1, and not address 1, count 2$/],
    [one, '06 0001', /shorter/],
    [one, '86 04', /^modbus exception 4: server device failure$/],
  ]
  for (const [request, answer, message] of wrong)
    assert.throws(() => decodeBody(request, hex(answer)), { name: 'ModbusError', message }, answer)
})

test('a telegram is taken once it is whole, with what follows left, and only of a length that there can be', () => {
  const whole = hex('1501 0000 0003 11 8302')
  const rest = hex('1502 00')
  for (let end = 0; end < whole.length; end += 1)
    assert.equal(splitTelegram(whole.subarray(0, end)), undefined, String(end))
  assert.deepEqual(splitTelegram(Buffer.concat([whole, rest])), {
    telegram: { transaction: 0x1501, unit: 17, body: hex('8302') },
    rest,
  })
  const ofLength = (length: number): Uint8Array => {
    const bytes = Buffer.alloc(6 + length)
    bytes.writeUInt16BE(length, 4)
    return bytes
  }
  for (const length of [2, 254])
    assert.equal(splitTelegram(ofLength(length))?.telegram.body.length, length - 1)
  for (const bytes of [ofLength(1), ofLength(255), hex('1501 0001 0003 11 8302')])
    assert.throws(() => splitTelegram(bytes), /does not speak Modbus TCP/)
})
