import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BrokerUrl, brokerName, parseBrokerUrl } from '../../../src/schema/names/broker-url.ts'

const same = (address: string) => ({ address, shown: address })

const read: [text: string, BrokerUrl][] = [
  ['mqtt://broker', same('mqtt://broker')],
  ['mqtts://broker:8883/', same('mqtts://broker:8883')],
  ['mqtt://me@broker', { ...same('mqtt://broker'), username: 'me' }],
  ['mqtt://me:100%25%2F@broker', { ...same('mqtt://broker'), username: 'me', password: '100%/' }],
  ['mqtt://me:p@ss:w@broker', { ...same('mqtt://broker'), username: 'me', password: 'p@ss:w' }],
  ['ws://broker:9001/', same('ws://broker:9001')],
  ['wss://broker/mqtt/', same('wss://broker/mqtt/')],
  ['wss://broker?token=x/', { address: 'wss://broker/?token=x/', shown: 'wss://broker' }],
  [
    'wss://me:pw@broker/mqtt?token=x',
    {
      ...{ address: 'wss://broker/mqtt?token=x', shown: 'wss://broker/mqtt' },
      ...{ username: 'me', password: 'pw' },
    },
  ],
]

for (const [text, url] of read) {
  test(`the address, the login and what is shown of ${text} are told apart`, () => {
    assert.deepEqual(parseBrokerUrl(text), url)
  })
}

const names: [text: string | undefined, name: string][] = [
  [undefined, 'embedded'],
  ['mqtt://broker', 'mqtt://broker'],
  ['mqtt://me:pw@Broker:1883/', 'mqtt://broker'],
  ['mqtts://broker:8883', 'mqtts://broker'],
  ['mqtt://broker:8883', 'mqtt://broker:8883'],
  ['mqtt://[::1]:1884', 'mqtt://[::1]:1884'],
  ['wss://broker:443/mqtt?token=x', 'wss://broker/mqtt'],
]

test('a broker is remembered by its address without any login, however that is written', () => {
  assert.deepEqual(
    names.map(([text]) => brokerName(text)),
    names.map(([, name]) => name),
  )
})
