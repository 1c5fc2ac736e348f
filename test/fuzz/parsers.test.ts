import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  MinisignError,
  parseMinisign,
  parsePublicKey,
  signingTime,
  verifyMinisign,
} from '../../src/base/keys/minisign.ts'
import { makeSecretKey, parseSecretKey, signMinisign } from '../../src/base/keys/minisign-secret-key.ts'
import { messageOf, Problem } from '../../src/base/problem.ts'
import { mayClientPublish, maySubscribe } from '../../src/schema/manifest/topic-rights.ts'
import { isFilter, isTopic } from '../../src/base/topic-filter.ts'
import { createTopics, decodeLevel, encodeLevel } from '../../src/schema/names/topics.ts'
import { decodeLine, encodeLine } from '../../src/journal/lines/journal-line.ts'
import { upcast, upcasters } from '../../src/journal/lines/upcast.ts'
import { checkConfig } from '../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../src/lifecycle/permissions/plugin-environment.ts'
import { readRequest } from '../../src/mqtt-api/mqtt-commands.ts'
import { readIndexFile } from '../../src/repository/index/index-file.ts'
import { isContainedPath } from '../../src/repository/sources/contained-file.ts'
import { SourceError } from '../../src/repository/sources/source.ts'
import { parseFullId } from '../../src/schema/names/identifier.ts'
import { parseHostFile } from '../../src/schema/journal/host-file.ts'
import { parseKeyValueFile } from '../../src/schema/files/key-value-file.ts'
import { allFiles, parseManifest } from '../../src/schema/manifest/manifest.ts'
import { parseStoredEvent } from '../../src/schema/journal/stored-event.ts'
import type { Config } from '../../src/schema/plugin/plugin.ts'
import { parseCommandLine } from '../../src/settings/command-line.ts'
import { SettingsError } from '../../src/settings/definitions.ts'
import { brokenText, bytes, json, mutated, nastyTexts, runs, text, wellFormed } from './arbitraries.ts'

/** Every pure parser: it answers, or throws its own kind of error with a sentence. Nothing else. */

const plugin = { fullId: '@fixtures/hello', namespace: 'fixtures', shortId: 'hello' }

const goodManifest = {
  id: 'hello',
  name: 'Hello',
  version: '1.0.0',
  description: 'Says hello',
  minHostVersion: '0.1.0',
  tags: ['a'],
  dependencies: ['@a/b@^1.0.0', { id: '@c/d', version: '1' }],
  files: ['init.lua', 'lib/x.lua'],
  configSchema: [
    { key: 'name', type: 'string', default: 'world', secret: true },
    { key: 'n', type: 'number', default: '60', min: 1, max: 10, env: 'N' },
  ],
  config: { mode: { enum: ['a', 'b'], required: true }, on: { type: 'boolean', default: 'yes' } },
  exports: {
    objects: { 'room.lamp': { type: 'Lamp' } },
    sensors: [{ id: 's', type: 'number', unit: 'x' }],
    controls: [{ id: 'c', type: 'number', range: '-5-10' }],
    events: [{ name: 'e' }],
  },
  docs: [{ title: 'Read me', file: 'README.md' }],
}

const goodIndex = {
  version: 1,
  name: 'Fixtures',
  namespace: 'fixtures',
  plugins: [
    {
      id: 'hello',
      name: 'Hello',
      version: '1.0.0',
      path: './hello/',
      sha256: { 'init.lua': 'a'.repeat(64) },
    },
    { id: '@fixtures/demo', name: 'Demo', version: '2.0.0', path: 'demo', tags: ['x'], files: ['init.lua'] },
  ],
}

const sentence = /\w.*\.$/s

test('a manifest of any bytes is taken or refused with a sentence, and what is taken stays in its directory', () => {
  fc.assert(
    fc.property(fc.oneof(brokenText(mutated(goodManifest)), brokenText(json()), bytes()), (source) => {
      try {
        const manifest = parseManifest(source, plugin)
        for (const file of allFiles(manifest)) assert.ok(isContainedPath(file), file)
        assert.ok(allFiles(manifest).length <= 200)
        const fields = normaliseFields(manifest)
        checkConfig(fields, {}, createHostEnvironment({}, undefined)({}))
      } catch (error) {
        assert.ok(error instanceof Problem, String(error))
        assert.equal(error.code, 'manifest_invalid')
        assert.match(error.message, sentence)
        for (const { path } of error.errors ?? []) assert.match(path, /^(\/|$)/)
      }
    }),
    { numRuns: runs },
  )
})

test('a manifest that is no JSON text at all is treated the same', () => {
  fc.assert(
    fc.property(fc.oneof(json(), mutated(goodManifest)), (value) => {
      try {
        parseManifest(value, plugin)
      } catch (error) {
        assert.ok(error instanceof Problem, String(error))
      }
    }),
    { numRuns: runs },
  )
})

test('an index of any bytes is taken or refused with what to do; a bad entry hides no other', () => {
  fc.assert(
    fc.property(fc.oneof(brokenText(mutated(goodIndex)), brokenText(json()), bytes()), (source) => {
      try {
        const { index } = readIndexFile(source)
        for (const { path } of index.plugins) assert.ok(path === '.' || isContainedPath(path), path)
      } catch (error) {
        assert.ok(error instanceof SourceError, String(error))
      }
    }),
    { numRuns: runs },
  )
  const spoilt = { ...goodIndex, plugins: [...nastyTexts, null, goodIndex.plugins[0]] }
  assert.equal(readIndexFile(Buffer.from(JSON.stringify(spoilt))).index.plugins.length, 1)
})

test('config rules answer for every manifest and every configuration, and let nothing through that they forbid', () => {
  const definitions = mutated({ configSchema: goodManifest.configSchema, config: goodManifest.config })
  const environments = fc.dictionary(fc.constantFrom('N', 'M', '__proto__'), text())
  const configs = fc.oneof(
    fc.dictionary(fc.oneof(fc.constantFrom('name', 'n', 'mode', 'on'), text()), json()),
    mutated({ name: 'x', n: 5, mode: 'a', on: true }),
  )
  fc.assert(
    fc.property(definitions, configs, environments, (given, config, environment) => {
      let manifest
      try {
        manifest = parseManifest({ id: 'hello', name: 'x', version: '1.0.0', ...(given as object) }, plugin)
      } catch {
        return
      }
      if (typeof config !== 'object' || config === null || Array.isArray(config)) return
      const fields = normaliseFields(manifest)
      const { errors, missing, effective } = checkConfig(
        fields,
        config as Config,
        createHostEnvironment(environment, undefined)({}),
      )
      for (const { path, message } of [...errors, ...missing]) {
        assert.match(path, /^\/config\//)
        assert.notEqual(message, '')
      }
      if (errors.length > 0) return
      for (const { key, type, max, default: fallback } of fields) {
        const value = Object.hasOwn(effective, key) ? effective[key] : undefined
        if (typeof value !== 'number' || type !== 'number' || value === fallback) continue
        if (max !== null) assert.ok(value <= max, `${key} is ${value}, more than ${max}`)
      }
      JSON.stringify(effective)
    }),
    { numRuns: runs },
  )
})

test('an MQTT request of any bytes is an object or refused with a sentence', () => {
  const good = { plugin: '@fixtures/hello', config: { a: 1 }, transaction: 7 }
  fc.assert(
    fc.property(fc.oneof(brokenText(mutated(good)), brokenText(json()), bytes()), (payload) => {
      try {
        assert.equal(typeof readRequest(payload), 'object')
      } catch (error) {
        assert.ok(error instanceof Problem, String(error))
        assert.match(error.message, sentence)
      }
    }),
    { numRuns: runs },
  )
})

test('topics and filters: any text has an answer, a level of any text comes back, and nobody speaks for the host', () => {
  const topics = createTopics('host')
  const level = fc.constantFrom(
    'host',
    'plugins',
    '@a',
    'b',
    'controls',
    'exposed',
    'set',
    'request',
    '+',
    '#',
    '$SYS',
  )
  const topic = fc.oneof(
    text(),
    fc.array(fc.oneof(level, text()), { maxLength: 9 }).map((parts) => parts.join('/')),
  )
  fc.assert(
    fc.property(topic, (given) => {
      isFilter(given)
      maySubscribe(given)
      decodeLevel(given)
      if (mayClientPublish('host', given)) {
        assert.ok(isTopic(given))
        assert.ok(!given.startsWith('$SYS'))
        if (given === 'host' || given.startsWith('host/'))
          assert.match(given, /\/set$|^host\/request\/[^/]+$/s)
      }
      const safe = encodeLevel(given)
      assert.doesNotMatch(safe, /[+#/\u0000]/)
      if (wellFormed(given) === given) assert.equal(decodeLevel(safe), given)
      topics.parseControlSet(given)
      topics.parseExposedSet(given)
      topics.parseRequest(given)
      const identifier = parseFullId(given)
      if (identifier !== undefined) assert.equal(identifier.fullId, given)
    }),
    { numRuns: runs * 2 },
  )
})

test('a line of the journal is what was written, or is not believed', () => {
  const event = {
    version: 1,
    seq: 1,
    id: 'x',
    at: '2026-01-01T00:00:00.000Z',
    type: 'PluginConfigured',
    plugin: '@a/b',
    data: { config: { a: 1 } },
    revision: 1,
    by: 'http',
    state: 'installed',
  }
  fc.assert(
    fc.property(
      fc.oneof(mutated(event), json()),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (value, at, mask) => {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return
        const line = encodeLine(value)
        const read = decodeLine(Buffer.from(line))
        if (read.ok) {
          assert.equal(JSON.stringify(read.value), JSON.stringify(value))
          // What is believed may still be no event.
          try {
            const stored = parseStoredEvent(upcast(read.value, upcasters))
            if (!stored.ok) assert.ok(stored.errors.length > 0)
          } catch (error) {
            assert.match(messageOf(error), /version|format/)
          }
        }
        const flipped = Buffer.from(line)
        const place = at % flipped.length
        flipped[place] = (flipped[place] ?? 0) ^ mask
        assert.equal(decodeLine(flipped).ok, false)
      },
    ),
    { numRuns: runs },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        text().map((line) => Buffer.from(line)),
      ),
      (line) => void decodeLine(line),
    ),
    { numRuns: runs },
  )
})

test('.host.json and key-value files: any JSON has an answer', () => {
  const hostFile = {
    version: 1,
    host: { id: 'h' },
    repositories: [{ name: 'r', url: './r' }],
    plugins: {
      installed: [{ id: '@a/b', version: '1.0.0', enabled: true, config: { a: 1 }, integrity: {} }],
    },
    journal: { seq: 3 },
  }
  const store = { version: 1, entries: { a: { value: 1, expiresAt: 5, secure: true } } }
  fc.assert(
    fc.property(fc.oneof(mutated(hostFile), mutated(store), json()), (value) => {
      for (const parse of [parseHostFile, parseKeyValueFile]) {
        const parsed = parse(value)
        if (!parsed.ok) assert.ok(parsed.errors.length > 0)
      }
    }),
    { numRuns: runs },
  )
})

test('a command line and an environment of any text are settings, or refused in one line', () => {
  const flags = [
    '--http-port',
    '--mqtt-url',
    '--data-dir',
    '--http-rewrite',
    '--host-id',
    '--token',
    '--',
    'repair',
  ]
  const word = fc.oneof(
    fc.constantFrom(...flags),
    text(),
    text().map((value) => `--http-port=${value}`),
  )
  const names = [
    'HOST_HTTP_PORT',
    'HOST_MQTT_URL',
    'HOST_MQTT_ROOT',
    'HOST_HTTP_REWRITE',
    'HOST_PLUGIN_LIMITS',
    'HOST_ID',
    'HOST_LOG_LEVEL',
    'HOST_ISOLATION',
    'HOST_DISCOVERY_PREFIX',
    'HOST_TLS_CERT_FILE',
  ]
  const environment = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(text(), brokenText(json()).map(String)),
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), environment, fc.boolean(), (words, variables, terminal) => {
      try {
        const line = parseCommandLine(words, variables, terminal)
        if (line.command !== 'start' && line.command !== 'repair') return
        assert.ok(line.settings.httpPort >= 0 && line.settings.httpPort <= 65_535)
        assert.ok(isTopic(line.settings.mqttRoot), line.settings.mqttRoot)
      } catch (error) {
        assert.ok(error instanceof SettingsError, String(error))
        assert.match(error.message, sentence)
        assert.doesNotMatch(error.message, /\n/)
      }
    }),
    { numRuns: runs * 2 },
  )
})

const { key: signer, text: secretText } = makeSecretKey()
const otherSigner = makeSecretKey().key
const message = Buffer.from('{"version":1}')
const goodSignature = signMinisign(message, 'plugins.json', 1_700_000_000, signer)

/** A good text with a line that is missing, twice, cut, or something else. */
const damaged = (good: string): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(fc.nat(4), fc.constantFrom('drop', 'double', 'cut', 'replace', 'insert'), fc.nat(120), text()),
      { minLength: 1, maxLength: 3 },
    )
    .map((changes) => {
      const lines = good.split('\n')
      for (const [position, change, at, other] of changes) {
        const line = lines[position] ?? ''
        if (change === 'drop') lines.splice(position, 1)
        else if (change === 'double') lines.splice(position, 0, line)
        else if (change === 'cut') lines[position] = line.slice(0, at)
        else if (change === 'insert') lines[position] = line.slice(0, at) + other + line.slice(at)
        else lines[position] = other
      }
      return lines.join('\n')
    })

test('a signature of any bytes is the one that the key made of the content, or refused with a sentence', () => {
  const anyBytes = fc.oneof(
    damaged(goodSignature).map((content) => Buffer.from(content)),
    bytes(),
    fc.constant(Buffer.from(signMinisign(message, 'x', 1, otherSigner))),
    fc.tuple(fc.nat(goodSignature.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
      const changed = Buffer.from(goodSignature)
      changed[at] = (changed[at] ?? 0) ^ mask
      return changed
    }),
  )
  const good = parseMinisign(Buffer.from(goodSignature))
  fc.assert(
    fc.property(anyBytes, (content) => {
      try {
        const signed = parseMinisign(content)
        signingTime(signed)
        verifyMinisign(message, signed, signer.public)
        // The untrusted comment and the ends of lines may be others; what is believed may not.
        assert.deepEqual(signed, good)
      } catch (error) {
        assert.ok(error instanceof MinisignError, String(error))
        assert.match(error.message, /^(is|has|uses|does) \w+/)
      }
    }),
    { numRuns: runs },
  )
})

test('a public or secret key of any text is taken whole, or refused with a sentence that does not repeat it', () => {
  const good = `untrusted comment: x\n${signer.public.text}\n`
  const anyText = fc.oneof(damaged(good), damaged(secretText), text())
  fc.assert(
    fc.property(anyText, (content) => {
      for (const [parse, expected] of [
        [parsePublicKey, (found: unknown) => (found as typeof signer.public).text],
        [parseSecretKey, (found: unknown) => (found as typeof signer).public.text],
      ] as const) {
        try {
          assert.match(expected(parse(content)), /^RW[Q-T][A-Za-z0-9+/]{53}$/)
        } catch (error) {
          assert.ok(error instanceof MinisignError, String(error))
          assert.match(error.message, /^(is|has) \w+/)
          const [, line = ''] = secretText.split('\n')
          assert.ok(!error.message.includes(line.slice(80, 100)), 'a secret in a message')
        }
      }
    }),
    { numRuns: runs },
  )
})
