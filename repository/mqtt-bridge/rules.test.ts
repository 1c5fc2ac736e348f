import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)

test('a line gives topics and options', () => {
  const line =
    '"living room/+/power" -> home/+  scale=0.1 offset=-2 round=1 qos=1 retain path=a.b[0] rename=x:y,z:w'
  assert.deepEqual(lua.call('rules', 'parseLine', line), [
    {
      from: 'living room/+/power',
      to: 'home/+',
      scale: 0.1,
      offset: -2,
      round: 1,
      qos: 1,
      retain: true,
      path: 'a.b[0]',
      rename: { x: 'y', z: 'w' },
    },
  ])
})

const wrongLines: [line: string, message: RegExp][] = [
  ['a b', /expected: from\/topic -> to\/topic/],
  ['a ->', /expected/],
  ['-> b', /expected/],
  ['a => b', /expected/],
  ['"" -> b', /expected/],
  ['"a -> b', /closing " is missing/],
  ['a -> b quickly', /'quickly' is not an option/],
  ['a -> b speed=3', /'speed=3' is not an option/],
  ['a -> b scale=much', /scale=much is not a number/],
  ['a -> b round=1.5', /not a whole number from 0 to 10/],
  ['a -> b qos=3', /is not 0, 1 or 2/],
  ['a -> b rename=x', /is not a list such as old:new/],
  ['a -> b path=a..b', /cannot read the path/],
  ['a+ -> b', /stand alone between slashes/],
  ['a/#/b -> c', /must be the last level/],
  ['a/+ -> b/#', /wildcard that 'a\/\+' does not fill/],
  ['a/+ -> b/+/+', /does not fill/],
  ['a -> a', /would feed itself/],
  ['a/# -> a/copy/#', /would feed itself/],
  ['a/# -> a', /would feed itself/],
  ['+/+ -> x/+', /would feed itself/],
]

for (const [line, message] of wrongLines) {
  test(`a wrong line is refused with its reason: ${line}`, () => {
    const [rule, reason] = lua.call('rules', 'parseLine', line)
    assert.equal(rule, undefined)
    assert.match(String(reason), message)
  })
}

test('wrong lines are named by number, comments and blank lines count, and the others work', () => {
  const [found, refused] = lua.call(
    'rules',
    'parse',
    '# lamps; all of them\n\na -> b\r\nnonsense\nc -> d',
  ) as [{ from: string; line: number }[], { line: number; text: string }[]]
  assert.deepEqual(
    found.map(({ from, line }) => [from, line]),
    [
      ['a', 3],
      ['c', 5],
    ],
  )
  assert.deepEqual(
    refused.map(({ line, text }) => [line, text]),
    [[4, 'nonsense']],
  )
})

test('in a single line semicolons separate the rules', () => {
  const [found, refused] = lua.call('rules', 'parse', 'a -> b; nonsense; c -> d') as [
    { line: number }[],
    { line: number }[],
  ]
  assert.deepEqual([found.map(({ line }) => line), refused.map(({ line }) => line)], [[1, 3], [2]])
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
  assert.deepEqual(apply({ round: 0 }, '-1.5'), ['-1'])
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
