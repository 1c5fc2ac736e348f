import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attack, startStage } from './stage.ts'

/** Plugins that reach for what is not theirs. Each says what it got, which has to be nothing. */

interface Escape extends Attack {
  title: string
  logged: RegExp
}

/** Says what each expression gives; an error counts as nothing. */
const got = (...expressions: string[]): string => `
  local function try(code) local ok, value = pcall(code) return ok and value or nil end
  print("got", ${expressions.map((expression) => `try(function() return ${expression} end)`).join(', ')})`

const nothing = /got(\tnil)+$/

const escapes: Escape[] = [
  {
    id: 'files',
    title: 'files, processes and the environment',
    lua: got(
      'io.open("/etc/passwd")',
      'os.execute("id")',
      'os.exit(1)',
      'os.getenv("PATH")',
      'os.remove("/tmp/x")',
      'dofile("/etc/passwd")',
      'loadfile("/etc/passwd")',
      'require("../../etc/passwd")',
      'require("fs")',
      'package.loadlib("x", "y")',
      'js.global',
    ),
    logged: nothing,
  },
  {
    id: 'bytecode',
    title: 'compiled code, debug and upvalues',
    lua: got(
      'string.dump(function() end)',
      'load("\\27Lua")',
      'loadstring("return 1")()',
      'debug.getupvalue(plugin.log, 1)',
      'debug.setmetatable("", {})',
      'debug.getregistry()',
      'getmetatable(plugin.log)',
      'coroutine.running.constructor',
    ),
    logged: nothing,
  },
  {
    id: 'strings',
    title: 'the metatable of strings, which is its own',
    lua: `local mt = getmetatable("")
      if type(mt) == "table" then mt.__index = function() return "taken" end end
      print("got", plugin:jsonEncode({ a = 1 }), ("x").rep == "taken")`,
    logged: /got\t\{"a":1\}/,
  },
  {
    id: 'globals',
    title: 'its own globals, which the host does not look at',
    lua: `tostring = function() error("taken") end
      pairs, type, pcall, error, string.format = nil, nil, nil, nil, nil
      Plugin.log = function() end
      plugin:upsertObject("now", { value = 1 })
      print("got", plugin:getObject("now").value)`,
    logged: /got\t1/,
  },
  {
    id: 'prototypes',
    title: 'prototypes of JavaScript',
    lua: `local evil = plugin:jsonDecode('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
      for _, name in ipairs({ "__proto__", "constructor", "prototype", "toString", "hasOwnProperty" }) do
        plugin:upsertObject(name, evil)
        plugin:upsertObject(name .. ".polluted", evil)
        plugin:kvSet(name, evil)
        plugin:emit(name, evil)
        plugin:on(name, print)
        plugin:sensor(name, function() return evil end)
        plugin:control(name, function() return evil end, function() end)
        pcall(plugin.createObject, plugin, name, { [name] = evil })
      end
      print("got", ({}).polluted, plugin:jsonEncode(evil):find("__proto__", 1, true) ~= nil)`,
    logged: /got\tnil\ttrue/,
  },
  {
    id: 'errors',
    title: 'errors that raise when they are shown',
    lua: `local evil = setmetatable({}, {
        __tostring = function() error("again") end,
        __name = {}, __index = function() error("index") end, __len = function() error("len") end,
        __pairs = function() error("pairs") end, __eq = function() error("eq") end,
      })
      plugin:setTimeout(1, function() error(evil) end)
      plugin:setTimeout(2, function() coroutine.wrap(function() error(evil) end)() end)
      plugin:on("mine", function() error(evil) end)
      plugin:emit("mine")
      pcall(plugin.log, plugin, evil, evil)
      pcall(plugin.upsertObject, plugin, "o", evil)
      pcall(plugin.emit, plugin, "e", evil, evil)
      plugin:sensor("s", function() error(evil) end)
      plugin:setTimeout(50, function() print("got over it") end)`,
    logged: /got over it/,
  },
  {
    id: 'topics',
    title: 'topics of the host and of the broker',
    lua: `for _, topic in ipairs({
        "host/status", "host/plugins/@fixtures/peaceful/state", "host/lifecycle", "host", "$SYS/x", "$SYS",
        "$share/a/b", "a/+", "#", "", "a\\0b", "host/plugins/@fixtures/peaceful/objects/state",
      }) do pcall(plugin.mqttPublish, plugin, topic, "forged", { retain = true }) end
      pcall(plugin.mqttSubscribe, plugin, "$SYS/#", function(topic) print("heard", topic) end)
      plugin:setTimeout(50, function() print("got through") end)`,
    logged: /got through/,
  },
]

test('nothing can be reached but what the host offers', async (t) => {
  const stage = await startStage(t, escapes, { luaLoad: 5_000, loadDeadline: 10_000 })
  const status = await stage.host.request('GET', '/api/system')
  for (const { id, title, logged } of escapes) {
    const attack = async (): Promise<void> => {
      await stage.enable(id)
      const line = await stage.logged(id, 'got')
      t.diagnostic(line)
      assert.match(line, logged)
      assert.deepEqual(
        (await stage.logs(id)).filter((text) => text.includes('heard')),
        [],
      )
      const { resources } = await stage.get('peaceful')
      assert.deepEqual([resources.timers, resources.objects], [1, 1], 'the other plugin has what it had')
      await stage.disable(id)
    }
    await t.test(title, () => stage.witness(attack()))
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
  assert.equal(status.status, 200)
  const objects = await stage.host.request('GET', '/api/plugins/@fixtures/peaceful/objects')
  assert.deepEqual(objects.body, { objects: { state: { count: 0 } } })
})
