import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import { identifierOf } from '../../../src/schema/names/identifier.ts'
import {
  allFiles,
  luaFiles,
  type Manifest,
  manifestJsonSchema,
  parseManifest,
} from '../../../src/schema/manifest/manifest.ts'
import { parseJsonText } from '../../../src/schema/parsing/json-text.ts'

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

test('everything that stops a plugin is told at once, each with its place', () => {
  const { message, errors } = refusal(
    JSON.stringify({
      id: 'lamp',
      version: 'one',
      tags: 'time',
      files: ['../a.lua', '/etc/passwd', 'ok.lua', 'a\\b.lua', '%2e%2e/b.lua', '', 5],
      docs: [{ title: 'Read me' }, { title: 'x', file: 'docs/../../x' }, '../y', './../z', ''],
      configSchema: [{ type: 'number' }, { key: '' }, { key: 5 }, 'token'],
      permissions: { hosts: 'everywhere' },
      exports: { controls: [{ id: 'c', type: 'number', range: 'wide' }] },
    }),
  )
  const path = 'must be a relative path with forward slashes that does not leave the directory'
  assert.deepEqual(
    errors.map(([place]) => place).sort(),
    [
      '/configSchema/0/key',
      '/configSchema/1/key',
      '/configSchema/2/key',
      '/configSchema/3',
      '/docs/1/file',
      '/docs/2/file',
      '/docs/3/file',
      '/docs/4/file',
      '/files/0',
      '/files/1',
      '/files/3',
      '/files/4',
      '/files/5',
      '/files/6',
      '/id',
      '/name',
      '/permissions/hosts',
      '/version',
    ].sort(),
  )
  const messages = new Map(errors)
  assert.deepEqual(
    ['/files/0', '/docs/1/file', '/configSchema/0/key', '/name', '/id', '/version'].map((place) =>
      messages.get(place),
    ),
    [
      path,
      path,
      'is required',
      'is required',
      'must be "clock" or "@test/clock"',
      'must be a semantic version, such as 1.2.3',
    ],
  )
  assert.match(message, /, and 17 more\.$/)
})

test('a path that no disk takes, or not as it is written, and a version without end are an error', () => {
  const files = [
    'init.lua',
    `${'a'.repeat(251)}.lua`,
    `${'a'.repeat(252)}.lua`,
    'a\u0007',
    'a/b\n',
    'a\u007f',
    'a\ud800',
  ]
  const version = (build: number): string => `1.0.0+${'a'.repeat(build)}`
  assert.deepEqual(
    refusal(JSON.stringify({ ...minimal, files, version: version(251) })).errors.map(([path]) => path),
    ['/version', '/files/2', '/files/3', '/files/4', '/files/5', '/files/6'],
  )
  assert.equal(parseManifest({ ...minimal, version: version(250) }, clock).version, version(250))
})

test('names that every object knows, and warnings that a manifest has written itself, mean nothing', () => {
  const own = { valueOf: 1, constructor: 'x', hasOwnProperty: null }
  const warnings = [{ path: '', message: 'all is well' }]
  assert.deepEqual(parseManifest({ ...minimal, ...own, warnings }, clock), { ...minimal, ...own })
})

test('a definition whose key has a line break is looked at like any other', () => {
  const { config, warnings } = parseManifest({ ...minimal, config: { 'a\nb': 5 } }, clock)
  assert.deepEqual([config, warnings?.map(({ path }) => path)], [{}, ['/config/a\nb']])
})

test('one list of permissions has a hundred entries at most', () => {
  const hosts = Array.from({ length: 101 }, (_, at) => `h${at}.example`)
  assert.deepEqual(
    refusal({ ...minimal, permissions: { hosts } }).errors.map(([path]) => path),
    ['/permissions/hosts'],
  )
  const listed = parseManifest({ ...minimal, permissions: { hosts: hosts.slice(1) } }, clock)
  assert.equal(listed.permissions?.hosts?.length, 100)
})

/** Members as people write them, and as they are read. */
const readAs: [Record<string, unknown>, Record<string, unknown>][] = [
  [{ description: null, author: null, permissions: null, files: null }, {}],
  [{ exports: null, config: null, configSchema: null, docs: null, dependencies: null, tags: null }, {}],
  [{ exports: { sensors: null, controls: [null], objects: null } }, { exports: { controls: [] } }],
  [{ permissions: { hosts: ['a.example'], serial: null } }, { permissions: { hosts: ['a.example'] } }],
  [
    { config: { mode: { enum: ['a', null], default: null, label: null, type: null } } },
    { config: { mode: { enum: ['a', null] } } },
  ],
  [{ author: { name: 'Ada', email: 'ada@example.com' } }, { author: 'Ada' }],
  [{ version: '1.0' }, { version: '1.0.0' }],
  [{ version: '2' }, { version: '2.0.0' }],
  [{ version: 1.2 }, { version: '1.2.0' }],
  [{ version: ' v1.2-beta.1+5 ' }, { version: 'v1.2.0-beta.1+5' }],
  [{ minHostVersion: '1.0' }, { minHostVersion: '1.0.0' }],
  [{ minHostVersion: 1 }, { minHostVersion: '1.0.0' }],
  [
    { exports: { sensors: [{ id: 's' }], controls: [{ id: 'c' }] } },
    { exports: { sensors: [{ id: 's' }], controls: [{ id: 'c' }] } },
  ],
  [
    { exports: { controls: [{ id: 'c', type: 'number', range: ' -10 - -5 ' }] } },
    { exports: { controls: [{ id: 'c', type: 'number', range: '-10--5' }] } },
  ],
  [
    { docs: ['README.md', './docs/setup.md', { file: 'docs/a.md' }, { title: null, file: 'b.md', x: 1 }] },
    {
      docs: [
        { title: 'README.md', file: 'README.md' },
        { title: 'setup.md', file: 'docs/setup.md' },
        { title: 'a.md', file: 'docs/a.md' },
        { title: 'b.md', file: 'b.md', x: 1 },
      ],
    },
  ],
  [{ files: ['./init.lua', 'lib/a.lua'] }, { files: ['init.lua', 'lib/a.lua'] }],
  ...['string', 'number', 'boolean', 'text', 'password', 'select', 'integer'].map(
    (type): [Record<string, unknown>, Record<string, unknown>] => [
      { configSchema: [{ key: 'a', type }] },
      { configSchema: [{ key: 'a', type }] },
    ],
  ),
  [
    { configSchema: [{ key: 'a', env: '', min: '1', max: ' 2.5 ', required: 'true', secret: 'false' }] },
    { configSchema: [{ key: 'a', env: '', min: 1, max: 2.5, required: true, secret: false }] },
  ],
  [{ config: { a: { min: '', max: '-3' } } }, { config: { a: { max: -3 } } }],
  [
    {
      dependencies: [
        { id: '@a/b', optional: true },
        { id: 'c', version: null },
      ],
    },
    { dependencies: [{ id: '@a/b', optional: true }, { id: 'c' }] },
  ],
]

test('what is meant well is read as it is meant, without a word', () => {
  for (const [written, read] of readAs) {
    const unread = Object.fromEntries(Object.keys(written).map((member) => [member, undefined]))
    const expected = JSON.parse(JSON.stringify({ ...minimal, ...unread, ...read }))
    assert.deepEqual(parseManifest({ ...minimal, ...written }, clock), expected, JSON.stringify(written))
  }
})

/** Members with something broken in them, what is left of them, and the places that are told. */
const leftOut: [Record<string, unknown>, Record<string, unknown>, string[]][] = [
  [{ exports: 5 }, {}, ['/exports']],
  [
    { exports: { sensors: {}, events: [{ name: 'e' }] } },
    { exports: { events: [{ name: 'e' }] } },
    ['/exports/sensors'],
  ],
  [
    { exports: { sensors: [{ type: 'number' }, 'x', { id: 's', unit: 5 }], events: [{ name: '' }] } },
    { exports: { sensors: [{ id: 's' }], events: [] } },
    ['/exports/sensors/0/id', '/exports/sensors/1', '/exports/sensors/2/unit', '/exports/events/0/name'],
  ],
  [
    {
      exports: {
        controls: [
          { id: 'c', type: 'number', range: 'wide' },
          { id: 'd', range: 5 },
        ],
      },
    },
    { exports: { controls: [{ id: 'c', type: 'number' }, { id: 'd' }] } },
    ['/exports/controls/0/range', '/exports/controls/1/range'],
  ],
  [
    { exports: { objects: { 'a/b': 5, c: { type: 1 }, more: {} } } },
    { exports: { objects: { c: {}, more: {} } } },
    ['/exports/objects/a~1b', '/exports/objects/c/type'],
  ],
  [
    { dependencies: [5, '@a/b', '', { name: 'x' }] },
    { dependencies: ['@a/b'] },
    ['/dependencies/0', '/dependencies/2', '/dependencies/3'],
  ],
  [{ dependencies: { '@a/b': '^1' } }, {}, ['/dependencies']],
  [
    { docs: [{ title: 'x' }, 5, 'a.md'] },
    { docs: [{ title: 'a.md', file: 'a.md' }] },
    ['/docs/0/file', '/docs/1'],
  ],
  [
    { tags: 'time', author: {}, homepage: 5, minHostVersion: 'new' },
    {},
    [...['/author', '/homepage', '/minHostVersion', '/tags']],
  ],
  [
    { configSchema: [{ key: 'a', type: 'colour', min: 'low', label: 5, secret: true }] },
    { configSchema: [{ key: 'a', secret: true }] },
    ['/configSchema/0/label', '/configSchema/0/min', '/configSchema/0/type'],
  ],
  [{ config: { a: 'string', b: { enum: 'x' } } }, { config: { b: {} } }, ['/config/a', '/config/b/enum']],
]

test('what is broken and can be done without is left out, and told', () => {
  for (const [written, left, places] of leftOut) {
    const { warnings = [], ...manifest } = parseManifest({ ...minimal, ...written }, clock)
    assert.deepEqual(manifest, { ...minimal, ...left }, JSON.stringify(written))
    assert.deepEqual(warnings.map(({ path }) => path).sort(), places.sort(), JSON.stringify(written))
    for (const { message } of warnings) assert.match(message, /; it is left out$/)
  }
})

test('a manifest with more mistakes than anybody reads is read all the same, and soon', () => {
  const sensors = Array.from({ length: 50_000 }, () => 5)
  const { exports, warnings = [] } = parseManifest({ ...minimal, exports: { sensors } }, clock)
  assert.equal(exports, undefined)
  assert.equal(warnings.length, 50)
})

test('what has more mistakes than a person makes is left out as a whole', () => {
  const exports = (mistakes: number): object => ({
    sensors: Array.from({ length: mistakes }, () => 5),
    controls: [{ id: 'level' }],
  })
  const few = parseManifest({ ...minimal, exports: exports(150) }, clock)
  assert.deepEqual(few.exports, { sensors: [], controls: [{ id: 'level' }] })
  const many = parseManifest({ ...minimal, exports: exports(151), tags: ['a', 5] }, clock)
  assert.deepEqual([many.exports, many.tags], [undefined, undefined])
})

test('many errors are all told', () => {
  const files = Array.from({ length: 100 }, (_, index) => `../${index}`)
  assert.equal(refusal({ ...minimal, files }).errors.length, 100)
})

test('of thousands of errors within the fields of one setting the first ones are told, however it is called', () => {
  const shapes: [what: string, config: (key: string) => object][] = [
    ['what is no field', (key) => ({ [key]: { fields: Array.from({ length: 5_000 }, () => 0) } })],
    ['fields without a key', (key) => ({ [key]: { fields: Array.from({ length: 5_000 }, () => ({})) } })],
    ['keys that meet', (key) => ({ [key]: { fields: Array.from({ length: 5_000 }, () => ({ key: 'a' })) } })],
    [
      'values that are none',
      (key) => ({ [key]: { items: { fields: Array.from({ length: 5_000 }, () => '') } } }),
    ],
  ]
  for (const [what, config] of shapes) {
    for (const [key, least] of [
      ['a', 100],
      ['a'.repeat(1_000), 30],
      ['a'.repeat(100_000), 1],
    ] as const) {
      const { errors } = refusal(JSON.stringify({ ...minimal, config: config(key) }))
      assert.ok(errors.length >= least && errors.length <= 200, `${what}: ${errors.length}`)
      const length = errors.reduce((sum, [path]) => sum + path.length, 0)
      assert.ok(length < 200_000, `${what}: ${length}`)
    }
  }
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
    ['/files', 'has 212 files; a plugin has at most 200'],
  ])
})

test('dependencies without end are an error', () => {
  const dependencies = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `other-${index}`)
  assert.equal(
    parseManifest({ ...minimal, dependencies: dependencies(1_000) }, clock).dependencies?.length,
    1_000,
  )
  assert.deepEqual(refusal({ ...minimal, dependencies: dependencies(1_001) }).errors, [
    ['/dependencies', 'has 1001 dependencies; a plugin has at most 1000'],
  ])
})

test('settings without end are an error, also within lists and objects', () => {
  const fields = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ key: `k${index}` }))
  assert.equal(parseManifest({ ...minimal, configSchema: fields(1_000) }, clock).configSchema?.length, 1_000)
  assert.deepEqual(refusal({ ...minimal, configSchema: fields(1_001) }).errors, [
    ['/configSchema', 'has 1001 settings; a plugin has at most 1000'],
  ])
  const rows = { type: 'list', fields: [{ key: 'row', type: 'object', fields: fields(600) }] }
  const names = { type: 'list', items: { type: 'object', fields: fields(600) } }
  assert.deepEqual(refusal({ ...minimal, config: { rows, names } }).errors, [
    ['/config', 'has 1204 settings; a plugin has at most 1000'],
  ])
})

test('defaults that take too long to check are an error, wherever their rows, columns and choices stand', () => {
  const zeros = (count: number): number[] => Array.from({ length: count }, () => 0)
  const columns = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ key: `k${index}` }))
  const rows = (count: number): object[] => Array.from({ length: count }, () => ({}))
  const choices = Array.from({ length: 5_000 }, (_, index) => index + 1)
  const list = { key: 'a', type: 'list' }
  const accepted: object[] = [
    { configSchema: [{ ...list, fields: columns(100), default: rows(1_000) }] },
    { configSchema: [{ ...list, items: { type: 'number', enum: choices }, default: zeros(200) }] },
    { configSchema: [{ key: 'a', enum: choices, default: 1, showIf: { b: choices } }] },
    // Each by itself is little work.
    {
      configSchema: [
        { ...list, fields: columns(900) },
        { ...list, key: 'b', items: {}, default: zeros(5_000) },
      ],
    },
  ]
  for (const more of accepted) assert.equal(parseManifest({ ...minimal, ...more }, clock).warnings, undefined)
  const refused: [what: string, more: object][] = [
    ['rows and columns', { configSchema: [{ ...list, fields: columns(900), default: rows(5_000) }] }],
    [
      'rows as JSON',
      { config: { a: { type: 'list', fields: columns(900), default: JSON.stringify(rows(5_000)) } } },
    ],
    [
      'rows as lines',
      { configSchema: [{ ...list, fields: columns(900), lines: ['{k1}'], default: 'a\n'.repeat(5_000) }] },
    ],
    ['values and choices', { configSchema: [{ ...list, items: { enum: choices }, default: zeros(5_000) }] }],
    [
      'rows and conditions',
      { configSchema: [{ ...list, fields: [{ key: 'b', showIf: { a: choices } }], default: rows(5_000) }] },
    ],
    [
      'rows of rows',
      {
        configSchema: [
          {
            ...list,
            fields: [{ ...list, key: 'b', fields: columns(100), default: rows(100) }],
            default: rows(100),
          },
        ],
      },
    ],
    [
      'values here and choices there',
      {
        configSchema: [{ ...list, default: zeros(5_000) }],
        config: { a: { items: { enum: choices } } },
      },
    ],
  ]
  for (const [what, more] of refused) {
    const { errors } = refusal({ ...minimal, ...more })
    assert.deepEqual(
      errors.map(([path]) => path),
      [''],
      what,
    )
    assert.match(errors[0]?.[1] ?? '', /^has defaults of so many values/, what)
  }
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

/** Lists of lists: `depth` of them. */
const nested = (depth: number): object =>
  depth === 0 ? { type: 'string' } : { type: 'list', items: nested(depth - 1) }

test('lists and objects nest four deep, and each field within has a key of its own', () => {
  const config = { deep: nested(4), other: { type: 'object', fields: [{ key: 'a', ...nested(3) }] } }
  assert.deepEqual(parseManifest({ ...minimal, config }, clock).config, config)
  const { errors } = refusal({
    ...minimal,
    configSchema: [
      { key: 'a', ...nested(5) },
      { key: 'b', type: 'list', fields: [{ key: 'x' }, { key: 'x' }] },
    ],
    config: { c: { type: 'object', fields: [{ key: 'd', ...nested(4) }] } },
  })
  const tooDeep = 'is a list or an object in 4 others; 4 is the limit'
  assert.deepEqual(errors, [
    ['/configSchema/0/items/items/items/items/type', tooDeep],
    ['/configSchema/1/fields/1/key', '"x" is there twice'],
    ['/config/c/fields/0/items/items/items/type', tooDeep],
  ])
  const keyless = refusal({
    ...minimal,
    configSchema: [{ key: 'a', type: 'list', fields: [{ type: 'string' }, 'x'] }],
    config: { b: { type: 'list', items: { type: 'object', fields: [{ key: '' }] } } },
  })
  assert.deepEqual(
    keyless.errors.map(([path]) => path),
    ['/configSchema/0/fields/0/key', '/configSchema/0/fields/1', '/config/b/items/fields/0/key'],
  )
})

test('a member that nearly is one of a manifest is told, and one of somebody’s own is not', () => {
  const { warnings } = parseManifest(
    {
      ...minimal,
      ...{
        permission: {},
        dependancies: ['lamp'],
        config_schema: [],
        'config~': {},
        icon: 'x',
        keywords: ['a'],
      },
      permissions: { host: ['a.example'], network: true },
      configSchema: [{ key: 'a', requird: true, hint: 'x' }],
    },
    clock,
  )
  assert.deepEqual(
    warnings?.map(({ path, message }) => `${path} ${message}`),
    [
      '/permission is not known; did you mean: "permissions"?',
      '/dependancies is not known; did you mean: "dependencies"?',
      '/config_schema is not known; did you mean: "configSchema"?',
      '/config~0 is not known; did you mean: "config"?',
      '/permissions/host is not known; did you mean: "hosts"?',
      '/configSchema/0/requird is not known; did you mean: "required"?',
    ],
  )
  // Of more of them than anybody has, the first are looked at.
  const own = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`own-member-${index}`, index]))
  assert.equal(parseManifest({ ...minimal, ...own, permission: {} }, clock).warnings, undefined)
})

test('what is broken within a field is left out of it, and what is meant well is taken', () => {
  const { configSchema, config, warnings } = parseManifest(
    {
      ...minimal,
      configSchema: [
        {
          key: 'a',
          type: 'list',
          minItems: '1',
          maxItems: -1,
          advanced: 'true',
          suggest: 'weather',
          fields: { from: { type: 'string', min: '2', unit: null }, to: { type: 'strong', secret: 'true' } },
        },
      ],
      config: { b: { type: 'list', items: 'string' }, c: { type: 'object', fields: 5, showIf: 'a' } },
    },
    clock,
  )
  assert.deepEqual(configSchema, [
    {
      key: 'a',
      type: 'list',
      minItems: 1,
      advanced: true,
      fields: [
        { key: 'from', type: 'string', min: 2 },
        { key: 'to', secret: true },
      ],
    },
  ])
  assert.deepEqual(config, { b: { type: 'list' }, c: { type: 'object' } })
  assert.deepEqual(warnings?.map(({ path }) => path).sort(), [
    '/config/b',
    '/config/b/items',
    '/config/c/fields',
    '/config/c/showIf',
    '/configSchema/0/fields/1/type',
    '/configSchema/0/maxItems',
    '/configSchema/0/suggest',
  ])
})

test('a list that does not say what it holds, or twice, is told of', () => {
  const { warnings } = parseManifest(
    {
      ...minimal,
      configSchema: [{ key: 'a', type: 'list' }],
      config: { b: { type: 'object', fields: [{ key: 'c', type: 'list', items: {}, fields: [] }] } },
    },
    clock,
  )
  assert.deepEqual(warnings, [
    { path: '/configSchema/0', message: 'is a list with neither items nor fields; any value is taken in it' },
    { path: '/config/b/fields/0/items', message: 'stands beside fields; it is left out' },
  ])
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

test('a name, a description or an author without end is cut, with a warning for each', () => {
  const long = 'x'.repeat(100_000)
  const written = { ...minimal, name: long, description: long, author: long }
  const { name, description = '', author = '', warnings } = parseManifest(written, clock)
  assert.deepEqual(
    [name, description, author].map((text) => Buffer.byteLength(text)),
    [512, 4096, 512],
  )
  assert.deepEqual(
    warnings?.map(({ path }) => path),
    ['/name', '/description', '/author'],
  )
  assert.equal(parseManifest({ ...minimal, author: { name: 'Ada' } }, clock).warnings, undefined)
})

test('no text of a manifest that lists show is without end: it is cut, or left out if half of it is of no use', () => {
  const long = 'x'.repeat(10_000)
  const texts = { label: long, description: long, placeholder: long, unit: long, group: long }
  const manifest = parseManifest(
    {
      ...minimal,
      ...{
        homepage: `https://example.org/${long}`,
        license: long,
        tags: [long, ...Array<string>(200).fill('a')],
      },
      configSchema: [
        { key: 'a', type: 'list', fields: [{ key: 'b', type: 'string', default: long, ...texts }] },
      ],
      config: { 'c/d': { type: 'string', label: long } },
      exports: {
        objects: { lamp: { type: long } },
        sensors: [{ id: 's', type: long, description: long, unit: long }],
        controls: [{ id: 'c', type: long }],
        events: [{ name: 'e', description: long }],
      },
      docs: [{ title: long, file: 'README.md' }],
    },
    clock,
  )
  const { warnings, configSchema, ...rest } = manifest
  assert.equal(manifest.homepage, undefined)
  assert.equal(manifest.tags?.length, 100)
  assert.ok(JSON.stringify(rest).length < 20_000)
  // A value is the plugin's own.
  assert.ok(JSON.stringify(configSchema).includes(long))
  assert.deepEqual(warnings?.map(({ path }) => path).sort(), [
    '/config/c~1d/label',
    ...['description', 'group', 'label', 'placeholder', 'unit'].map(
      (member) => `/configSchema/0/fields/0/${member}`,
    ),
    '/docs/0/title',
    '/exports/controls/0/type',
    '/exports/events/0/description',
    '/exports/objects/lamp/type',
    ...['description', 'type', 'unit'].map((member) => `/exports/sensors/0/${member}`),
    '/homepage',
    '/license',
    '/tags',
  ])
})

/** Microseconds of the processor for one try, of several together: the system tells less of a short time. */
function workOf(task: () => unknown, tries = 4): number {
  const before = process.cpuUsage()
  for (let tried = 0; tried < tries; tried += 1) task()
  return process.cpuUsage(before).user / tries
}

test('a megabyte of which something is wrong takes a few times as long as to read it, and what fits in it is kept', () => {
  const sensors = Array.from({ length: 40_000 }, (_, index) => ({ id: `sensor${index}` }))
  const objects = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`object${index}`, {}]))
  const many: { given: Record<string, unknown>; warnings: string[] }[] = [
    { given: { exports: { sensors: [{ id: 5 }, ...sensors] } }, warnings: ['/exports/sensors/0/id'] },
    { given: { exports: { objects: { ...objects, broken: 5 } } }, warnings: ['/exports/objects/broken'] },
    {
      given: {
        config: Object.fromEntries(
          Array.from({ length: 900 }, (_, index) => [
            `setting${index}`,
            { type: index === 5 ? 'wrong' : 'string', enum: Array<number>(200).fill(index) },
          ]),
        ),
      },
      warnings: ['/config/setting5/type'],
    },
    {
      given: {
        configSchema: Array.from({ length: 500 }, (_, index) => ({
          key: `setting${index}`,
          ...Object.fromEntries(Array.from({ length: 100 }, (__, member) => [`unknown${member}`, 1])),
        })),
      },
      warnings: [],
    },
  ]
  for (const { given, warnings } of many) {
    const bytes = new TextEncoder().encode(JSON.stringify({ ...minimal, ...given }))
    const manifest = parseManifest(bytes, clock)
    assert.deepEqual(
      (manifest.warnings ?? []).map(({ path }) => path),
      warnings,
    )
    const times = workOf(() => parseManifest(bytes, clock)) / workOf(() => parseJsonText(bytes), 20)
    assert.ok(times < 25, `${times} times for ${Object.keys(given).join()}`)
  }
})

test('of what is wrong and too large to look for why, the place is told', () => {
  const suggest = Array<string>(6_000).fill('a')
  const config = { a: { suggest, type: 'wrong' }, b: { type: 'list', fields: [{ key: 'c', suggest }] } }
  const { warnings = [], config: kept } = parseManifest({ ...minimal, config }, clock)
  const message = 'is not as it must be, and too large to tell more; it is left out'
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['/config/a/suggest', '/config/a/type', '/config/b/fields/0/suggest'],
  )
  assert.deepEqual(
    warnings.map((warning) => warning.message === message),
    [true, false, true],
  )
  assert.deepEqual(kept, { a: {}, b: { type: 'list', fields: [{ key: 'c' }] } })
  const files = Array<string>(6_000).fill('a.lua')
  assert.deepEqual(refusal({ ...minimal, version: undefined, files }).errors, [
    ['/version', 'is required'],
    ['/files', 'must not have more than 200 items'],
  ])
})

test('what is as it should be is not copied', () => {
  const given = {
    ...minimal,
    exports: { objects: { lamp: { type: 'light' } } },
    config: { a: { type: 'list', default: [[1], null, 2] } },
    more: { of: { its: ['own'] } },
  }
  const manifest: Manifest & { more?: unknown } = parseManifest(given, clock)
  assert.equal(manifest.exports, given.exports)
  assert.equal(manifest.more, given.more)
  assert.deepEqual(manifest.config, given.config)
})
