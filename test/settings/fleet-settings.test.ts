import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCommandLine } from '../../src/settings/command-line.ts'
import { SettingsError } from '../../src/settings/definitions.ts'
import type { Settings } from '../../src/settings/settings.ts'

type Variables = Record<string, string>

/** What a host of a fleet needs besides the store's address. */
const needs: Variables = { HOST_MQTT_URL: 'mqtt://broker', HOST_SECRET_KEY_FILE: 'key' }

function read(commandLine: string[], given: Variables): Settings {
  const line = parseCommandLine(commandLine, given, false)
  assert.ok('settings' in line)
  return line.settings
}

test('without an address there is no fleet, whatever else is set', () => {
  assert.equal(read([], {}).fleet, undefined)
  assert.equal(read([], { HOST_FLEET_URL: '', HOST_FLEET: '?', HOST_LABELS: '?' }).fleet, undefined)
  assert.equal(read([], { HOST_ID: 'x'.repeat(64) }).hostId, 'x'.repeat(64))
})

test('addresses, names, labels and files are taken as they are given', () => {
  const { fleet, hostId } = read([], {
    ...needs,
    HOST_ID: '_box-1',
    HOST_FLEET_URL: 'tls://a.example:4222, tls://b.example',
    HOST_FLEET: 'Site_1-x',
    HOST_LABELS: 'serial, cellar,serial',
    HOST_FLEET_PASSWORD_FILE: 'p',
    HOST_FLEET_CA_FILE: 'ca',
  })
  assert.deepEqual(
    [hostId, fleet],
    [
      '_box-1',
      {
        servers: ['tls://a.example:4222', 'tls://b.example'],
        fleet: 'Site_1-x',
        labels: ['serial', 'cellar'],
        credentialsFile: undefined,
        passwordFile: 'p',
        caFile: 'ca',
      },
    ],
  )
})

test('what is not set has its default, and a flag wins over its variable', () => {
  const flags = ['--fleet-url', 'nats://127.0.0.1:4222', '--labels', 'roof', '--id', 'box']
  const { fleet, hostId } = read(flags, { ...needs, HOST_LABELS: 'cellar', HOST_FLEET_URL: 'nats://store' })
  assert.deepEqual(
    [hostId, fleet?.servers, fleet?.fleet, fleet?.labels],
    ['box', ['nats://127.0.0.1:4222'], 'lupine', ['roof']],
  )
  assert.deepEqual(read([], { ...needs, HOST_FLEET_URL: 'nats://[::1]' }).fleet?.labels, [])
})

test('a command for a stopped host needs neither broker nor key because of the fleet', () => {
  assert.ok(read(['token'], { HOST_FLEET_URL: 'nats://localhost' }).fleet)
})

const local = { ...needs, HOST_FLEET_URL: 'nats://127.0.0.1' }
const refusals: { given: Variables; says: RegExp }[] = [
  {
    given: { ...needs, HOST_FLEET_URL: 'http://a' },
    says: /^HOST_FLEET_URL .* cannot be used; it must be nats:\/\/, tls:\/\/, ws/,
  },
  { given: { ...needs, HOST_FLEET_URL: 'nats:4222' }, says: /^HOST_FLEET_URL .* cannot be used/ },
  { given: { ...needs, HOST_FLEET_URL: ' , ' }, says: /^HOST_FLEET_URL .* is empty/ },
  ...['me:pearl', 'pearl', ':pearl'].map((login) => ({
    given: { ...needs, HOST_FLEET_URL: `nats://${login}@127.0.0.1` },
    says: /^(?!.*pearl).* has a login in it; put user:password into a file/,
  })),
  { given: { ...needs, HOST_FLEET_URL: 'nats://127.0.0.1,ws://127.0.0.1' }, says: /mixes WebSocket/ },
  {
    given: { ...local, HOST_FLEET: 'a.b' },
    says: /^HOST_FLEET \(--fleet\) is "a\.b"; it must be 1 to 32 letters/,
  },
  { given: { ...local, HOST_FLEET: '' }, says: /^HOST_FLEET \(--fleet\) is ""/ },
  { given: { ...local, HOST_FLEET: 'x'.repeat(33) }, says: /^HOST_FLEET \(--fleet\) is "x+"/ },
  { given: { ...local, HOST_ID: 'x'.repeat(33) }, says: /^HOST_ID \(--id\) is "x+".* in a fleet/ },
  { given: { ...local, HOST_LABELS: 'a b' }, says: /^HOST_LABELS \(--labels\) is "a b"; it must be labels/ },
  { given: { ...local, HOST_LABELS: 'x'.repeat(33) }, says: /^HOST_LABELS \(--labels\)/ },
  {
    given: { ...local, HOST_MQTT_URL: '' },
    says: /^HOST_MQTT_URL \(--mqtt-url\) is missing; a fleet/,
  },
  {
    given: { ...local, HOST_SECRET_KEY_FILE: '' },
    says: /^HOST_SECRET_KEY_FILE .* is missing; a fleet/,
  },
  {
    given: { ...local, HOST_FLEET_PASSWORD_FILE: 'p', HOST_FLEET_CREDENTIALS_FILE: 'c' },
    says: /are two logins; give one of them/,
  },
  {
    given: { ...needs, HOST_FLEET_URL: 'nats://192.168.1.2' },
    says: /leads to another machine; that needs a login/,
  },
  {
    given: { ...needs, HOST_FLEET_URL: 'nats://127.0.0.1,nats://store' },
    says: /leads to another machine; that needs a login/,
  },
]

for (const { given, says } of refusals) {
  test(`refused with one line: ${JSON.stringify(given)}`, () => {
    assert.throws(
      () => parseCommandLine([], given, false),
      (error: Error) => {
        assert.ok(error instanceof SettingsError)
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /\n|pearl/)
        return true
      },
    )
  })
}

test('what encrypts a data directory anew is refused in a fleet, which has its secrets elsewhere; a new key is made', () => {
  const given = { HOST_FLEET_URL: 'nats://localhost', HOST_SECRET_KEY_FILE: 'key' }
  for (const command of ['rotate-key', 'decrypt']) {
    assert.throws(
      () => parseCommandLine([command], given, false),
      /^SettingsError: "lupine .*" changes the data directory of a single host, and HOST_FLEET_URL .* stay in the key file/,
    )
  }
  assert.equal(parseCommandLine(['secret-key'], given, false).command, 'secret-key')
})

test('the commands that join and leave take what they need of the settings, and no broker', () => {
  const given = { HOST_FLEET_URL: 'nats://localhost', HOST_SECRET_KEY_FILE: 'key', HOST_DATA_DIR: 'own' }
  const read = (...words: string[]) => parseCommandLine(['fleet', ...words], given, false)
  const joining = read('join', '--fleet', 'site')
  assert.ok('membership' in joining)
  assert.deepEqual(
    [joining.command, joining.membership.fleet, joining.membership.dataDirectory],
    ['fleet join', 'site', 'own'],
  )
  const restoring = read('restore')
  assert.ok('membership' in restoring)
  assert.deepEqual([restoring.command, restoring.membership.dataDirectory], ['fleet restore', 'own'])
  const leaving = read('leave', 'place')
  assert.ok('membership' in leaving)
  assert.deepEqual(
    [leaving.command, leaving.membership.secretKeyFile, leaving.membership.dataDirectory],
    ['fleet leave', 'key', 'place'],
  )
  for (const words of [
    [],
    ['join', 'x'],
    ['restore', 'x'],
    ['leave'],
    ['leave', ''],
    ['leave', 'a', 'b'],
    ['stay'],
  ]) {
    assert.throws(
      () => read(...words),
      /^SettingsError: The commands are: lupine fleet join, lupine fleet restore, and lupine/,
    )
  }
  const without = (name: string) => () => parseCommandLine(['fleet', 'join'], { ...given, [name]: '' }, false)
  assert.throws(without('HOST_FLEET_URL'), /HOST_FLEET_URL .* must be set for this command/)
  assert.throws(without('HOST_SECRET_KEY_FILE'), /HOST_SECRET_KEY_FILE .* must be set for this command/)
})
