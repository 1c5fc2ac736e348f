import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

/** A plugin with a little of everything; `check` says what has become of it. */
const victim = `
  local Lamp = {} Lamp.__index = Lamp
  function Lamp:level() return self.value end
  local lamp = setmetatable({ value = 7 }, Lamp)
  function plugin:lamp() return lamp end
  function plugin:onInit(config)
    print("init")
    plugin:upsertObject("state", { mine = true })
    plugin:sensor("warmth", function() return 21 end)
    plugin:control("switch", function() return "on" end, function(value) print("set", value) end)
    ticker = plugin:setInterval(5, function() ticks = (ticks or 0) + 1 end)
  end
  function plugin:onCleanup() print("cleanup") end
  function plugin:ticker() return ticker end
  plugin:on("check", function()
    local before = ticks or 0
    plugin:setTimeout(20, function()
      print("check", plugin:getObject("state").mine, plugin:get("warmth"):get(), plugin:get("switch"):get(), lamp:level(),
        (ticks or 0) > before, rawequal(plugin.log, Plugin.log), plugin.note)
    end)
  end)
`
const unharmed = 'info check\ttrue\t21\ton\t7\ttrue\ttrue\tnil'
const configuration = { config: { token: 'geheim-4711', city: 'Ulm' }, secrets: ['geheim-4711'] }

/** Runs Lua in a plugin that means harm; answers what it printed, without positions. */
async function attack(lua: string): Promise<{ caller: string[]; victim: string[]; calls: unknown[] }> {
  const found = { caller: [] as string[], victim: [] as string[], calls: [] as unknown[] }
  await withStage(async ({ load }) => {
    const other = await load('victim', victim, configuration)
    await other.recorder.until(() => other.recorder.named('setPoint').find(([, , value]) => value === 21))
    const { recorder } = await load('caller', `local other = Plugin.get("victim") ${lua}`)
    other.isolate.deliverEvent('check', json())
    await other.recorder.logged('check')
    found.caller = recorder.logs().map((line) => line.replace(/init\.lua:\d+: /, ''))
    found.victim = other.recorder.logs().filter((line) => !line.startsWith('debug '))
    found.calls = [...other.recorder.calls]
  })
  return found
}

test('§9 no field of another plugin can be set: no method, no state, no metatable, by no function of Lua', async () => {
  const { caller, victim: lines } = await attack(`
    local lamp, warmth = other:lamp(), other:get("warmth")
    local function try(f, ...) print((pcall(f, ...))) end
    try(function() other.log = function() end end)
    try(function() other.note = 1 end)
    try(function() lamp.value = 99 end)
    try(function() lamp.level = function() return 99 end end)
    try(function() lamp.__index = {} end)
    try(function() warmth.get = function() return 99 end end)
    try(setmetatable, lamp, {})
    try(table.insert, lamp, "x")
    try(table.sort, lamp, function() return true end)
    try(function() getmetatable(lamp).__index = {} end)
    print(rawset, debug, next(lamp), rawlen(lamp), lamp:level())
  `)
  assert.deepEqual(caller, [
    ...Array.from({ length: 8 }, () => 'info false'),
    // There is nothing to sort.
    'info true',
    'info false',
    'info nil\tnil\tnil\t0\t7',
  ])
  assert.deepEqual(lines, ['info init', unharmed])
})

test('§9 a table whose maker has said what becomes of new fields takes them, and keeps those that it has', async () => {
  await withStage(async ({ load }) => {
    await load(
      'shelf',
      `
        local kept = {}
        local shelf = setmetatable({ label = "mine" }, {
          __index = kept,
          __newindex = function(_, key, value) kept[key] = "(" .. tostring(value) .. ")" end,
        })
        function plugin:shelf() return shelf end
        function plugin:mirror() return plugin:createObject("mirror", { level = 1, deep = { level = 1 } }) end
        function plugin:own() return plugin end
      `,
      configuration,
    )
    const { recorder } = await load(
      'caller',
      `
        local other = Plugin.get("shelf")
        local shelf, mirror = other:shelf(), other:mirror()
        shelf.book = "Lua"
        print(pcall(function() mirror.level = 2 end))
        print(pcall(function() mirror.deep.level = 2 end))
        print(pcall(table.insert, mirror.deep, 2))
        print(shelf.book, mirror.level, mirror.deep.level, #mirror.deep)
        print(pcall(function() shelf.label = "yours" end))
        print(pcall(function() mirror.all = other:own() end))
        print(shelf.label, mirror.all)
      `,
    )
    const notMade =
      "info false\t@test/shelf: another plugin cannot change the object 'mirror', which it has not made"
    assert.deepEqual(
      recorder.logs().map((line) => line.replace(/init\.lua:\d+: /, '')),
      [
        notMade,
        notMade,
        notMade,
        'info (Lua)\t1\t1\t0',
        "info false\t@test/shelf: another plugin cannot set the field 'label'; call a method that does it",
        'info false\t@test/shelf: its own objects cannot be handed to its methods of the host',
        'info mine\tnil',
      ],
    )
  })
})

test('§9 what a plugin has made itself is not replaced, changed or stopped by another; what another made is', async () => {
  const { caller, victim: lines } = await attack(`
    local function try(f, ...) print(pcall(f, ...)) end
    try(other.upsertObject, other, "state", { mine = false })
    try(other.updateObject, other, "state", { mine = false })
    try(other.createObject, other, "state", { mine = false })
    try(other.sensor, other, "warmth", function() return 99 end)
    try(other.control, other, "switch", function() return "off" end, print)
    try(function() other:get("warmth"):emit("OnChange", 99) end)
    try(other.removeObject, other, "state")
    try(other.removeSensor, other, "warmth")
    try(other.removeControl, other, "switch")
    for id = 1, 5 do pcall(other.clearTimer, other, id) end
    try(other.clearTimer, other, other:ticker())
    print(other:upsertObject("guest", { n = 1 }), other:updateObject("guest", { n = 2 }), other:getObject("guest").n)
    local mirror = other:createObject("guest", { n = 3, deep = {} })
    mirror.n = 4
    mirror.deep.n = 5
    print(mirror.deep.n, other:getObject("guest").deep.n)
    local function getter() return 1 end
    print(other:getObject("guest").n, other:sensor("guest", getter) ~= nil, other:sensor("guest", getter) ~= nil)
    local id = other:setTimeout(1e9, print)
    print(other:clearTimer(id))
    print(other:removeObject("guest"), other:removeSensor("guest"), other:getObject("guest"), other:get("guest"))
  `)
  const refused = (what: string): string =>
    `info false\t@test/victim: another plugin cannot change the ${what}, which it has not made`
  assert.deepEqual(caller.slice(0, 3), Array(3).fill(refused("object 'state'")))
  assert.deepEqual(caller.slice(3, 5), [refused("sensor 'warmth'"), refused("control 'switch'")])
  assert.equal(caller[5], refused("sensor 'warmth'"))
  assert.deepEqual(caller.slice(6, 9), [
    refused("object 'state'"),
    refused("sensor 'warmth'"),
    refused("control 'switch'"),
  ])
  assert.match(caller[9] ?? '', /cannot change the timer '\d+', which it has not made/)
  assert.deepEqual(caller.slice(10), [
    'info true\ttrue\t2',
    'info 5\t5',
    'info 4\ttrue\ttrue',
    'info nil',
    'info true\ttrue\tnil\tnil',
  ])
  assert.deepEqual(lines, ['info init', unharmed])
})

test('§9 life, look-ups and configuration of a plugin are not for another to use, however it asks', async () => {
  const {
    caller,
    victim: lines,
    calls,
  } = await attack(`
    print(other.onInit, other.onCleanup, pcall(function() other:onInit({}) end))
    for key in pairs(other) do if key:find("^on") then print("seen", key) end end
    print(pcall(other.get, "caller"))
    print(pcall(other.getPlugin, other, "caller"))
    local warmth, switch = other:get("warmth"), other:get("switch")
    local function try(f, ...) print(select(2, pcall(f, ...))) end
    local seen
    warmth:onChange(function(value) seen = value end)
    try(warmth.emit, warmth, "OnChange", other)
    try(warmth.emit, "OnChange", { other })
    try(other.emit, other, "leak", { deep = { other } })
    try(other.mqttPublish, other, "leak", other)
    try(other.upsertObject, other, "leak", other)
    -- A method of the host that the host calls back would be called as by the plugin itself.
    try(other.control, other, "relay", function() end, other.clearTimer)
    try(other.on, other, "leak", other.upsertObject)
    try(other.poller, other, "leak", { onTick = other.clearTimer })
    print(seen)
  `)
  const own = 'info @test/victim: its own objects cannot be handed to its methods of the host'
  assert.deepEqual(caller, [
    "info nil\tnil\tfalse\t@test/victim: attempt to call a nil value (method 'onInit')",
    'info false\t@test/victim: call your own Plugin.get',
    'info false\t@test/victim: call your own Plugin.getPlugin',
    ...Array.from({ length: 8 }, () => own),
    'info nil',
  ])
  assert.deepEqual(lines, ['info init', unharmed])
  assert.doesNotMatch(JSON.stringify(calls), /leak|geheim/)
})

test('§9 what others make through an instance leaves room for the plugin itself', async () => {
  const { caller, victim: lines } = await attack(`
    local made = 0
    print(pcall(function() for i = 1, 300 do other:mqttSubscribe("t/" .. i, print) made = i end end))
    print(made)
  `)
  assert.deepEqual(caller, [
    'info false\t@test/victim: too many subscriptions: a plugin may have 200 at one time',
    'info 100',
  ])
  assert.deepEqual(lines, ['info init', unharmed])
})
