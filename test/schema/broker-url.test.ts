import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BrokerUrl, parseBrokerUrl } from '../../src/schema/broker-url.ts'

const read: [text: string, BrokerUrl][] = [
  ['mqtt://broker', { address: 'mqtt://broker' }],
  ['mqtts://broker:8883/', { address: 'mqtts://broker:8883' }],
  ['mqtt://me@broker', { address: 'mqtt://broker', username: 'me' }],
  ['mqtt://me:100%25%2F@broker', { address: 'mqtt://broker', username: 'me', password: '100%/' }],
  ['mqtt://me:p@ss:w@broker', { address: 'mqtt://broker', username: 'me', password: 'p@ss:w' }],
]

for (const [text, url] of read) {
  test(`the address and the login of ${text} are told apart`, () => {
    assert.deepEqual(parseBrokerUrl(text), url)
  })
}
