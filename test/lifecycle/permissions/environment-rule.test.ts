import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createHostEnvironment,
  environmentRefusal,
} from '../../../src/lifecycle/permissions/plugin-environment.ts'

/** `listed`: of the manifest, undefined without `permissions`; `named`: by the owner, undefined when not set. */
const cases: [
  variable: string,
  listed: string[] | undefined,
  named: string[] | undefined,
  allowed: boolean,
][] = [
  ['API_KEY', undefined, undefined, true],
  ['API_KEY', [], undefined, false],
  ['API_KEY', ['API_KEY'], undefined, true],
  ['API_KEY', ['API_*'], undefined, true],
  ['API_KEY', ['*'], undefined, true],
  ['API_KEY', ['API'], undefined, false],
  ['API_KEY', ['KEY*'], undefined, false],
  ['API_KEY', ['API_KEY_*'], undefined, false],
  ['API_KEY', ['api_key'], undefined, false],
  ['API_KEY', undefined, [], false],
  ['API_KEY', undefined, ['API_KEY'], true],
  ['API_KEY', undefined, ['A*', 'B'], true],
  ['API_KEY', undefined, ['OTHER'], false],
  ['API_KEY', ['API_KEY'], ['OTHER'], false],
  ['API_KEY', ['OTHER'], ['API_KEY'], false],
  ['API_KEY', ['API_KEY'], ['API_KEY'], true],
  ...[
    'HOST_TOKEN',
    'HOST_',
    'PATH',
    'HOME',
    'USER',
    'SHELL',
    'PWD',
    'NODE_OPTIONS',
    'npm_config_registry',
    'LD_PRELOAD',
    'SSH_AUTH_SOCK',
    // As a system may take them that does not look at case.
    'Path',
    'host_token',
  ].map((name): [string, string[], string[], boolean] => [name, [name, '*'], [name, '*'], false]),
  ...['HOSTNAME', 'PATHS', 'HOMEASSISTANT_URL', 'USERNAME', 'NODERED', 'LDAP_URL', 'SSHD', 'GHOST_URL'].map(
    (name): [string, undefined, string[], boolean] => [name, undefined, ['*'], true],
  ),
]

test('a variable is read when manifest and owner let it, and the system’s own never', () => {
  const wrong = cases.filter(([variable, listed, named, allowed]) => {
    const permissions = listed === undefined ? undefined : { environment: listed }
    return (environmentRefusal(variable, permissions, named) === undefined) !== allowed
  })
  assert.deepEqual(wrong, [])
})

test('a refusal says all that would allow it', () => {
  const both = environmentRefusal('API_KEY', {}, [])
  assert.equal(
    both,
    'the plugin may not read the environment variable API_KEY; to let it, add "API_KEY" to permissions.environment of its manifest and add API_KEY to HOST_PLUGIN_ENVIRONMENT of this host',
  )
  const never = environmentRefusal('HOME', undefined, undefined)
  assert.equal(
    never,
    "no plugin may read the environment variable HOME, which is the system's or the host's own",
  )
})

test('what no variable is called is not read, though every object of JavaScript has it', () => {
  const environment = createHostEnvironment({ API_KEY: 'canary' }, undefined)({})
  assert.deepEqual([environment.read('API_KEY'), environment.read('constructor')], ['canary', undefined])
})
