import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { startOnStage } from '../../test/helpers/plugin-stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)

test('a row gives topics and options', () => {
  const row = {
    from: 'living room/+/power',
    to: 'home/+',
    path: 'a.b[0]',
    scale: 0.1,
    rename: [
      { old: 'x', new: 'y' },
      { old: 'z', new: 'w' },
    ],
    qos: 1,
    retain: true,
  }
  assert.deepEqual(lua.call('rules', 'readRow', row), [{ ...row, offset: 0, rename: { x: 'y', z: 'w' } }])
  assert.deepEqual(lua.call('rules', 'readRow', { from: 'a', to: 'b', path: '', rename: [] }), [
    { from: 'a', to: 'b', scale: 1, offset: 0, qos: 0, retain: false },
  ])
})

const wrongRows: [from: string, to: string, message: RegExp][] = [
  ['a+', 'b', /stand alone between slashes/],
  ['a/#/b', 'c', /must be the last level/],
  ['a/+', 'b/#', /wildcard that 'a\/\+' does not fill/],
  ['a/+', 'b/+/+', /does not fill/],
  ['a', 'a', /would feed itself/],
  ['a/#', 'a/copy/#', /would feed itself/],
  ['a/#', 'a', /would feed itself/],
  ['+/+', 'x/+', /would feed itself/],
]

for (const [from, to, message] of wrongRows) {
  test(`a wrong row is refused with its reason: ${from} to ${to}`, () => {
    const [rule, reason] = lua.call('rules', 'readRow', { from, to })
    assert.equal(rule, undefined)
    assert.match(String(reason), message)
  })
}

test('wrong rows are named by number, and the others work', () => {
  const rows = [
    { from: 'a', to: 'b' },
    { from: 'x', to: 'x' },
    { from: 'c', to: 'd', path: 'a..b' },
    { from: 'e', to: 'f' },
  ]
  const [found, refused] = lua.call('rules', 'read', rows) as [
    { from: string; row: number }[],
    { row: number; message: string }[],
  ]
  assert.deepEqual(
    found.map(({ from, row }) => [from, row]),
    [
      ['a', 1],
      ['e', 4],
    ],
  )
  assert.deepEqual(
    refused.map(({ row }) => row),
    [2, 3],
  )
  assert.match(refused[1]?.message ?? '', /cannot read the path/)
})

const names: [topic: string, from: string, to: string, result: string][] = [
  ['a', 'a', 'b/c', 'b/c'],
  ['m/kitchen/power', 'm/+/power', 'home/+/watts', 'home/kitchen/watts'],
  ['x/1/y/2', 'x/+/y/+', '+/of/+', '1/of/2'],
  ['esp/1/state/on', 'esp/#', 'devices/esp/#', 'devices/esp/1/state/on'],
  ['esp', 'esp/#', 'devices/#', 'devices'],
  ['esp/1/a/b', 'esp/+/#', 'd/+/x/#', 'd/1/x/a/b'],
  ['a//b', 'a/+/b', 'c/+', 'c/'],
]

for (const [topic, from, to, result] of names) {
  test(`${topic} becomes ${result} by ${from} -> ${to}`, () => {
    assert.deepEqual(lua.call('topics', 'rename', topic, from, to), [result])
  })
}

test('numbers are scaled, then shifted, then rounded', () => {
  const apply = (rule: object, payload: string) =>
    lua.call('transform', 'apply', { scale: 1, offset: 0, ...rule }, payload, {})
  assert.deepEqual(apply({ scale: 0.5556, offset: -17.7778, round: 1 }, '68'), ['20'])
  assert.deepEqual(apply({ scale: 1000 }, '12.345'), ['12345'])
  assert.deepEqual(apply({ round: 0 }, '-1.5'), ['-2'])
  assert.deepEqual(apply({}, 'as it is'), ['as it is'])
  assert.deepEqual(apply({ scale: 2 }, ''), [''])
  assert.deepEqual(apply({ scale: 2 }, 'off'), [undefined, 'scale, offset and round need a number'])
})

test('an own message is known as often as it was sent, and not after its time', () => {
  const story = `
    local echoes = require("echoes")
    return { run = function()
      local own = echoes.new()
      echoes.expect(own, "a", "1", 100)
      echoes.expect(own, "a", "1", 100)
      echoes.expect(own, "b", "1", 100)
      return echoes.take(own, "a", "2", 101), echoes.take(own, "a", "1", 101), echoes.take(own, "a", "1", 101),
        echoes.take(own, "a", "1", 101), echoes.take(own, "b", "1", 200)
    end }`
  const told = openLuaModules(folder, { story: new TextEncoder().encode(story) }).call('story', 'run')
  assert.deepEqual(told, [false, true, true, false, false])
})

test('an own message is known when the clock was set before it came back, and not after its time when it was set back', () => {
  const rules = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'a' },
  ]
  const stage = startOnStage(folder, 1_000_000, { rules })
  const copies = (): unknown[] => stage.receive('a', '1').map(({ name, data }) => [name, data.payload])
  assert.deepEqual(copies(), [['b', '1']])
  stage.jump(3600)
  assert.deepEqual(stage.receive('b', '1'), [])
  assert.deepEqual(copies(), [['b', '1']])
  stage.jump(-7200)
  stage.advance(11)
  assert.equal(stage.receive('b', '1').length, 1, 'the copy was lost, and this is somebody else')
})
