import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { starterRows } from '../../test/helpers/starter-rows.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)
const line = (measurement: string, tags: Json, fields: Json, at = 1781960700123): unknown =>
  lua.call('lineprotocol', 'line', measurement, tags, fields, at)[0]

for (const [what, written, expected] of [
  [
    'tags and fields are sorted by name',
    line('power', { room: 'kitchen', kind: 'ac' }, { watts: 12.5, amps: 2 }),
    'power,kind=ac,room=kitchen amps=2,watts=12.5 1781960700123',
  ],
  [
    'blanks, commas and equals signs are escaped where they would separate',
    line('a b,c=d', { 'k =,': 'v =,' }, { 'f =,': 1 }, 5),
    String.raw`a\ b\,c=d,k\ \=\,=v\ \=\, f\ \=\,=1 5`,
  ],
  [
    'strings are quoted, with their quotation marks and backslashes escaped',
    line('m', {}, { text: 'C:\\dir "x", y=1\nz' }, 5),
    'm text="C:\\\\dir \\"x\\", y=1\nz" 5',
  ],
  [
    'line breaks in names and tags become blanks',
    line('m\nn', { a: 'b\r\nc' }, { v: 1 }, 5),
    String.raw`m\ n,a=b\ c v=1 5`,
  ],
  [
    'a backslash before a delimiter is left out, another one stays',
    line('m', { a: 'x\\y\\', b: '\\' }, { v: 1 }, 5),
    String.raw`m,a=x\y v=1 5`,
  ],
  ['an empty tag is left out', line('m', { a: '' }, { v: 1 }, 5), 'm v=1 5'],
  ['a measurement that looks like a comment is none', line('#m', {}, { v: 1 }, 5), String.raw`\#m v=1 5`],
  [
    'integers and booleans have a form of their own',
    line('m', {}, { a: { integer: 3 }, b: true, c: false, d: -0.25 }, 5),
    'm a=3i,b=true,c=false,d=-0.25 5',
  ],
  [
    'large and small numbers keep their digits',
    line('m', {}, { a: 123456789012, b: 1e21, c: 0.1 }, 5),
    'm a=123456789012,b=1e+21,c=0.1 5',
  ],
  ['a point without a value is none', line('m', {}, { a: { b: 1 } }, 5), undefined],
] as [string, unknown, string | undefined][]) {
  test(what, () => assert.equal(written, expected))
}

test('NaN and infinities are left out', () => {
  const story = `return { tell = function()
    return require("lineprotocol").line("m", {}, { a = 0 / 0, b = math.huge, c = -math.huge, d = 1 }, 5)
  end }`
  assert.deepEqual(openLuaModules(folder, { story: Buffer.from(story) }).call('story', 'tell'), ['m d=1 5'])
})

/** Rules, and what is wrong with the others; the lines of earlier versions are rows. */
function parse(given: Json): any {
  const { rows, errors, unread } = starterRows(folder, 'mapping', given)
  const [rules, refused] = lua.call('mapping', 'read', rows) as [object, { message: string }[] | object]
  const messages = Array.isArray(refused) ? refused.map(({ message }) => message as string) : []
  return [rules, [...errors, ...unread, ...messages]]
}

test('a rule has a filter, a measurement, tags and fields', () => {
  const [rules, refused] = parse(
    '# power\nmeters/+/power -> power tags=room:$1,kind:ac field=watts path=a.b type=integer\n\nraw -> raw',
  )
  assert.deepEqual(refused, [])
  assert.deepEqual(rules, [
    {
      row: 1,
      filter: 'meters/+/power',
      measurement: 'power',
      tags: [
        ['room', '$1'],
        ['kind', 'ac'],
      ],
      fields: [{ path: 'a.b', name: 'watts' }],
      type: 'integer',
    },
    {
      row: 2,
      filter: 'raw',
      measurement: 'raw',
      tags: {},
      fields: [{ path: '', name: 'value' }],
      type: 'number',
    },
  ])
})

test('several fields each have a path, which is their name unless another is given', () => {
  const [[rule]] = parse('a -> b fields=temperature,battery.percent:battery; c -> d')
  assert.deepEqual(rule.fields, [
    { path: 'temperature', name: 'temperature' },
    { path: 'battery.percent', name: 'battery' },
  ])
})

for (const [text, reason] of [
  ['a', /it does not read as \{filter\} -> \{measurement\}/],
  ['a -> ', /does not read/],
  ['a => b', /does not read/],
  ['a/#/b -> c', /not a topic filter/],
  ['a+ -> c', /not a topic filter/],
  ['a -> b colour=red', /colour=red is no option/],
  ['a -> b retain', /retain is no option/],
  ['a -> b tags=room', /tags lacks value/],
  ['a -> b tags=', /tags lacks name/],
  ['a -> b type=float', /type must be one of/],
  ['a -> b path=a..b', /cannot read the path/],
  ['a -> b fields=a..b:c', /cannot read the path/],
  ['a -> b fields=x field=y', /stand alone/],
] as [string, RegExp][]) {
  test(`the line "${text}" is refused`, () => {
    const [rules, refused] = parse(text)
    assert.deepEqual(rules, {})
    assert.match(refused[0], reason)
  })
}

const tags = (text: string, topic: string): unknown => {
  const [[rule]] = parse(text)
  return lua.call('points', 'tags', rule, topic)[0]
}

test('a tag may name a wildcard, the whole topic, or be fixed', () => {
  assert.deepEqual(tags('m/+/x/+ -> p tags=a:$1,b:$2-$1,c:$topic,d:fix,e:$9,f:$x', 'm/one/x/two'), {
    a: 'one',
    b: 'two-one',
    c: 'm/one/x/two',
    d: 'fix',
    e: '',
    f: '$x',
  })
  assert.deepEqual(tags('m/# -> p tags=rest:$1', 'm/a/b'), { rest: 'a/b' })
  assert.deepEqual(tags('m/# -> p tags=rest:$1', 'm'), { rest: '' })
})

const decode = `
  local decode = { documents = {} }
  function decode.fields(rule, payload, document)
    return require("points").fields(rule, payload, function() return document end)
  end
  return decode`
const decoder = openLuaModules(folder, { decode: Buffer.from(decode) })
function fields(options: string, payload: string): unknown[] {
  const [[rule]] = parse(`a -> b ${options}`)
  let document: Json | undefined
  try {
    document = JSON.parse(payload)
  } catch {
    document = undefined
  }
  return decoder.call('decode', 'fields', rule, payload, document)
}

for (const [options, payload, expected] of [
  ['', '21.5', { value: 21.5 }],
  ['', ' 7 ', { value: 7 }],
  ['', 'ON', { value: 1 }],
  ['', 'off', { value: 0 }],
  ['field=watts type=integer', '12.7', { watts: { integer: 13 } }],
  ['type=boolean', 'true', { value: true }],
  ['type=boolean', 'Off', { value: false }],
  ['type=boolean', '0', { value: false }],
  ['type=boolean', '2', { value: true }],
  ['type=text', 'any text', { value: 'any text' }],
  ['path=a[1]', '{"a":[1,2]}', { value: 2 }],
  ['path=a type=boolean', '{"a":false}', { value: false }],
  ['path=a type=boolean', '{"a":0}', { value: false }],
  ['path=a', '{"a":false}', { value: 0 }],
  ['fields=t,h,x:y', '{"t":20,"h":"40","x":null}', { t: 20, h: 40 }],
] as [string, string, Json][]) {
  test(`with "${options}" the payload ${payload} is ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(fields(options, payload), [expected])
  })
}

for (const [options, payload, reason] of [
  ['', 'warm', 'the payload has no number where the rule looks for one'],
  ['type=boolean', 'maybe', 'the payload has no boolean where the rule looks for one'],
  ['path=a', 'text', 'the payload is not JSON'],
  ['path=a', '{"b":1}', 'the payload has no number where the rule looks for one'],
  ['path=a type=text', '{"a":{"b":1}}', 'the payload has no text where the rule looks for one'],
] as [string, string, string][]) {
  test(`with "${options}" the payload ${payload} is no point`, () => {
    assert.deepEqual(fields(options, payload), [undefined, reason])
  })
}

test('the moment of a point is exact to milliseconds once the second has turned', () => {
  // Whole seconds of a clock that began at 1000.7 when the smooth one stood at 0.
  const story = `return { tell = function(began, smooth)
    local toMilliseconds = require("moments").new()
    local result
    for _, now in ipairs(smooth) do
      result = toMilliseconds(math.floor(began + now), now)
    end
    return result
  end }`
  const modules = openLuaModules(folder, { story: Buffer.from(story) })
  const tell = (...smooth: number[]): number => Number(modules.call('story', 'tell', 1000.7, smooth)[0])
  assert.equal(tell(0.125), 1_000_000)
  assert.equal(tell(0.125, 0.3125, 0.5), 1_001_187)
  assert.equal(tell(0.125, 0.3125, 5, 7.5), 1_008_187)
})

test('a time of day that was set anew is followed', () => {
  const story = `return { tell = function()
    local toMilliseconds = require("moments").new()
    toMilliseconds(1000, 0.5)
    local later = toMilliseconds(5000, 1.5)
    return { later, (toMilliseconds(2000, 2.5)) }
  end }`
  const modules = openLuaModules(folder, { story: Buffer.from(story) })
  assert.deepEqual(modules.call('story', 'tell')[0], [5_000_000, 2_000_000])
})

const address = (config: Json): unknown[] => lua.call('targets', 'address', config)

test('each kind of database has its address', () => {
  const url = 'http://db:8086/'
  assert.deepEqual(address({ kind: 'influx2', url, org: 'home', bucket: 'house' }), [
    'http://db:8086/api/v2/write',
    { org: 'home', bucket: 'house', precision: 'ms' },
  ])
  assert.deepEqual(address({ kind: 'influx1', url, database: 'house', retention: 'year' }), [
    'http://db:8086/write',
    { db: 'house', rp: 'year', precision: 'ms' },
  ])
  assert.deepEqual(address({ kind: 'victoriametrics', url, database: '' }), [
    'http://db:8086/write',
    { precision: 'ms' },
  ])
})

test('what is missing is named by kind', () => {
  const missing = (config: Json): unknown => lua.call('targets', 'missing', config)[0]
  assert.deepEqual(missing({ kind: 'influx2', org: 'home', token: '' }), ['bucket', 'token'])
  assert.deepEqual(missing({ kind: 'influx1' }), ['database'])
  assert.deepEqual(missing({ kind: 'victoriametrics' }), {})
})

test('an answer decides whether a batch is tried again', () => {
  const outcome = (status: number, ok = false): unknown => lua.call('targets', 'outcome', { status, ok })[0]
  assert.equal(outcome(204, true), 'written')
  for (const status of [0, 401, 403, 404, 408, 429, 500, 503])
    assert.equal(outcome(status), 'again', `${status}`)
  for (const status of [400, 405, 422]) assert.equal(outcome(status), 'refused', `${status}`)
  assert.equal(outcome(413), 'smaller')
})

const storeStage = `
  local stage = {}
  local store
  function stage.open(options) store = require("batches").new(options) end
  function stage.add(...) for _, line in ipairs({ ... }) do store.add(line) end end
  function stage.take() return store.take() end
  function stage.settle(outcome) return store.settle(outcome) end
  function stage.rest(most) return store.rest(most) end
  function stage.state() return { waiting = store.count(), dropped = store.dropped, full = store.isFull() } end
  return stage`

function openStore(size: number, most: number, attempts = 3) {
  const modules = openLuaModules(folder, { stage: Buffer.from(storeStage) })
  const call = (name: string, ...args: Json[]): any[] => modules.call('stage', name, ...args)
  call('open', { size, most, attempts })
  return {
    add: (...lines: string[]) => void call('add', ...lines),
    take: () => call('take')[0],
    settle: (outcome: string) => call('settle', outcome),
    rest: (most: number) => call('rest', most),
    state: () => call('state')[0],
  }
}

test('batches leave in order, one at a time', () => {
  const store = openStore(2, 10)
  store.add('a', 'b', 'c')
  assert.deepEqual([store.take(), store.take()], ['a\nb', undefined])
  assert.deepEqual(store.settle('written'), [0, 2, 0])
  assert.equal(store.take(), 'c')
  assert.deepEqual(store.settle('written'), [0, 1, 0])
  assert.equal(store.take(), undefined)
})

test('a batch that failed comes again after longer and longer pauses, and is given up in the end', () => {
  const store = openStore(2, 10)
  store.add('a', 'b', 'c')
  const pauses = ['again', 'again', 'again'].map((outcome) => {
    assert.equal(store.take(), 'a\nb')
    return store.settle(outcome)
  })
  assert.deepEqual(pauses, [
    [1, 0, 0],
    [2, 0, 0],
    [0, 0, 2],
  ])
  assert.deepEqual(store.state(), { waiting: 1, dropped: 2, full: false })
  assert.equal(store.take(), 'c')
})

test('no pause is longer than five minutes', () => {
  const store = openStore(1, 10, 100)
  store.add('a')
  let pause: unknown
  for (let attempt = 0; attempt < 40; attempt += 1) {
    store.take()
    pause = store.settle('again')[0]
  }
  assert.equal(pause, 300)
})

test('a batch that is refused is given up at once', () => {
  const store = openStore(2, 10)
  store.add('a')
  store.take()
  assert.deepEqual(store.settle('refused'), [0, 0, 1])
})

test('a batch that is too large is halved, until it is a single line', () => {
  const store = openStore(4, 10)
  store.add('a', 'b', 'c', 'd')
  assert.equal(store.take(), 'a\nb\nc\nd')
  assert.deepEqual(store.settle('smaller'), [0, 0, 0])
  assert.equal(store.take(), 'a\nb')
  store.settle('smaller')
  assert.equal(store.take(), 'a')
  assert.deepEqual(store.settle('smaller'), [0, 0, 1])
  assert.equal(store.take(), 'b')
})

test('a full store drops what is oldest, but not what is on its way', () => {
  const store = openStore(2, 4)
  store.add('a', 'b', 'c', 'd')
  assert.equal(store.take(), 'a\nb')
  store.add('e', 'f')
  assert.deepEqual(store.state(), { waiting: 4, dropped: 2, full: true })
  store.settle('written')
  assert.equal(store.take(), 'e\nf')
})

test('a store that is full of what is on its way takes nothing more', () => {
  const store = openStore(2, 2)
  store.add('a', 'b')
  store.take()
  store.add('c')
  assert.deepEqual(store.state(), { waiting: 2, dropped: 1, full: true })
})

test('at the end everything leaves, also what is on its way, as far as it fits', () => {
  const store = openStore(2, 10)
  store.add('a', 'b', 'c', 'd', 'e', 'f', 'g')
  store.take()
  assert.deepEqual(store.rest(3), [['a\nb', 'c\nd', 'e\nf'], 1])
})
