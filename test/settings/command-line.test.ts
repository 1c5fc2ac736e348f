import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsLimit, connectionsPerAddressLimit } from '../../src/bus/broker-limits.ts'
import { helpText, parseCommandLine } from '../../src/settings/command-line.ts'
import { SettingsError } from '../../src/settings/definitions.ts'

function settings(commandLine: string[], environment: Record<string, string> = {}) {
  const line = parseCommandLine(commandLine, environment, false)
  assert.ok('settings' in line)
  return line.settings
}

test('without flags and variables the defaults of the contract hold', () => {
  assert.deepEqual(settings([]), {
    dataDirectory: '.',
    hostId: undefined,
    httpBind: '127.0.0.1',
    httpPort: 3000,
    publicUrl: undefined,
    trustedProxies: [],
    mqttBind: '127.0.0.1',
    mqttPort: 1883,
    mqttUrl: undefined,
    mqttRoot: 'host',
    mqttConnections: connectionsLimit,
    mqttConnectionsPerAddress: connectionsPerAddressLimit,
    token: undefined,
    tokenFile: undefined,
    tlsCertFile: undefined,
    tlsKeyFile: undefined,
    secretKeyFile: undefined,
    logLevel: 'info',
    logFormat: 'json',
    isolation: 'auto',
    safeMode: false,
    discoveryPrefix: 'homeassistant',
    httpRewrite: {},
    pluginLimits: {},
    pluginEnvironment: undefined,
    fleet: undefined,
  })
})

test('a flag wins over its variable', () => {
  const { httpPort, mqttPort } = settings(['--http-port', '0'], {
    HOST_HTTP_PORT: '81',
    HOST_MQTT_PORT: '82',
  })
  assert.deepEqual([httpPort, mqttPort], [0, 82])
})

test('one port does for both where they are at different addresses, are any free one, or the broker is another', () => {
  const both = { HOST_HTTP_PORT: '3000', HOST_MQTT_PORT: '3000' }
  assert.equal(settings([], { ...both, HOST_MQTT_BIND: '127.0.0.2' }).mqttPort, 3000)
  assert.equal(settings([], { ...both, HOST_MQTT_URL: 'mqtt://broker' }).mqttPort, 3000)
  assert.equal(settings(['--http-port', '0', '--mqtt-port', '0']).mqttPort, 0)
})

test('the log is pretty on a terminal', () => {
  const line = parseCommandLine([], {}, true)
  assert.equal('settings' in line && line.settings.logFormat, 'pretty')
})

test('an empty discovery prefix is kept: it turns discovery off', () => {
  assert.equal(settings([], { HOST_DISCOVERY_PREFIX: '' }).discoveryPrefix, '')
})

test('the rewrite map goes from origin to origin', () => {
  const map = '{"https://api.example.com/": "http://127.0.0.1:8080"}'
  assert.deepEqual(settings([], { HOST_HTTP_REWRITE: map }).httpRewrite, {
    'https://api.example.com': 'http://127.0.0.1:8080',
  })
})

test('limits for all plugins are read with their bounds', () => {
  assert.deepEqual(settings([], { HOST_PLUGIN_LIMITS: '{"memory": 256, "timers": null}' }).pluginLimits, {
    memory: 256,
  })
})

test('variables that plugins may read are a list; an empty one is a list, too', () => {
  const read = (text: string) => settings([], { HOST_PLUGIN_ENVIRONMENT: text }).pluginEnvironment
  assert.deepEqual(read('CLOUD_KEY, WEATHER_*,'), ['CLOUD_KEY', 'WEATHER_*'])
  assert.deepEqual(read(''), [])
  assert.deepEqual(settings(['--plugin-environment', '*'], {}).pluginEnvironment, ['*'])
})

const refused: [commandLine: string[], environment: Record<string, string>, sentence: RegExp][] = [
  [['--no-such-flag'], {}, /no-such-flag.*--help/],
  [['run'], {}, /Unknown command "run"/],
  [['--http-port', 'http'], {}, /HOST_HTTP_PORT \(--http-port\) is "http"; it must be a port number/],
  [['--http-port', '65536'], {}, /must be a port number/],
  [[], { HOST_HTTP_BIND: '999.0.0.1' }, /HOST_HTTP_BIND/],
  [[], { HOST_PUBLIC_URL: 'home' }, /HOST_PUBLIC_URL/],
  [[], { HOST_TRUSTED_PROXIES: 'proxy' }, /HOST_TRUSTED_PROXIES/],
  [[], { HOST_MQTT_BIND: '[::1]' }, /HOST_MQTT_BIND/],
  [[], { HOST_MQTT_PORT: '-1' }, /HOST_MQTT_PORT/],
  [[], { HOST_MQTT_CONNECTIONS: '0' }, /HOST_MQTT_CONNECTIONS .*from 1 to 100000/],
  [['--mqtt-connections-per-address', '1e3'], {}, /HOST_MQTT_CONNECTIONS_PER_ADDRESS .*from 1 to 100000/],
  [[], { HOST_LOG_LEVEL: 'loud' }, /debug or info or warn or error/],
  [[], { HOST_LOG_FORMAT: 'xml' }, /HOST_LOG_FORMAT/],
  [[], { HOST_SAFE_MODE: 'perhaps' }, /HOST_SAFE_MODE/],
  [[], { HOST_DISCOVERY_PREFIX: 'a/+' }, /HOST_DISCOVERY_PREFIX/],
  [[], { HOST_ISOLATION: 'none' }, /dedicated or auto or shared/],
  [[], { HOST_PLUGIN_ENVIRONMENT: 'A B' }, /HOST_PLUGIN_ENVIRONMENT .*names of variables/],
  [[], { HOST_PLUGIN_ENVIRONMENT: 'A*B' }, /HOST_PLUGIN_ENVIRONMENT .*ending in \*/],
  [[], { HOST_PLUGIN_ENVIRONMENT: '"CLOUD_KEY,MORE"' }, /^HOST_PLUGIN_ENVIRONMENT .*quotes/],
  [
    ['--http-port', '1883'],
    {},
    /^HOST_HTTP_PORT \(--http-port\) and HOST_MQTT_PORT \(--mqtt-port\) are both 1883; give each/,
  ],
  [[], { HOST_MQTT_URL: 'http://user:hunter2@x' }, /^(?!.*hunter2).*HOST_MQTT_URL/],
  ...['mqtt://', 'mqtt:broker', 'mqtt:///x', 'mqtt://x:99999'].map((url): (typeof refused)[number] => [
    [],
    { HOST_MQTT_URL: url },
    /^HOST_MQTT_URL \(--mqtt-url\) must be like mqtt:\/\/broker:1883/,
  ]),
  ...['ge%zzheim', 'geheim%', 'geheim%E4'].map((password): (typeof refused)[number] => [
    [],
    { HOST_MQTT_URL: `mqtt://user:${password}@127.0.0.1:1883` },
    /^(?!.*heim)HOST_MQTT_URL \(--mqtt-url\) has a % .* write % as %25 there\.$/,
  ]),
  ...[
    'mqtt://lupine:12/SECRETpw@127.0.0.1:41883',
    'mqtt://lupine:12?SECRETpw@127.0.0.1:41883',
    'mqtts://lupine:12#SECRETpw@127.0.0.1:41883',
    'mqtt://lupine:SECRET/pw@127.0.0.1:41883',
    'mqtt://127.0.0.1:41883?password=SECRETpw',
    'mqtt://127.0.0.1:41883/#',
    'ws://lupine:12/SECRETpw@127.0.0.1:41883/mqtt',
    'ws://lupine:12\\SECRETpw@127.0.0.1:41883/mqtt',
    'ws://lupine:12?SECRETpw@127.0.0.1:41883/mqtt',
    'wss://lupine:12#SECRETpw@127.0.0.1:41883/mqtt',
  ].map((url): (typeof refused)[number] => [
    [],
    { HOST_MQTT_URL: url },
    /^(?!.*(SECRET|127\.0))HOST_MQTT_URL \(--mqtt-url\) must .*password write \/ as %2F, # as %23, \? as %3F and @ as %40\.$/,
  ]),
  [[], { HOST_MQTT_URL: 'mqtt://us%er@127.0.0.1' }, /^(?!.*us%er)HOST_MQTT_URL .* write % as %25 there\.$/],
  [
    [],
    { HOST_MQTT_ROOT: `${'a/'.repeat(50)}b` },
    /^HOST_MQTT_ROOT .* topic levels, 50 and 1000 bytes at most/,
  ],
  [[], { HOST_MQTT_ROOT: 'a'.repeat(1_001) }, /^HOST_MQTT_ROOT .* "a{200}"…; .* 1000 bytes at most/],
  [[], { HOST_MQTT_ROOT: 'a\nb' }, /^HOST_MQTT_ROOT .* control characters/],
  [[], { HOST_DISCOVERY_PREFIX: '$SYS' }, /^HOST_DISCOVERY_PREFIX .* a leading \$, or empty/],
  [[], { HOST_MQTT_ROOT: 'a/+/b' }, /HOST_MQTT_ROOT/],
  [[], { HOST_MQTT_ROOT: '$SYS' }, /HOST_MQTT_ROOT/],
  [[], { HOST_ID: 'a b' }, /HOST_ID/],
  [[], { HOST_TOKEN: 'hunter2 hunter3' }, /^(?!.*hunter2).*HOST_TOKEN .*ASCII/],
  [['--token', 'grün'], {}, /^(?!.*grün).*HOST_TOKEN .*ASCII/],
  [[], { HOST_TLS_CERT_FILE: 'a.pem' }, /HOST_TLS_KEY_FILE.*missing/],
  [['--tls-key-file', 'a.pem'], {}, /HOST_TLS_CERT_FILE.*missing/],
  [[], { HOST_HTTP_REWRITE: '[]' }, /HOST_HTTP_REWRITE/],
  [[], { HOST_PLUGIN_LIMITS: 'many' }, /HOST_PLUGIN_LIMITS.*JSON map/],
  [[], { HOST_PLUGIN_LIMITS: '5' }, /must be a JSON map of limits; it must be an object\.$/],
  [[], { HOST_PLUGIN_LIMITS: '{"memory": 1}' }, /memory must be a whole number from 24/],
  [[], { HOST_PLUGIN_LIMITS: '{"memroy": 64}' }, /memroy is no limit; there are memory, /],
  [[], { HOST_HTTP_REWRITE: '{"https://a.example/path": "http://127.0.0.1"}' }, /HOST_HTTP_REWRITE/],
  ...[
    '{"https://a.example":"http://u:geheim@127.0.0.1/x"}',
    '{"https://a.example":"http://u:geheim@127.0.0.1:1"}',
    '{"https://u:geheim@a.example":"http://127.0.0.1:1"}',
    '{"https://a.example":"http://geheim@127.0.0.1:1"}',
    '{"https://a.example":"http://u:geheim@127.0.0.1:1"',
    '["http://u:geheim@127.0.0.1:1"]',
    '{"https://a.example#x":"http://127.0.0.1:1"}',
    '{"https://a.example":"http://127.0.0.1:1#"}',
    '{"https://a.example":"http://127.0.0.1:1?"}',
  ].map((map): (typeof refused)[number] => [
    [],
    { HOST_HTTP_REWRITE: map },
    /^(?!.*(geheim|a\.example))HOST_HTTP_REWRITE \(--http-rewrite\) must be a JSON object from origin to origin .*no user, path/,
  ]),
  [['--data-dir', ''], {}, /^HOST_DATA_DIR \(--data-dir\) is empty; .*take it away: then it is "\."\.$/],
  [[], { HOST_HTTP_PORT: '' }, /^HOST_HTTP_PORT .* is empty; .*take it away: then it is "3000"\.$/],
  [
    [],
    { HOST_DATA_DIR: '"/var/lib/lupine"' },
    /^HOST_DATA_DIR \(--data-dir\) has quotes around it, .*take them away\.$/,
  ],
  [[], { HOST_MQTT_ROOT: "'host'" }, /^HOST_MQTT_ROOT .*quotes/],
  [[], { HOST_MQTT_URL: '"mqtt://user:hunter2@x"' }, /^(?!.*hunter2)HOST_MQTT_URL .*quotes/],
  [
    [],
    { HOST_DATA_DIR: '/var/lib/lupine ' },
    /^HOST_DATA_DIR .*"\/var\/lib\/lupine "; it must be a path without blanks/,
  ],
  [[], { HOST_DATA_DIR: '~/lupine' }, /^HOST_DATA_DIR .*without ~/],
  [[], { HOST_DATA_DIR: '$HOME/lupine' }, /^HOST_DATA_DIR .*"\$HOME\/lupine"; .*variable written out/],
  [['--data-dir', '${HOME}/lupine'], {}, /^HOST_DATA_DIR .*variable written out/],
]

for (const [commandLine, environment, sentence] of refused) {
  test(`refused with one line: ${[...commandLine, ...Object.values(environment)].join(' ')}`, () => {
    assert.throws(
      () => parseCommandLine(commandLine, environment, false),
      (error) => {
        assert.ok(error instanceof SettingsError)
        assert.match(error.message, sentence)
        assert.ok(!error.message.includes('\n'))
        return true
      },
    )
  })
}

test('the help names every flag and variable', () => {
  const help = helpText()
  for (const name of [
    '--data-dir',
    'HOST_DATA_DIR',
    '--http-rewrite',
    'HOST_DISCOVERY_PREFIX',
    'HOST_TOKEN_FILE',
  ]) {
    assert.ok(help.includes(name), name)
  }
})

test('the public address is one of HTTP without anything secret, and proxies are addresses or networks', () => {
  const { publicUrl, trustedProxies } = settings(['--public-url', 'https://Home.example.com:443/lupine/'], {
    HOST_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
  })
  assert.deepEqual([publicUrl, trustedProxies], ['https://home.example.com/lupine', ['10.0.0.0/8', '::1']])
  for (const url of [
    'home.example.com',
    'ftp://a',
    'https://me:canary@a',
    'https://canary@a',
    'https://:canary@a',
    'https://me:12x/canary@a',
    'https://a?b',
    'https://a#b',
    'https://a//b',
    'https://a/b;c',
    '//a',
  ]) {
    assert.throws(
      () => settings(['--public-url', url]),
      (error) =>
        error instanceof SettingsError &&
        /HOST_PUBLIC_URL/.test(error.message) &&
        !/canary/.test(error.message),
      url,
    )
  }
  assert.throws(() => settings(['--trusted-proxies', '10.0.0.0/40']), SettingsError)
})

test('the command token needs no setting', () => {
  assert.equal(parseCommandLine(['token'], {}, false).command, 'token')
})
