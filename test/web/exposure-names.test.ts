import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesWithDevices } from '../../src/web/plugin/exposed-feature.ts'

test('what belongs to a device is called by it, too, and one of its exposures says what that is', () => {
  const all = [
    { name: 'Online' },
    { name: 'Battery', device: { id: '0x1', name: 'Front door' } },
    { name: 'Contact', device: { id: '0x1' } },
    { name: 'Battery', device: { id: '0x2' } },
  ]
  assert.deepEqual(all.map(namesWithDevices(all)), [
    'Online',
    'Front door: Battery',
    'Front door: Contact',
    '0x2: Battery',
  ])
})
