import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesWith } from '../plugins-stage.ts'
import { needsOwnWorker } from '../stage.ts'

test('§9 a call hands over numbers, strings of bytes, booleans and nil exactly, both ways', async () => {
  const lines = await linesWith(
    `function plugin:echo(...) return select("#", ...), ... end`,
    `
      print(other:echo(1, 0.1, -0.0, 2^53, 1/0, true, false, "text", nil))
      print(other:echo())
      print(other:echo(nil, nil))
      local n, bytes = other:echo("\\0\\255\\128 ä")
      print(n, bytes == "\\0\\255\\128 ä", #bytes)
      local _, nan = other:echo(0/0)
      print(nan ~= nan)
    `,
  )
  assert.deepEqual(lines, [
    '9\t1\t0.1\t0\t9007199254740992\tinf\ttrue\tfalse\ttext\tnil',
    '0',
    '2\tnil\tnil',
    '1\ttrue\t6',
    'true',
  ])
})

test('§9 several results come back, with nil where it was, and `nil, "reason"`', async () => {
  const lines = await linesWith(
    `
      function plugin:several() return 1, nil, "three", nil end
      function plugin:refuse() return nil, "no such device" end
      function plugin:nothing() end
    `,
    `
      print(select("#", other:several()), other:several())
      local device, reason = other:refuse()
      print(device, reason)
      print(select("#", other:nothing()))
    `,
  )
  assert.deepEqual(lines, ['4\t1\tnil\tthree\tnil', 'nil\tno such device', '0'])
})

test('§9 plain tables are copied, with all their keys, and the copies have nothing in common', async () => {
  const lines = await linesWith(
    `
      local kept
      function plugin:keep(t) kept = t t.changed = true return t end
      function plugin:kept() return kept end
    `,
    `
      local mine = { 1, 2, nil, 4, name = "x", [true] = "yes", [2.5] = "half", ["\\255"] = "byte", list = { {}, { deep = 1 } } }
      local back = other:keep(mine)
      print(mine.changed, back.changed, back == mine, getmetatable(back))
      print(back[1], back[2], back[3], back[4], back.name, back[true], back[2.5], back["\\255"], back.list[2].deep)
      back.name = "y"
      print(other:kept().name, mine.name, #back.list)
      local ring = { name = "ring" } ring.self, ring.twice = ring, { mine.list, mine.list }
      local copy = other:keep(ring)
      print(copy.self == copy, copy.twice[1] == copy.twice[2], copy.self.self.name, copy == ring)
    `,
  )
  assert.deepEqual(lines, [
    'nil\ttrue\tfalse\tnil',
    '1\t2\tnil\t4\tx\tyes\thalf\tbyte\t1',
    'x\tx\t2',
    'true\ttrue\tring\tfalse',
  ])
})

test(
  '§9 a table that is too deep or too large is refused with a reason',
  needsOwnWorker('while values of that size are copied nothing can be set aside'),
  async () => {
    const lines = await linesWith(
      `
      function plugin:take() end
      function plugin:many() local many = {} for i = 1, 50001 do many[i] = {} end return many end
      function plugin:deep() local deep = {} for _ = 1, 200 do deep = { deep } end return deep end
    `,
      `
      print(pcall(other.deep, other))
      local deep = {} for _ = 1, 200 do deep = { deep } end
      print(pcall(other.take, other, deep))
      local half = ("x"):rep(9 * 1024 * 1024)
      print(pcall(other.take, other, half, half))
      print(pcall(other.take, other, half))
      local many = {} for i = 1, 100000 do many[i] = i end
      print(pcall(other.take, other, many))
      print(pcall(other.many, other))
      many[#many] = nil
      print(pcall(other.take, other, many))
    `,
    )
    assert.deepEqual(lines, [
      'false\t@test/callee: the table is nested more than 100 levels deep',
      'false\tthe table is nested more than 100 levels deep',
      'false\tthe values take more than 16777216 bytes',
      'true',
      'false\tthe tables have more than 100000 entries',
      'false\t@test/callee: the tables have more than 100000 entries',
      'true',
    ])
  },
)

test('§9 a table with a function or a metatable stays where it is, also within one that is copied', async () => {
  const lines = await linesWith(
    `
      local class = {} class.__index = class
      function class:rename(name) self.name = name end
      local object = setmetatable({ name = "one" }, class)
      local counter = { count = 0 }
      function counter.add() counter.count = counter.count + 1 end
      function plugin:both() return { object, counter = counter, plain = { 1 } } end
      function plugin:names() return object.name, counter.count, object.size end
      function plugin:isObject(o) return o == object, o == counter end
    `,
    `
      local both = other:both()
      both[1]:rename("two")
      both.counter.add()
      print(pcall(function() both[1].size = 7 end))
      print(both[1].name, both.counter.count, other:names())
      print(both[1] == other:both()[1], both[1] == both.counter, other:isObject(both[1]))
      print(type(both[1]), type(both.counter.add), getmetatable(both[1]), pcall(setmetatable, both[1], {}))
      local keys = {} for key in pairs(both.counter) do keys[#keys + 1] = key end
      table.sort(keys)
      print(table.concat(keys, " "))
    `,
  )
  assert.deepEqual(lines, [
    "false\tinit.lua:5: @test/callee: another plugin cannot set the field 'size'; call a method that does it",
    'two\t1\ttwo\t1\tnil',
    'true\tfalse\ttrue\tfalse',
    'table\tfunction\tan object of another plugin\tfalse\tcannot change a protected metatable',
    'add count',
  ])
})

test('§9 an object of another plugin is called, compared, joined, measured and printed by its own metatable', async () => {
  const lines = await linesWith(
    `
      local class = {
        __call = function(self, a, b) return self.value, a, b end,
        __tostring = function(self) return "value " .. self.value end,
        __concat = function(a, b) return tostring(a) .. "|" .. tostring(b) end,
        __len = function() return 42 end,
        __lt = function(a, b) return a.value < b.value end,
        __le = function(a, b) return a.value <= b.value end,
        __index = function(_, key) return "no " .. key end,
        __pairs = function() return function(_, last) if not last then return "only", 1 end end end,
      }
      class.__add = function(a, b) return setmetatable({ value = a.value + b.value }, class) end
      class.__unm = function(a) return setmetatable({ value = -a.value }, class) end
      function plugin:value(value) return setmetatable({ value = value }, class) end
    `,
    `
      local a, b = other:value(1), other:value(2)
      print(select("#", a(3, nil)), a(3, nil)) print(tostring(a), a .. b, a .. "x", "x" .. a, #a, a < b, a <= b, a > b, a.colour)
      print((a + b).value, (-a).value)
      for key, value in pairs(a) do print(key, value) end
      print(pcall(function() return a * b end))
    `,
  )
  assert.deepEqual(lines.slice(0, 4), [
    '3\t1\t3\tnil',
    'value 1\tvalue 1|value 2\tvalue 1|x\tx|value 1\t42\ttrue\ttrue\tfalse\tno colour',
    '3\t-1',
    'only\t1',
  ])
  assert.match(lines[4] ?? '', /^false\t.*@test\/callee: .*attempt to perform arithmetic/)
})

test('§9 an object of another plugin serves as a class, and from within a coroutine', async () => {
  const lines = await linesWith(
    `
      local Base = {} Base.__index = Base
      function Base:hello() return "hello " .. self.name end
      function plugin:class() return setmetatable({ hello = Base.hello, level = 3 }, Base) end
    `,
    `
      local mine = setmetatable({ name = "mine" }, { __index = other:class() })
      print(mine:hello(), mine.hello(mine), mine.level, mine.none)
      local co = coroutine.wrap(function() coroutine.yield(mine:hello()) return other:class().level end)
      print(co(), co())
      local ok, message = pcall(function() return mine:none() end)
      print(ok, (message:gsub("^.-@", "@")))
    `,
  )
  assert.deepEqual(lines, [
    'hello mine\thello mine\t3\tnil',
    'hello mine\t3',
    "false\t@test/callee: attempt to call a nil value (method 'none')",
  ])
})
