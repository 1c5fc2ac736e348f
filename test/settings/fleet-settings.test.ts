import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type FleetNeeds,
  type FleetSettingName,
  readFleetSettings,
} from '../../src/settings/fleet-settings.ts'
import { SettingsError } from '../../src/settings/definitions.ts'

type Given = Partial<Record<FleetSettingName, string>>

const needs: FleetNeeds = { hostId: undefined, mqttUrl: 'mqtt://broker', secretKeyFile: 'key' }

const read = (given: Given, changes: Partial<FleetNeeds> = {}, options = {}) =>
  readFleetSettings((name) => given[name], { ...needs, ...changes }, options)

test('without an address there is no fleet, whatever else is set', () => {
  assert.equal(read({}), undefined)
  assert.equal(read({ fleetUrl: '', fleet: '?' }, { secretKeyFile: undefined }), undefined)
})

test('addresses, names and files are taken as they are given', () => {
  assert.deepEqual(
    read(
      {
        fleetUrl: 'tls://a.example:4222, tls://b.example',
        fleet: 'Site_1-x',
        fleetPasswordFile: 'p',
        fleetCaFile: 'ca',
      },
      { hostId: 'box-1' },
    ),
    {
      ...{ servers: ['tls://a.example:4222', 'tls://b.example'], fleet: 'Site_1-x', hostId: 'box-1' },
      ...{ credentialsFile: undefined, passwordFile: 'p', caFile: 'ca' },
    },
  )
  assert.equal(read({ fleetUrl: 'nats://127.0.0.1:4222' })?.fleet, 'lupine')
  assert.ok(read({ fleetUrl: 'nats://localhost' }, { mqttUrl: undefined }, { isMember: false }))
})

const local = 'nats://127.0.0.1'
const refusals: { given: Given; changes?: Partial<FleetNeeds>; says: RegExp }[] = [
  {
    given: { fleetUrl: 'http://a' },
    says: /^HOST_FLEET_URL .* cannot be used; it must be nats:\/\/, tls:\/\/, ws/,
  },
  { given: { fleetUrl: 'nats:4222' }, says: /^HOST_FLEET_URL .* cannot be used/ },
  { given: { fleetUrl: ' , ' }, says: /^HOST_FLEET_URL .* is empty/ },
  {
    given: { fleetUrl: 'nats://me:pearl@127.0.0.1' },
    says: /has a login in it; put user:password into a file/,
  },
  { given: { fleetUrl: `${local},ws://127.0.0.1` }, says: /mixes WebSocket/ },
  {
    given: { fleetUrl: local, fleet: 'a.b' },
    says: /^HOST_FLEET \(--fleet\) is "a\.b"; in a fleet it must be 1 to 32 letters/,
  },
  { given: { fleetUrl: local, fleet: '' }, says: /^HOST_FLEET \(--fleet\) is ""/ },
  { given: { fleetUrl: local, fleet: 'x'.repeat(33) }, says: /^HOST_FLEET \(--fleet\) is "x+"/ },
  { given: { fleetUrl: local }, changes: { hostId: 'x'.repeat(33) }, says: /^HOST_ID \(--id\) is "x+"/ },
  {
    given: { fleetUrl: local },
    changes: { mqttUrl: undefined },
    says: /^HOST_MQTT_URL \(--mqtt-url\) is missing; a fleet/,
  },
  {
    given: { fleetUrl: local },
    changes: { secretKeyFile: undefined },
    says: /^HOST_SECRET_KEY_FILE .* is missing; a fleet/,
  },
  {
    given: { fleetUrl: local, fleetPasswordFile: 'p', fleetCredentialsFile: 'c' },
    says: /are two logins; give one of them/,
  },
  { given: { fleetUrl: 'nats://192.168.1.2' }, says: /leads to another machine; that needs a login/ },
  { given: { fleetUrl: `${local},nats://store` }, says: /leads to another machine; that needs a login/ },
]

for (const { given, changes = {}, says } of refusals) {
  test(`refused with one line: ${JSON.stringify({ ...given, ...changes })}`, () => {
    assert.throws(
      () => read(given, changes),
      (error: Error) => {
        assert.ok(error instanceof SettingsError)
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /\n|pearl/)
        return true
      },
    )
  })
}
