import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../src/base/problem.ts'
import { identifierOf } from '../../src/schema/identifier.ts'
import {
  allFiles,
  luaFiles,
  type Manifest,
  manifestJsonSchema,
  parseManifest,
} from '../../src/schema/manifest.ts'

const clock = identifierOf('@test/clock')
const minimal = { id: 'clock', name: 'Clock', version: '1.0.0' }

function refusal(source: unknown): { message: string; errors: [string, string][] } {
  try {
    parseManifest(typeof source === 'string' ? new TextEncoder().encode(source) : source, clock)
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.code, 'manifest_invalid')
    return {
      message: error.message,
      errors: (error.errors ?? []).map(({ path, message }) => [path, message]),
    }
  }
  throw new Error('It should have been refused.')
}

test('what people write in manifests is accepted, and kept as it is', () => {
  const accepted: Record<string, unknown>[] = [
    minimal,
    { ...minimal, id: '@test/clock' },
    { ...minimal, version: 'v1.0.0-beta.1+build.5' },
    { ...minimal, requires: { lupine: '>=1.0.0', modules: ['http', 'timer'] } },
    {
      ...minimal,
      config: {},
      configSchema: [],
      exports: {},
      docs: [],
      dependencies: [],
      tags: [],
      files: [],
    },
    { ...minimal, config: { mode: { enum: ['a', 1, null] }, key: { secret: true, hint: 'x' } } },
    { ...minimal, configSchema: [{ key: 'x', type: 'number', default: '5', placeholder: 'five' }] },
    { ...minimal, exports: { controls: [{ id: 'level', type: 'number' }], other: 1 } },
    { ...minimal, exports: { controls: [{ id: 'level', type: 'number', range: '-10--5' }] } },
    { ...minimal, exports: { sensors: [{ id: '<device>_power', type: 'number', unit: 'W' }] } },
    {
      ...minimal,
      exports: { objects: { 'a.b': { type: 'Lamp', more: [] } }, events: [{ name: 'clock:tick' }] },
    },
    {
      ...minimal,
      dependencies: ['@a/b', '@a/b@^1.0.0', 'short', { id: '@a/b', version: '1.x' }, { id: 'c' }],
    },
    { ...minimal, configSchema: [{ key: '__proto__', type: 'string' }] },
    { ...minimal, tag: 'time', nested: { anything: [null] } },
  ]
  for (const manifest of accepted) {
    const text = JSON.stringify(manifest)
    assert.deepEqual(parseManifest(new TextEncoder().encode(text), clock), manifest, text)
    assert.deepEqual(parseManifest(manifest, clock), manifest)
  }
  assert.deepEqual(
    parseManifest(new TextEncoder().encode(`\ufeff${JSON.stringify(minimal)}`), clock),
    minimal,
  )
})

test('what is no JSON object is told of in one sentence', () => {
  const sentences: [string, RegExp][] = [
    ['', /is empty\.$/],
    ['[]', /must be a JSON object, not an array\.$/],
    ['null', /not null\.$/],
    ['"text"', /not a string\.$/],
    ['{"id": "clock",}', /is not valid JSON \(line 1, column 16\)\.$/],
    [`${JSON.stringify(minimal)}\0`, /NUL bytes/],
    ['<html>', /is a web page, not JSON/],
    [`{"x": ${'['.repeat(70)}${']'.repeat(70)}}`, /nests deeper than 64 levels/],
  ]
  for (const [text, sentence] of sentences) {
    const { message } = refusal(text)
    assert.match(message, /^The plugin\.json of @test\/clock /)
    assert.match(message, sentence)
  }
  assert.match(refusal(Buffer.from([0x7b, 0xff])).message, /is not UTF-8 text/)
})

test('everything that is wrong is told at once, each with its place', () => {
  const { message, errors } = refusal(
    JSON.stringify({
      id: 'lamp',
      version: '1.0',
      minHostVersion: 5,
      tags: 'time',
      files: ['../a.lua', '/etc/passwd', 'ok.lua', 'a\\b.lua', '%2e%2e/b.lua', ''],
      docs: [{ title: 'Read me' }, { title: 'x', file: 'docs/../../x' }],
      dependencies: [5, ''],
      configSchema: [{ type: 'number' }, { key: 'a', type: 'text' }],
      config: { 'a/b': { min: 'low' }, 'line\nbreak': { min: 'low' } },
      exports: { sensors: [{ id: 's' }], controls: [{ id: 'c', type: 'number', range: 'wide' }] },
    }),
  )
  const path = 'must be a relative path with forward slashes that does not leave the directory'
  const dependency =
    'must be a plugin id ("@namespace/id"), with a version range ("@namespace/id@^1.2.0"), or {id, version}'
  assert.deepEqual(
    errors.sort(([left], [right]) => (left < right ? -1 : 1)),
    [
      ['/config/a~1b/min', 'must be number'],
      ['/config/line\nbreak/min', 'must be number'],
      ['/configSchema/0/key', 'is required'],
      ['/configSchema/1/type', 'must be one of "string", "number", "boolean"'],
      ['/dependencies/0', dependency],
      ['/dependencies/1', dependency],
      ['/docs/0/file', 'is required'],
      ['/docs/1/file', path],
      ['/exports/controls/0/range', 'must be a range <min>-<max>, such as 0-100'],
      ['/exports/sensors/0/type', 'is required'],
      ['/files/0', path],
      ['/files/1', path],
      ['/files/3', path],
      ['/files/4', path],
      ['/files/5', path],
      ['/id', 'must be "clock" or "@test/clock"'],
      ['/minHostVersion', 'must be string'],
      ['/name', 'is required'],
      ['/tags', 'must be array'],
      ['/version', 'must be a semantic version, such as 1.2.3'],
    ].sort(([left = ''], [right = '']) => (left < right ? -1 : 1)),
  )
  assert.match(message, /, and 19 more\.$/)
})

test('many errors are all told', () => {
  const files = Array.from({ length: 100 }, (_, index) => `../${index}`)
  assert.equal(refusal({ ...minimal, files }).errors.length, 100)
})

test('a member or a key that is there twice is an error, for one of the two would be lost', () => {
  assert.deepEqual(
    refusal('{"id":"clock","name":"a","version":"1.0.0","na\\u006de":"b","x":[{"y":1,"y":2}]}').errors,
    [
      ['/name', 'is there twice'],
      ['/x/0/y', 'is there twice'],
    ],
  )
  assert.deepEqual(refusal({ ...minimal, configSchema: [{ key: 'a' }, { key: 'b' }, { key: 'a' }] }).errors, [
    ['/configSchema/2/key', '"a" is there twice'],
  ])
})

test('files that cannot be stored side by side, or are too many, are an error', () => {
  assert.deepEqual(refusal({ ...minimal, files: ['lib', 'lib/a.lua'] }).errors, [
    ['/files/1', '"lib" cannot be a file and a folder'],
  ])
  assert.deepEqual(refusal({ ...minimal, docs: [{ title: 'x', file: 'init.lua/x' }] }).errors, [
    ['/docs/0/file', '"init.lua" cannot be a file and a folder'],
  ])
  const many = Array.from({ length: 150 }, (_, index) => `${index}.lua`)
  const docs = Array.from({ length: 60 }, (_, index) => ({ title: 'x', file: `${index}.md` }))
  assert.deepEqual(refusal({ ...minimal, files: many, docs }).errors, [
    ['/files', 'names 212 files; a plugin has at most 200'],
  ])
})

test('the files of a plugin are named once each, with the entry and the manifest', () => {
  const manifest = {
    ...minimal,
    files: ['a.lua', 'a.lua', 'b.lua'],
    docs: [
      { title: 'x', file: 'a.lua' },
      { title: 'y', file: 'README.md' },
    ],
  } satisfies Manifest
  assert.deepEqual(luaFiles(minimal), ['init.lua'])
  assert.deepEqual(luaFiles(manifest), ['init.lua', 'a.lua', 'b.lua'])
  assert.deepEqual(allFiles(manifest), ['plugin.json', 'init.lua', 'a.lua', 'b.lua', 'README.md'])
})

test('the JSON Schema for editors is plain JSON, and describes every member', () => {
  const schema = JSON.parse(JSON.stringify(manifestJsonSchema))
  assert.deepEqual(manifestJsonSchema, schema)
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.deepEqual(schema.required, ['id', 'name', 'version'])
  assert.deepEqual(
    [schema.properties.configSchema, schema.properties.config, schema.properties.docs].map(
      (member) => typeof member.description,
    ),
    ['string', 'string', 'string'],
  )
})
