import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  absentBareNames,
  judgeDependencies,
  loadOrder,
  parseDependency,
  requiredPlugins,
} from '../../../src/lifecycle/manifests/dependencies.ts'
import type { Dependency } from '../../../src/schema/manifest/manifest.ts'

test('a dependency names a plugin and perhaps a range of versions', () => {
  const cases: [Dependency, ReturnType<typeof parseDependency>][] = [
    ['@ns/lamp', { fullId: '@ns/lamp', range: null }],
    ['@ns/lamp@^1.2.0', { fullId: '@ns/lamp', range: '^1.2.0' }],
    ['@ns/lamp@>=1 <3', { fullId: '@ns/lamp', range: '>=1 <3' }],
    [{ id: '@ns/lamp' }, { fullId: '@ns/lamp', range: null }],
    [
      { id: '@ns/lamp', version: '1.x' },
      { fullId: '@ns/lamp', range: '1.x' },
    ],
    ['lamp', { fullId: '@own/lamp', range: null }],
    ['lamp@2', { fullId: '@own/lamp', range: '2' }],
    ['@ns/LAMP', undefined],
    ['@ns/lamp@latest', undefined],
    ['@ns/../lamp', undefined],
    ['', undefined],
  ]
  for (const [dependency, expected] of cases) {
    assert.deepEqual(parseDependency(dependency, 'own'), expected, JSON.stringify(dependency))
  }
})

test('nothing waits for a plugin that names itself', () => {
  const plugin = { id: '@a/one', version: '1.0.0', dependencies: ['one', '@a/one@^1.0.0', { id: '@a/one' }] }
  for (const installed of [[], [{ id: '@a/one', version: '0.9.0' }]]) {
    const { unmet, warnings } = judgeDependencies(plugin, installed, new Set())
    assert.deepEqual(
      [unmet, warnings.map(({ path }) => path)],
      [[], ['/dependencies/0', '/dependencies/1', '/dependencies/2']],
    )
    assert.equal(warnings[0]?.message, '"one" is the plugin itself; nothing waits for it')
  }
})

test('a plugin does not work without what it names, other than itself and what is optional', () => {
  const dependencies = [
    'near',
    '@b/far@^1',
    'self',
    '@a/self',
    'no plugin',
    { id: 'extra', optional: true },
    { id: 'must' },
  ]
  assert.deepEqual(requiredPlugins({ id: '@a/self', dependencies }), ['@a/near', '@b/far', '@a/must'])
})

test('each dependency that is not met says what to do', () => {
  const plugin = {
    id: '@a/one',
    version: '1.0.0',
    dependencies: [
      '@a/there',
      '@a/there@^2.0.0',
      '@a/gone@1.x',
      { id: '@a/there', version: '>=1.0.0' },
      { id: '@a/gone', optional: true },
      { id: '@a/there', version: '^2.0.0', optional: true },
      { id: '@b/gone', optional: false },
    ],
  }
  assert.deepEqual(judgeDependencies(plugin, [{ id: '@a/there', version: 'v1.5.0' }], new Set()), {
    unmet: [
      {
        dependency: '@a/there@^2.0.0',
        reason: 'version',
        message: '@a/one needs @a/there ^2.0.0, but v1.5.0 is installed; update or roll back @a/there.',
      },
      {
        dependency: '@a/gone@1.x',
        reason: 'missing',
        message: '@a/one needs @a/gone 1.x, which is not installed; install it first.',
      },
      {
        dependency: '@b/gone',
        reason: 'missing',
        message: '@a/one needs @b/gone, which is not installed; install it first.',
      },
    ],
    warnings: [],
  })
  assert.deepEqual(judgeDependencies({ id: '@a/one', version: '1.0.0' }, [], new Set()), {
    unmet: [],
    warnings: [],
  })
})

test('plugins that want versions of a third that exclude each other are each told of the other', () => {
  const one = { id: '@a/one', version: '1.0.0', dependencies: ['base@^1.0.0'] }
  const two = { id: '@a/two', version: '1.0.0', dependencies: [{ id: '@a/base', version: '2.x' }] }
  // They could agree with both, or would like to.
  const easy = { id: '@a/easy', version: '1.0.0', dependencies: ['base', 'base@>=1.5.0', 'other@^2.0.0'] }
  const wish = {
    id: '@a/wish',
    version: '1.0.0',
    dependencies: [{ id: 'base', version: '^3', optional: true }],
  }
  const told = (plugin: typeof one | typeof two, version: string): string[] =>
    judgeDependencies(plugin, [{ id: '@a/base', version }, one, two, easy, wish], new Set()).unmet.map(
      ({ message }) => message,
    )
  const agree = 'and no version suits all. Find versions of'
  assert.deepEqual(
    [told(one, '1.0.0'), told(two, '2.0.0'), told(one, '2.0.0'), told(two, '1.0.0')],
    [
      [],
      [],
      [
        `@a/one needs @a/base ^1.0.0, but 2.0.0 is installed; @a/two needs @a/base 2.x, ${agree} @a/one and @a/two that agree, or uninstall one of them.`,
      ],
      [
        `@a/two needs @a/base 2.x, but 1.0.0 is installed; @a/one needs @a/base ^1.0.0, ${agree} @a/two and @a/one that agree, or uninstall one of them.`,
      ],
    ],
  )
})

test("what names no plugin stands in nobody's way, and a bare name is one of the own namespace only if it is there", () => {
  const dependencies = ['@A/b', '@a/b@newest', 'http', 'timer@2', { id: 'json' }, 'sun', 'moon', 'moon@^3']
  const one = { id: '@a/one', version: '1.0.0', dependencies }
  const installed = [{ id: '@a/sun', version: '1.0.0' }]
  assert.deepEqual(absentBareNames(one, installed), [
    ...['@a/http', '@a/timer', '@a/json', '@a/moon', '@a/moon'],
  ])
  const { unmet, warnings } = judgeDependencies(one, installed, new Set(['@a/moon', '@b/http']))
  assert.deepEqual(
    unmet.map(({ dependency }) => dependency),
    ['moon', 'moon@^3'],
  )
  const nobody = (id: string): string =>
    `is not the name of a plugin: there is no ${id}, installed or in a repository; nothing waits for it`
  assert.deepEqual(warnings, [
    {
      path: '/dependencies/0',
      message: '"@A/b" is not a plugin id with a version range; nothing waits for it',
    },
    {
      path: '/dependencies/1',
      message: '"@a/b@newest" is not a plugin id with a version range; nothing waits for it',
    },
    { path: '/dependencies/2', message: `"http" ${nobody('@a/http')}` },
    { path: '/dependencies/3', message: `"timer@2" ${nobody('@a/timer')}` },
    { path: '/dependencies/4', message: `"json" ${nobody('@a/json')}` },
  ])
})

test('a range that is longer than anybody writes is none: nothing waits for it, and it is compared with no other', () => {
  const range = (parts: number): string =>
    Array.from({ length: parts }, (_, index) => `>=${index} <${index}.1`).join(' || ')
  const named = (parts: number) => ({ fullId: '@a/b', range: range(parts) })
  assert.deepEqual(parseDependency(`@a/b@${range(10)}`, 'a'), named(10))
  assert.deepEqual(parseDependency({ id: 'b', version: range(10) }, 'a'), named(10))
  assert.equal(parseDependency(`@a/b@${range(30)}`, 'a'), undefined)
  assert.equal(parseDependency({ id: 'b', version: range(30) }, 'a'), undefined)
  const needy = (id: string) => ({ id, version: '1.0.0', dependencies: [`@a/b@${range(30)}`] })
  const installed = [needy('@a/other'), { id: '@a/b', version: '99.0.0' }]
  const { unmet, warnings } = judgeDependencies(needy('@a/one'), installed, new Set())
  assert.deepEqual([unmet.length, warnings.length], [0, 1])
})

const plugin = (id: string, ...dependencies: string[]) => ({ id: `@a/${id}`, version: '1.0.0', dependencies })

test('what is needed comes first, and the given order counts otherwise', () => {
  const { order, cycles } = loadOrder([
    plugin('d', 'b', 'c'),
    plugin('a'),
    plugin('b', 'a'),
    plugin('c', 'a', 'gone'),
  ])
  assert.deepEqual(order, ['@a/a', '@a/b', '@a/c', '@a/d'])
  assert.deepEqual(cycles, [])
})

test('cycles are named and loaded all the same, after what they need', () => {
  const { order, cycles } = loadOrder([
    plugin('x', 'z'),
    plugin('y', 'x'),
    plugin('z', 'y', 'base'),
    plugin('self', 'self'),
    plugin('base'),
    plugin('user', 'z'),
  ])
  assert.deepEqual(order, ['@a/base', '@a/x', '@a/y', '@a/z', '@a/self', '@a/user'])
  assert.deepEqual(cycles, [['@a/x', '@a/y', '@a/z'], ['@a/self']])
})

test('every plugin is in the order once, and after what it needs unless they need each other', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const plugins = fc
    .array(fc.subarray(names, { maxLength: 3 }), { minLength: names.length, maxLength: names.length })
    .map((needs) => names.map((name, index) => plugin(name, ...(needs[index] ?? []))))
  fc.assert(
    fc.property(plugins, (list) => {
      const { order, cycles } = loadOrder(list)
      assert.deepEqual(order.toSorted(), list.map(({ id }) => id).toSorted())
      for (const { id, dependencies } of list) {
        for (const needed of dependencies.map((name) => `@a/${name}`)) {
          const together = cycles.some((cycle) => cycle.includes(id) && cycle.includes(needed))
          assert.ok(
            together || order.indexOf(needed) < order.indexOf(id),
            `${needed} before ${id}: ${order.join()}`,
          )
        }
      }
    }),
    { numRuns: 500 },
  )
})
