import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from './plugins-stage.ts'
import { linesOf, pluginSource, withPlugin } from './stage.ts'

test('§7 upsertObject creates or replaces, and copies', async () => {
  await withPlugin(
    pluginSource(`
      local data = { value = 1, nested = { list = { 1, 2 } } }
      print(plugin:upsertObject("a.b", data))
      data.value = 2
      print(plugin:getObject("a.b").value, plugin:getObject("plugins.test.probe.a.b").nested.list[2], plugin:getObject("none"))
      local copy = plugin:getObject("a.b") copy.value = 3
      print(plugin:getObject("a.b").value)
      plugin:upsertObject("a.b", { other = true })
      print(plugin:getObject("a.b").value)
    `),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), ['info true', 'info 1\t2\tnil', 'info 1', 'info nil'])
      assert.deepEqual(recorder.named('setObject'), [
        ['a.b', { value: 1, nested: { list: [1, 2] } }],
        ['a.b', { other: true }],
      ])
    },
  )
})

test('§7 updateObject merges all or nothing, and says what it refused', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("w", { value = 1, unit = "C" })
      print(plugin:updateObject("w", { value = 2, lastError = "none", error = "e", lastUpdate = 1, updated = 2 }))
      print(plugin:updateObject("w", { unit = "F", valuee = 3 }))
      print(plugin:updateObject("w", { somethingElse = 3 }))
      print(plugin:updateObject("x", { value = 3 }))
      print(plugin:getObject("w").unit, plugin:getObject("w").value)
    `),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), [
        'info true',
        "warn updateObject: unknown field 'valuee' (did you mean: 'value'?)",
        "info false\tunknown field 'valuee' (did you mean: 'value'?)",
        "warn updateObject: unknown field 'somethingElse'",
        "info false\tunknown field 'somethingElse'",
        'warn updateObject: object not found: x',
        'info false\tobject not found: x',
        'info C\t2',
      ])
      assert.equal(recorder.named('setObject').length, 2)
    },
  )
})

test('§7 getObject finds an object of another plugin by its full path', async () => {
  await withPlugin(
    pluginSource(`
      plugin:setTimeout(0, function()
        plugin:upsertObject("own", { value = 1 })
        print(plugin:getObject("plugins.other.sun.now").elevation, plugin:getObject("plugins.other.sun.later"))
      end)
    `),
    async ({ recorder }) => {
      recorder.foreignObjects.set('plugins.other.sun.now', { elevation: 12.5 })
      await recorder.logged('12.5')
      assert.deepEqual(recorder.calls, [
        ['setObject', 'own', { value: 1 }],
        ['log', 'info', '12.5\tnil'],
      ])
    },
  )
})

test('§4 createObject gives a table that reads and writes through', async () => {
  await withPlugin(
    pluginSource(`
      local lamp = plugin:createObject("lamp", { on = false })
      lamp.on = true
      lamp.level = 50
      print(lamp.on, lamp.level, lamp.none, plugin:getObject("lamp").level)
      lamp.level = nil
    `),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), ['info true\t50\tnil\t50'])
      assert.deepEqual(recorder.named('setObject').at(-1), ['lamp', { on: true }])
    },
  )
})

/** What `lua` prints, and the object `house` as the host has it at the end. */
async function withHouse(lua: string): Promise<{ lines: string[]; house: unknown }> {
  let house: unknown
  const lines: string[] = []
  await withPlugin(pluginSource(lua), ({ recorder }) => {
    house = recorder
      .named('setObject')
      .filter(([path]) => path === 'house')
      .at(-1)?.[1]
    lines.push(...recorder.logs().map((line) => line.replace(/^info /, '')))
  })
  return { lines, house }
}

test('§4 createObject writes through at every level, and takes what is assigned at every level, too', async () => {
  const { lines, house } = await withHouse(`
    local house = plugin:createObject("house", { hall = { lamp = { level = 0 } }, doors = { "front" } })
    house.hall.lamp.level = 40
    house.hall.lamp.on = true
    local hall = house.hall
    hall.lamp.level = hall.lamp.level + 1
    print(plugin:getObject("house").hall.lamp.level, house.hall == hall)
    house.cellar = { lights = {} }
    house.cellar.lights.left = { on = true }
    house.cellar.lights.left.on = false
    table.insert(house.doors, "back")
    house.doors[#house.doors + 1] = "roof"
    house[12] = { warm = 20 }
    house[12].warm = 21
    print(house[12].warm, house["12"].warm, rawequal(house[12], house["12"]))
    house.hall.lamp.on = nil
  `)
  assert.deepEqual(lines, ['41\ttrue', '21\t21\ttrue'])
  assert.deepEqual(house, {
    hall: { lamp: { level: 41 } },
    cellar: { lights: { left: { on: false } } },
    doors: ['front', 'back', 'roof'],
    12: { warm: 21 },
  })
})

test('§4 pairs, ipairs, next, #, the functions of table, JSON and events see what createObject has', async () => {
  const { lines, house } = await withHouse(`
    local house = plugin:createObject("house", { doors = { "front", "back" }, rooms = { { n = 2 }, { n = 3 }, { n = 1 } } })
    for key, value in pairs(house) do print("pair", key, #value) end
    for index, door in ipairs(house.doors) do print("door", index, door) end
    print(next(house) ~= nil, next(house.rooms[1]), #house.doors, table.concat(house.doors, "+"), table.unpack(house.doors))
    print(plugin:jsonEncode(house.doors), plugin:jsonEncode(house), table.maxn(house.rooms))
    local last = house.rooms[3]
    table.sort(house.rooms, function(a, b) return a.n < b.n end)
    print(house.rooms[1] == last, plugin:jsonEncode(house.rooms))
    last.first = true
    print(table.remove(house.rooms, 2).n, #house.rooms)
    house.rooms[1], house.rooms[2] = house.rooms[2], house.rooms[1]
    for key in pairs(house.doors) do house.doors[key] = nil end
    print(next(house.doors))
    plugin:kvSet("house", house)
    plugin:emit("house", house)
    print(plugin:jsonEncode(plugin:kvGet("house")))
  `)
  const rooms = '[{"n":3},{"first":true,"n":1}]'
  assert.deepEqual(lines.slice(0, 4).sort(), [
    'door\t1\tfront',
    'door\t2\tback',
    'pair\tdoors\t2',
    'pair\trooms\t3',
  ])
  assert.deepEqual(lines.slice(4, 6), [
    'true\tn\t2\tfront+back\tfront\tback',
    '["front","back"]\t{"doors":["front","back"],"rooms":[{"n":2},{"n":3},{"n":1}]}\t3',
  ])
  assert.deepEqual(lines.slice(6, 9), ['true\t[{"n":1},{"n":2},{"n":3}]', '2\t2', 'nil'])
  assert.deepEqual(JSON.parse(lines[9] ?? ''), { doors: {}, rooms: JSON.parse(rooms) as unknown })
  assert.deepEqual(house, { doors: {}, rooms: JSON.parse(rooms) as unknown })
})

test('§4 the table of createObject shows what upsertObject and updateObject have made of the object', async () => {
  const { lines, house } = await withHouse(`
    local house = plugin:createObject("house", { hall = { level = 1 }, door = "open", list = { 1, 2, 3 } })
    local hall = house.hall
    plugin:upsertObject("house", { hall = { level = 2 }, list = { 4 } })
    print(house.door, hall.level, house.hall == hall, #house.list, plugin:createObject("house", house) == house)
    plugin:updateObject("house", { list = { 5, 6 } })
    print(plugin:jsonEncode(house.list))
    hall.level = 3
  `)
  assert.deepEqual(lines, ['nil\t2\ttrue\t1\ttrue', '[5,6]'])
  assert.deepEqual(house, { hall: { level: 3 }, list: [5, 6] })
})

test('§4 what createObject cannot keep changes nothing, and its tables are like any other otherwise', async () => {
  const { lines, house } = await withHouse(`
    local house = plugin:createObject("house", { hall = { level = 1 } })
    local copied = { level = 5 }
    house.copied = copied
    copied.level = 6
    print(pcall(function() house.hall.again = house end))
    house.hall.big = ("x"):rep(2 * 1024 * 1024)
    house.hall.call = print
    print(house.hall.again, house.hall.big, house.hall.call, house.copied.level)
    print(pcall(function() house[true] = 1 end))
    print(pcall(setmetatable, house, {}))
    print(type(house), rawlen(house), house.none)
  `)
  assert.match(lines[0] ?? '', /^false\tinit\.lua:1?\d*: cycle: the table contains itself$/)
  assert.match(lines[1] ?? '', /^warn createObject: an object may take 1048576 bytes at most$/)
  assert.deepEqual(lines.slice(2), [
    'nil\tnil\tnil\t5',
    "false\tinit.lua:10: bad argument #1 to 'object' (string expected, got boolean)",
    'false\tcannot change a protected metatable',
    'table\t0\tnil',
  ])
  assert.deepEqual(house, { hall: { level: 1 }, copied: { level: 5 } })
})

test('§7 an object that is too large, or one too many bytes, is refused', async () => {
  await withPlugin(
    pluginSource(`
      print(plugin:upsertObject("big", { text = ("x"):rep(9 * 1024 * 1024) }))
    `),
    ({ recorder, isolate }) => {
      assert.match(recorder.logs()[1] ?? '', /false\tan object may take 1048576 bytes/)
      assert.equal(isolate.resources().objects, 0)
    },
  )
})

test('§7 a sensor is read after init and on _notify, and tells only what changed, always the first time', async () => {
  await withPlugin(
    pluginSource(`
      local value = { t = 20 }
      local s = plugin:sensor("warm", function() return value end)
      print(s == plugin:get("warm"), plugin:get("none"), s._id, s._type, s and s._notify ~= nil, s.set)
      s:on("OnChange", function(now) print("on", now.t) end)
      local off = s:onChange(function(now) print("change", now.t) end)
      plugin:setTimeout(0, function()
        s:_notify() s._notify() s.notify()
        value = { t = 21 } s:_notify()
        off()
        s:emit("OnChange", { t = 99 })
        print(s:get().t, s.get().t)
      end)
    `),
    async ({ recorder }) => {
      await recorder.logged('21\t21')
      assert.deepEqual(recorder.logs(), [
        'info true\tnil\twarm\tsensor\ttrue\tnil',
        'info on\t20',
        'info change\t20',
        'info on\t21',
        'info change\t21',
        'info on\t99',
        'info 21\t21',
      ])
      assert.deepEqual(recorder.named('setPoint'), [
        ['sensor', 'warm', undefined],
        ['sensor', 'warm', { t: 20 }],
        ['sensor', 'warm', { t: 21 }],
        ['sensor', 'warm', { t: 99 }],
      ])
    },
  )
})

test('§7 a getter is read every second, and one that fails is logged once and gives no value', async () => {
  await withPlugin(
    pluginSource(`
      local count = 0
      plugin:sensor("count", function() count = count + 1 return count end)
      plugin:sensor("bad", function() error("no reading") end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => recorder.named('setPoint').find(([, , value]) => value === 3))
      assert.equal(recorder.logs().length, 1)
      assert.match(recorder.logs()[0] ?? '', /^error getter of 'bad': init\.lua:4: no reading/)
      assert.deepEqual(
        recorder.named('setPoint').filter(([, id]) => id === 'bad'),
        [
          ['sensor', 'bad', undefined],
          ['sensor', 'bad', undefined],
        ],
      )
    },
  )
})

test('§7 a second sensor of the same id replaces the first', async () => {
  await withPlugin(
    pluginSource(`
      local old = plugin:sensor("x", function() return 1 end)
      plugin:sensor("x", function() return 2 end)
      old:_notify()
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => recorder.named('setPoint').find(([, , value]) => value === 2))
      assert.deepEqual(recorder.named('setPoint').at(-1), ['sensor', 'x', 2])
      assert.equal(
        recorder.named('setPoint').some(([, , value]) => value === 1),
        false,
      )
      assert.equal(isolate.resources().sensors, 1)
    },
  )
})

test('§7 a control is set from outside with a typed value, and answers the value afterwards', async () => {
  await withPlugin(
    pluginSource(
      `
      local on, level, free = false, 0, nil
      plugin:control("lamp", function() return on end, function(v) print(type(v), v) on = v end)
      plugin:control("dim", function() return level end, function(v) print(type(v), v) level = math.min(v, 100) end)
      plugin:control("any", function() return free end, function(v) free = v end)
      plugin:control("bad", function() return 0 end, function() error("jammed") end)
    `,
      {
        controls: [
          { id: 'lamp', type: 'switch' },
          { id: 'dim', type: 'number' },
          { id: 'bad', type: 'number' },
        ],
      },
    ),
    async ({ recorder, isolate }) => {
      assert.equal(await isolate.setControl('lamp', 'ON'), true)
      assert.equal(await isolate.setControl('lamp', 0), false)
      assert.equal(await isolate.setControl('dim', '150'), 100)
      assert.deepEqual(await isolate.setControl('any', { a: [1] }), { a: [1] })
      await assert.rejects(isolate.setControl('dim', 'much'), { code: 'control_value_invalid' })
      await assert.rejects(isolate.setControl('bad', 1), {
        code: 'control_value_invalid',
        message: /init\.lua:6: jammed/,
      })
      await assert.rejects(isolate.setControl('none', 1), { code: 'control_unknown' })
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        ['info boolean\ttrue', 'info boolean\tfalse', 'info number\t150'],
      )
    },
  )
})

test('§7 a control’s setter that never ends is refused in time', async () => {
  await withPlugin(
    pluginSource('plugin:control("x", function() return 1 end, function() while true do end end)'),
    async ({ isolate }) => {
      await assert.rejects(isolate.setControl('x', 1), {
        code: 'control_value_invalid',
        message: /longer than 0\.1 s/,
      })
    },
    { callbackTime: 100 },
  )
})

test('§7 a control whose setter waits for longer than whoever has set it is refused, not broken', async () => {
  await withPlugin(
    pluginSource('plugin:control("x", function() return 1 end, function() while true do end end)'),
    async ({ isolate }) => {
      await assert.rejects(isolate.setControl('x', 1), {
        code: 'control_value_invalid',
        message: /did not take the value of x within 0\.1 s/,
      })
    },
    { controlDeadline: 100, callbackTime: 2_000 },
  )
})

test('§7 Lua sets a control with a value, or with a feature and a value', async () => {
  const lines = await linesOf(
    pluginSource(`
      local state = {}
      local c = plugin:control("lamp", function(feature) return feature and state[feature] or state.state end,
        function(value, feature) state[feature or "state"] = value end)
      c:set(true) c.set("brightness", 40) c:set("hue", 7)
      print(c:get(), c:get("brightness"), c.get("hue"))
    `),
  )
  assert.deepEqual(lines, ['true\t40\t7'])
})

test('§7 the range of a control holds for set in Lua, too, its own and that of other plugins', async () => {
  const control = `
    local level = 5
    local control = plugin:control("level", function() return level end, function(value) level = value end)
    function plugin:level() return control end
  `
  const attempts = `
    local control = CONTROL
    local function try(...) print(select(2, pcall(control.set, ...))) print(control:get()) end
    try(control, 7) try(control, 101) try(-0.5) try(control, "101") try(control, "8") try(control, 0/0) try(control)
    try(control, "value", 101) try(control, "colour", 300)
  `
  const refused = (shown: string): string =>
    `the value of 'level' must be a number from 0 to 100, not ${shown}`
  const expected = [
    ['nil', 7],
    [refused('101'), 7],
    [refused('-0.5'), 7],
    [refused('"101"'), 7],
    ['nil', 8],
    [refused('null'), 8],
    [refused('null'), 8],
    [refused('101'), 8],
    ['nil', 300],
  ].flat()
  const plain = (lines: string[]) =>
    lines.map((line) => line.replace(/^info |@test\/owner: |init\.lua:\d+: /g, '').replace(/^$/, 'nil'))
  await withStage(async ({ load }) => {
    const controls = [{ id: 'level', type: 'number', range: '0-100' }]
    const owner = await load('owner', control + attempts.replace('CONTROL', 'plugin:level()'), { controls })
    assert.deepEqual(plain(owner.recorder.logs()), expected.map(String))
    const caller = await load('caller', attempts.replace('CONTROL', 'Plugin.get("owner"):level()'))
    assert.deepEqual(plain(caller.recorder.logs()), expected.map(String))
  })
})

test('what a plugin removes is gone, with its value and its exposure, and can be made again', async () => {
  await withPlugin(
    pluginSource(`
      plugin:upsertObject("lamp", { on = true })
      local live = plugin:createObject("live", { n = 1 })
      print(plugin:removeObject("lamp"), plugin:removeObject("lamp"), plugin:getObject("lamp"))
      print(plugin:updateObject("lamp", { on = false }))
      print(plugin:removeObject("live"), pcall(function() live.n = 2 end))
      local level = 1
      local sensor = plugin:sensor("level", function() return level end)
      plugin:control("level", function() return level end, function(value) level = value end)
      print(plugin:removeControl("level"), plugin:get("level") == sensor, plugin:removeControl("level"))
      expose(sensor, "sensor", { name = "Level" })
      plugin:setTimeout(0, function()
        print(plugin:removeSensor("level"), plugin:get("level"))
        sensor:notify()
        sensor:emit("OnChange", 7)
        plugin:sensor("level", function() return "again" end)
      end)
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => recorder.named('setPoint').find(([, , value]) => value === 'again'))
      assert.deepEqual(recorder.logs(), [
        'info true\tfalse\tnil',
        'warn updateObject: object not found: lamp',
        'info false\tobject not found: lamp',
        "info true\tfalse\tinit.lua:6: the object 'live' was removed",
        'info true\ttrue\tfalse',
        'info true\tnil',
      ])
      assert.deepEqual(recorder.named('removePoint'), [
        ['control', 'level'],
        ['sensor', 'level'],
      ])
      assert.deepEqual(recorder.named('removeExposure'), [['level']])
      assert.deepEqual(
        recorder.named('setPoint').map(([kind, , value]) => [kind, value]),
        [
          ['sensor', undefined],
          ['control', undefined],
          ['sensor', 1],
          ['sensor', undefined],
          ['sensor', 'again'],
        ],
      )
      const { objects, sensors, controls } = isolate.resources()
      assert.deepEqual({ objects, sensors, controls }, { objects: 0, sensors: 1, controls: 0 })
    },
  )
})

test('§7 a sensor that nobody has touched is handed on whole', async () => {
  await withPlugin(
    pluginSource(`
      local names = {}
      for name in pairs(plugin:control("level", function() return 1 end, function() end)) do names[#names + 1] = name end
      print(table.concat(names, " "))
      local sensor = plugin:sensor("inside", function() return 2 end)
      print(plugin:get("inside") == sensor, sensor._id, sensor.get(), sensor:get())
    `),
    ({ recorder }) => {
      assert.deepEqual(recorder.logs(), [
        'info _id _type get _notify notify onChange on emit set',
        'info true\tinside\t2\t2',
      ])
    },
  )
})
