import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attack, type Isolation, startStage } from './stage.ts'

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

const names = '{ "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf" }'

const escapes: Escape[] = [
  {
    id: 'files',
    title: 'files and processes',
    lua: got(
      'io.open("/etc/passwd")',
      'io.popen("id")',
      'io.lines("/etc/passwd")',
      'os.execute("id")',
      'os.remove("/tmp/x")',
      'os.rename("/tmp/x", "/tmp/y")',
      'os.tmpname()',
      'dofile("/etc/passwd")',
      'loadfile("/etc/passwd")',
      'require("../../etc/passwd")',
      'require("/etc/passwd")',
      'require("fs")',
      'package.loadlib("x", "y")',
      'package.path',
      'js.global',
      'fengari',
    ),
    logged: nothing,
  },
  {
    id: 'environment',
    title: 'the environment',
    lua: got(
      'os.getenv("PATH")',
      'os.getenv("HOST_TOKEN")',
      'plugin:getConfig("PATH")',
      'plugin.config.PATH',
    ),
    logged: nothing,
  },
  {
    id: 'exit',
    title: 'os.exit',
    lua: got('os.exit(1)', 'os.exit(true, true)', '(os.exit or error)(0)'),
    logged: nothing,
  },
  {
    // Under another name: a plugin that requires its own gets itself.
    id: 'debugging',
    title: 'the library debug',
    lua: got(
      'debug.getupvalue(plugin.log, 1)',
      'debug.setmetatable("", {})',
      'debug.getregistry()',
      'debug.sethook()',
      'require("debug")',
      'getmetatable(plugin.log)',
    ),
    logged: nothing,
  },
  {
    id: 'bytecode',
    title: 'compiled code',
    lua: got(
      'string.dump(function() end)',
      'load("\\27Lua")',
      'load(function() return "\\27Lua" end, "x", "b")()',
      'loadstring("return 1")()',
      'load("return 1")()',
      'coroutine.running.constructor',
    ),
    logged: nothing,
  },
  {
    id: 'compiled',
    title: 'a main chunk that is compiled code',
    lua: '\u001bLuaS\u0000-- Plugin:new("compiled")',
    logged: /lua_error/,
  },
  {
    id: 'upvalues',
    title: 'upvalues, globals and fields of another plugin',
    lua: `
      local other = Plugin.get("peaceful")
      ${got(
        'debug.getupvalue(other.peek, 1)',
        'other.secret',
        'other.count',
        'other._G',
        'secret',
        'getmetatable(other).__index',
        'rawget(other, "meta")',
        'other.config',
        '(function() other.greet = function() return "taken" end return "set" end)()',
        '(function() other.each = nil return "set" end)()',
        'setmetatable(other, { __index = {} })',
        'next(other.greet)',
        'other:greet("x") ~= "hello x" or nil',
      )}`,
    logged: nothing,
  },
  {
    id: 'strings',
    title: 'the metatable of strings, which is its own',
    lua: `local mt = getmetatable("")
      if type(mt) == "table" then
        mt.__index = function() return "taken" end
        mt.__add = function() return "taken" end
      end
      local ok = pcall(setmetatable, "", { __index = {} })
      string.rep = function() return "taken" end
      local other = Plugin.get("peaceful")
      print("got", ok, plugin:jsonEncode({ a = 1 }), other:greet("x"))`,
    logged: /got\tfalse\t\{"a":1\}\thello x$/,
  },
  {
    id: 'globals',
    title: 'its own globals, which the host does not look at',
    lua: `tostring = function() error("taken") end
      pairs, type, pcall, error, string.format = nil, nil, nil, nil, nil
      Plugin.log = function() end
      plugin:upsertObject("now", { value = 1 })
      print("got", plugin:getObject("now").value)`,
    logged: /got\t1$/,
  },
  {
    id: 'json-prototypes',
    title: 'prototypes of JavaScript, through JSON',
    lua: `local evil = plugin:jsonDecode('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
      plugin:upsertObject("evil", evil)
      plugin:updateObject("evil", { __proto__ = { polluted = 1 } })
      plugin:kvSet("evil", evil)
      plugin:emit("evil", evil)
      plugin:mqttPublish("evil", evil)
      local stored = plugin:kvGet("evil")
      print("got", ({}).polluted, evil.polluted, plugin:jsonEncode(evil):find("__proto__", 1, true) ~= nil,
        stored.__proto__.polluted)`,
    logged: /got\tnil\tnil\ttrue\t1$/,
  },
  {
    id: 'key-prototypes',
    title: 'prototypes of JavaScript, through names and keys',
    lua: `local evil = { polluted = 1 }
      for _, name in ipairs(${names}) do
        plugin:upsertObject(name, evil)
        plugin:upsertObject(name .. ".polluted", evil)
        plugin:kvSet(name, evil)
        plugin:emit(name, evil)
        plugin:on(name, print)
        plugin:sensor(name, function() return evil end)
        plugin:control(name, function() return evil end, function() end)
        plugin:emit("late", evil, { coalesce = true, key = name, throttle = 10 })
        pcall(expose, plugin:get(name), "sensor", { id = name })
        pcall(plugin.createObject, plugin, name, { [name] = evil })
      end
      print("got", ({}).polluted, plugin:getObject("__proto__") ~= nil, plugin:kvGet("__proto__").polluted)`,
    logged: /got\tnil\ttrue\t1$/,
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
    logged: /got over it$/,
  },
  {
    id: 'host-topics',
    title: 'topics of the host',
    lua: `for _, topic in ipairs({
        "host/status", "host/plugins/@fixtures/peaceful/state", "host/lifecycle", "host", "host/response/list",
        "host/request/uninstall", "host/plugins/@fixtures/peaceful/objects/state",
        "homeassistant/device/attic_fixtures_peaceful/config", "homeassistant/device/lamp/config",
      }) do pcall(plugin.mqttPublish, plugin, topic, "forged", { retain = true }) end
      plugin:setTimeout(50, function() print("got through") end)`,
    logged: /got through$/,
  },
  {
    id: 'broker-topics',
    title: 'topics of the broker, and such as there are none',
    lua: `for _, topic in ipairs({ "$SYS/x", "$SYS", "$SYS/broker/version", "$share/a/b", "a/+", "#", "", "a\\0b" }) do
        pcall(plugin.mqttPublish, plugin, topic, "forged", { retain = true })
      end
      pcall(plugin.mqttSubscribe, plugin, "$SYS/#", function(topic) print("heard", topic) end)
      pcall(plugin.mqttSubscribe, plugin, "host/request/#", function(topic) print("heard", topic) end)
      plugin:setTimeout(50, function() print("got through") end)`,
    logged: /got through$/,
  },
]

/** Makes the tests, in workers of that kind. */
export function attackWithEscapes(isolation: Isolation): void {
  test(`${isolation}: nothing can be reached but what the host offers`, async (t) => {
    const stage = await startStage(t, escapes, { loadTime: 5_000, loadDeadline: 10_000 }, isolation)
    const heard: string[] = []
    await stage.listen(['#'], (topic, payload) => {
      if (payload.includes('forged')) heard.push(topic)
    })
    for (const { id, title, logged } of escapes) {
      const attack = async (): Promise<void> => {
        const { state, error } = await stage.enable(id)
        if (id === 'compiled') assert.match(`${state} ${error?.code}`, logged)
        else {
          const line = await stage.logged(id, /got|The plugin could not/)
          t.diagnostic(line)
          assert.match(line, logged)
        }
        assert.deepEqual(
          (await stage.logs(id)).filter((text) => text.includes('heard')),
          [],
        )
        const { resources } = await stage.get('peaceful')
        assert.equal(resources.objects, 1, 'the other plugin has what it had')
        await stage.disable(id)
      }
      await t.test(title, () => stage.witness(attack))
    }
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
    assert.deepEqual(new Set(heard), new Set(['homeassistant/device/lamp/config']), 'its own are open')
    assert.deepEqual((await stage.host.request('GET', '/api/plugins?q=peaceful')).body.plugins.length, 1)
    const objects = await stage.host.request('GET', '/api/plugins/@fixtures/peaceful/objects')
    assert.deepEqual(objects.body, { objects: { state: { count: 0 } } })
  })
}
