import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { dsmr2, dsmr4, dsmr5 } from './example-telegrams.ts'

const lua = openLuaModules(fileURLToPath(new URL('.', import.meta.url)))

interface Found {
  readings: any[]
  meters: any[]
  [name: string]: unknown
}

function read(text: string): Found {
  const [found] = lua.call('obis', 'read', text) as [Found]
  // An empty table of Lua is an object.
  return { ...found, readings: [found.readings].flat(), meters: [found.meters].flat() }
}

const values = ({ readings }: Found): Record<string, number> =>
  Object.fromEntries(readings.map(({ id, value, unit }) => [`${id} ${unit}`, value]))

test('DSMR 5 gives power, energy, voltages, currents and gas', () => {
  const found = read(dsmr5)
  assert.deepEqual(values(found), {
    ...{ 'power_in W': 244, 'power_out W': 0 },
    ...{ 'energy_in_1 kWh': 4.426, 'energy_in_2 kWh': 2.399 },
    ...{ 'energy_out_1 kWh': 2.444, 'energy_out_2 kWh': 0 },
    ...{ 'voltage_l1 V': 230, 'voltage_l2 V': 230, 'voltage_l3 V': 229 },
    ...{ 'current_l1 A': 0.48, 'current_l2 A': 0.44, 'current_l3 A': 0.86 },
    ...{ 'power_in_l1 W': 70, 'power_in_l2 W': 32, 'power_in_l3 W': 142 },
    ...{ 'power_out_l1 W': 0, 'power_out_l2 W': 0, 'power_out_l3 W': 0 },
  })
  const { header, version, time, serial, tariff, meters } = found
  assert.deepEqual(
    { header, version, time, serial, tariff },
    {
      ...{ header: String.raw`ISk5\2MT382-1000`, version: '50', time: '2017-01-02T19:20:02+01:00' },
      ...{ serial: 'K8EG004046395507', tariff: 2 },
    },
  )
  assert.deepEqual(meters, [
    {
      ...{ id: 'gas_1', name: 'Gas', value: 0.107, unit: 'm³', class: 'gas', state: 'total_increasing' },
      ...{ time: '2017-01-02T16:10:05+01:00', serial: '2222ABCD123456789' },
    },
  ])
})

test('DSMR 4 has no voltages, and currents in whole amperes', () => {
  const found = read(dsmr4)
  const { 'power_in W': power, 'energy_in_1 kWh': energy, 'current_l2 A': current } = values(found)
  assert.deepEqual({ power, energy, current }, { power: 2027, energy: 1581.123, current: 6 })
  assert.deepEqual([found.meters[0].value, found.meters[0].time], [981.443, '2016-11-29T20:00:00+01:00'])
  assert.ok(!found.readings.some(({ id }) => id.startsWith('voltage')))
})

test('DSMR 2 has its gas on two lines, and times without a zone', () => {
  const found = read(dsmr2)
  assert.equal(values(found)['power_in W'], 1010)
  assert.equal(found.version, undefined)
  assert.deepEqual(
    found.meters.map(({ id, value, unit, time }) => ({ id, value, unit, time })),
    [{ id: 'gas_1', value: 1.001, unit: 'm³', time: '2016-11-07T19:00:00' }],
  )
})

test('the meters of other countries: totals in Wh, suffixes, gas that is not converted, water, heat', () => {
  const found = read(`/FLU5\\253770234_A\r
1-0:1.8.0(006545766*Wh)\r
1-0:1.7.0*255(002124.86*W)\r
1-0:3.8.0(000000747*varh)\r
0-1:24.1.0(003)\r
0-1:24.2.3(200512134558S)(00112.384*m3)\r
0-2:24.1.0(007)\r
0-2:96.1.1(3853414731323334353637383930)\r
0-2:24.2.1(200512134558S)(00872.234*m3)\r
0-3:24.1.0(004)\r
0-3:24.2.1(200512134558S)(12.345*GJ)\r
0-4:24.1.0(099)\r
0-4:24.2.1(632525252525S)(1.5*m3)\r
!`)
  assert.deepEqual(values(found), { 'energy_in kWh': 6545.766, 'power_in W': 2124.86 })
  assert.deepEqual(
    found.meters.map(({ id, value, unit, class: kind, time, serial }) => [
      id,
      value,
      unit,
      kind,
      time,
      serial,
    ]),
    [
      ['gas_1', 112.384, 'm³', 'gas', '2020-05-12T13:45:58+02:00', undefined],
      ['water_2', 872.234, 'm³', 'water', '2020-05-12T13:45:58+02:00', '8SAG1234567890'],
      ['heat_3', 12.345, 'GJ', 'energy', '2020-05-12T13:45:58+02:00', undefined],
      ['meter_4', 1.5, 'm³', 'volume', undefined, undefined],
    ],
  )
})

for (const line of [
  '1-0:1.7.0(00.2', // cut
  '1-0:1.7.0()', // nothing
  '1-0:1.7.0(1.2.3*kW)', // no number
  '1-0:1.7.0(1*lb)', // no unit that is known
  '1-0:1.7.0',
  'x1-0:1.7.0(1*kW)',
  '0-1:24.2.1(170102161005W)', // no value
  '0-1:24.3.0(161107190000)(00)', // half of it
]) {
  test(`'${line}' is passed over`, () => {
    const { readings, meters } = lua.call('obis', 'read', `/ABC5x\r\n\r\n${line}\r\n!`)[0] as Found
    assert.deepEqual([Object.keys(readings), Object.keys(meters)], [[], []])
  })
}
