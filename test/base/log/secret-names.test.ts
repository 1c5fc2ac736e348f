import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSecretFieldName, isSecretName } from '../../../src/base/log/secret-names.ts'

/** Names by the part of them that ends with a word for a secret. */
const secret: Record<string, string[]> = {
  token: [
    'token',
    'bot_token',
    'botToken',
    'bottoken',
    'BOTTOKEN',
    'oauth2Token',
    'token-url',
    'tokenExpiry',
  ],
  password: ['password', 'wifiPassword', 'WIFI-PASSWORD', 'mqttpassword', 'Password.hash'],
  passwd: ['passwd', 'userpasswd', 'DB_PASSWD'],
  passphrase: ['passphrase', 'keyPassphrase', 'wifi passphrase'],
  pass: ['pass', 'user.pass', 'mqttpass', 'MQTTPass', 'SMTP_PASS'],
  secret: ['secret', 'clientSecret', 'clientsecret', 'secret_id'],
  key: [
    'key',
    'apiKey',
    'api_key',
    'API_KEY',
    'APIKey',
    'apikey',
    'wifikey',
    'accessKeyId',
    'private key',
    'KEY',
  ],
  auth: ['auth', 'basicAuth', 'basicauth', 'AUTH', 'auth/header'],
  credential: ['credential', 'userCredential', 'credentials', 'awscredentials'],
  pin: ['pin', 'PIN', 'simPin', 'doorpin', 'sim_pin', 'pin-code', 'lock#pin'],
}

const shown = [
  'author',
  'authority',
  'keyboard_layout',
  'keyboard',
  'keyword',
  'passive',
  'passenger',
  'tokenizer',
  'max_tokens',
  'secretary',
  'pinned',
  'ping',
  'interval',
  'city',
  'user',
  'url',
  '',
  '__proto__',
  'constructor',
]

test('a key names a secret by how one of its parts ends, in any case', () => {
  for (const [word, names] of Object.entries(secret)) {
    assert.deepEqual(
      names.filter((name) => !isSecretName(name)),
      [],
      word,
    )
  }
  assert.deepEqual(shown.filter(isSecretName), [])
})

test('§3 what a log line hides is that, and whatever has such a word anywhere in its name', () => {
  const names = Object.values(secret).flat()
  const more = ['Authorization', 'bearer', 'userPassed', 'monkeys', 'tokens', 'keyboard']
  assert.deepEqual(
    [...names, ...more].filter((name) => !isSecretFieldName(name)),
    [],
  )
  assert.deepEqual(['city', 'name', 'ping', 'interval', ''].filter(isSecretFieldName), [])
})

test('a long name costs no time worth telling', () => {
  for (const part of ['a', 'A', 'aA', 'Aa', '_', 'key1']) assert.ok(!isSecretName(part.repeat(100_000)))
})
