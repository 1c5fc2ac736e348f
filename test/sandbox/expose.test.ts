import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExposedState, Exposure } from '../../src/schema/plugin/exposure.ts'
import { json, pluginSource, type Recorder, withPlugin } from './stage.ts'

/** How this id is exposed now. */
function exposure(recorder: Recorder, id: string): Exposure | undefined {
  return recorder.named('setExposure').findLast(([found]) => found === id)?.[1] as Exposure | undefined
}

/** All that its state has been. */
function states(recorder: Recorder, id: string): ExposedState[] {
  return recorder
    .named('setExposedState')
    .filter(([found]) => found === id)
    .map(([, state]) => state as ExposedState)
}

const stateIs = (recorder: Recorder, id: string, wanted: unknown): Promise<unknown> =>
  recorder.until(() => {
    const last = states(recorder, id).at(-1)
    return JSON.stringify(last) === JSON.stringify(wanted) ? last : undefined
  })

test('§10 expose returns the object, and warns of nil', async () => {
  await withPlugin(
    pluginSource(`
      local lamp = { get = function() return true end }
      print(expose(lamp, "switch", { name = "Lamp" }) == lamp, expose(nil, "switch", { name = "none" }))
      print(pcall(expose, 5, "switch"))
    `),
    async ({ recorder }) => {
      await recorder.until(() => exposure(recorder, 'lamp'))
      assert.deepEqual(recorder.logs(), [
        'warn expose: there is no object to expose',
        'info true\tnil',
        "info false\tbad argument #1 to 'expose' (table expected, got number)",
      ])
      assert.equal(recorder.named('setExposure').length, 1)
    },
  )
})

test('§10 the identity is options.id, else getId(), else _id, else comes from the name', async () => {
  await withPlugin(
    pluginSource(`
      local function object(more) more.get = function() return 1 end return more end
      local class = { getId = function(self) return self.serial end }
      class.__index = class
      expose(object(setmetatable({ serial = "by-method", _id = "x" }, class)), "sensor", { id = "by.option" })
      expose(object(setmetatable({ serial = "by-method", _id = "x" }, class)), "sensor", { name = "N" })
      expose(object({ _id = "by-field" }), "sensor", { name = "N" })
      expose(object({}), "sensor", { name = "Wohnzimmer: Ofen (2)" })
      expose(object({}), "sensor", { name = "Wohnzimmer: Ofen (2)" })
      expose(object({ name = "Own name" }), "sensor")
      expose(object({}), "humidity")
      expose(plugin:sensor("warm", function() return 20.5 end), "temperature")
      expose(object({}), "sensor", { id = 7 })
    `),
    async ({ recorder }) => {
      await recorder.until(() => exposure(recorder, '7'))
      assert.deepEqual(
        recorder.named('setExposure').map(([id, shown]) => [id, (shown as Exposure).name]),
        [
          ['by.option', 'by.option'],
          ['by-method', 'N'],
          ['by-field', 'N'],
          ['wohnzimmer_ofen_2', 'Wohnzimmer: Ofen (2)'],
          ['wohnzimmer_ofen_2_2', 'Wohnzimmer: Ofen (2)'],
          ['own_name', 'Own name'],
          ['humidity', 'humidity'],
          ['warm', 'warm'],
          ['7', '7'],
        ],
      )
    },
  )
})

test('a state class that Home Assistant does not know is left out: it would not show the sensor at all', async () => {
  await withPlugin(
    pluginSource(`
      local function meter() return { get = function() return 7 end } end
      expose(meter(), "sensor", { id = "energy", unit = "kWh", state_class = "total_incresing" })
      expose(meter(), "temperature", { id = "warm", state_class = "measured" })
      expose(meter(), "sensor", { id = "wind", unit = "°", state_class = "measurement_angle" })
    `),
    async ({ recorder }) => {
      await recorder.until(() => exposure(recorder, 'wind'))
      assert.deepEqual(
        ['energy', 'warm', 'wind'].map((id) => exposure(recorder, id)?.stateClass),
        [undefined, 'measurement', 'measurement_angle'],
      )
    },
  )
})

test('of two objects that are exposed by one id while the plugin starts the first is not shown, and the log says so', async () => {
  await withPlugin(
    pluginSource(`
      local function meter() return { get = function() return 7 end } end
      local again = meter()
      expose(again, "sensor", { id = "again", name = "Before" })
      expose(again, "sensor", { id = "again", name = "Again" })
      expose(meter(), "sensor", { id = "power", name = "Cellar" })
      expose(meter(), "sensor", { id = "power", name = "Attic" })
      plugin:on("go", function() expose(meter(), "sensor", { id = "power", name = "Attic, as it is now" }) end)
    `),
    async ({ isolate, recorder }) => {
      await recorder.until(() => exposure(recorder, 'power'))
      isolate.deliverEvent('go', json(null))
      await recorder.until(() => exposure(recorder, 'power')?.name === 'Attic, as it is now' || undefined)
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('warn')),
        ["warn expose: the id 'power' is another object's, which is not shown any more"],
      )
    },
  )
})

test('a sensor that replaces another one is shown in its place, and a control is set in its place', async () => {
  await withPlugin(
    pluginSource(`
      local now = 20
      expose(plugin:sensor("power", function() return 10 end), "sensor", { id = "shown", name = "Power", unit = "W" })
      expose(plugin:control("level", function() return 1 end, function() print("the old one") end), "number")
      plugin:on("go", function()
        plugin:sensor("power", function() return now end)
        plugin:control("level", function() return 2 end, function(value) print("the new one", value) end)
      end)
      plugin:on("more", function() now = 30 plugin:get("power"):notify() end)
    `),
    async ({ isolate, recorder }) => {
      await stateIs(recorder, 'shown', { value: 10 })
      isolate.deliverEvent('go', json(null))
      await stateIs(recorder, 'shown', { value: 20 })
      await stateIs(recorder, 'level', { value: 2 })
      isolate.deliverEvent('more', json(null))
      await stateIs(recorder, 'shown', { value: 30 })
      assert.deepEqual(exposure(recorder, 'shown'), {
        ...{
          component: 'sensor',
          type: 'sensor',
          name: 'Power',
          unit: 'W',
          features: ['value'],
          writable: [],
        },
      })
      await isolate.setExposed('level', 'value', 5)
      assert.ok(recorder.logs().includes('info the new one\t5'), recorder.logs().join('\n'))
      assert.deepEqual(recorder.named('removeExposure'), [])
    },
  )
})

test('a sensor that replaces one that is unavailable is unavailable', async () => {
  await withPlugin(
    pluginSource(`
      local function make() return plugin:sensor("power", function() return 10 end) end
      expose(make(), "sensor", { id = "shown" }):setAvailable(false)
      plugin:on("again", make)
      plugin:on("back", function() plugin:get("power"):setAvailable(true) end)
    `),
    async ({ isolate, recorder }) => {
      await stateIs(recorder, 'shown', { value: 10, available: false })
      isolate.deliverEvent('again', json(null))
      await recorder.until(() => recorder.named('setExposure')[1])
      isolate.deliverEvent('back', json(null))
      await stateIs(recorder, 'shown', { value: 10, available: true })
      assert.ok(!states(recorder, 'shown').some((state) => state.available === undefined))
    },
  )
})

/** The component of each type, when its object can be set and when not. */
const components: [type: string, writable: string, readOnly: string][] = [
  ['switch', 'switch', 'binary_sensor'],
  ['number', 'number', 'sensor'],
  ['sensor', 'sensor', 'sensor'],
  ['binary_sensor', 'binary_sensor', 'binary_sensor'],
  ['boolean', 'switch', 'binary_sensor'],
  ['temperature', 'sensor', 'sensor'],
  ['humidity', 'sensor', 'sensor'],
  ['fan', 'fan', 'sensor'],
  ['light', 'light', 'binary_sensor'],
  ['climate', 'climate', 'climate'],
  ['cover', 'cover', 'cover'],
  ['select', 'select', 'sensor'],
  ['button', 'button', 'sensor'],
  ['text', 'text', 'sensor'],
  ['event', 'event', 'event'],
  ['Switch', 'switch', 'binary_sensor'],
  ['teapot', 'sensor', 'sensor'],
]

test('§10 each type is a component, by whether the object can be set; an unknown one is a sensor with a warning', async () => {
  const calls = components.map(
    ([type]) => `
      expose({ get = function() return "x" end, set = function() end }, "${type}", { id = "${type}" })
      expose({ get = function() return "x" end }, "${type}", { id = "${type}?" })`,
  )
  await withPlugin(pluginSource(calls.join('')), async ({ recorder }) => {
    await recorder.until(() => exposure(recorder, 'teapot?'))
    const found = (id: string): string => exposure(recorder, id)?.component ?? 'nothing'
    assert.deepEqual(
      components.map(([type]) => [type, found(type), found(`${type}?`)]),
      components,
    )
    assert.deepEqual(recorder.logs(), [
      "warn expose: 'teapot' has the unknown type 'teapot'; it is shown as a sensor",
      "warn expose: 'teapot?' has the unknown type 'teapot'; it is shown as a sensor",
    ])
  })
})

test('§10 the options are passed on, and the type and the manifest say the rest', async () => {
  await withPlugin(
    pluginSource(
      `
      local level = plugin:control("level", function() return 5 end, function() end)
      expose(level, "number", { name = "Level", area = "Hall", unit = "%", step = 0.5, icon = "mdi:fan" })
      expose(plugin:sensor("warm", function() return 20 end), "temperature")
      expose({ get = function() return "b" end, set = function() end }, "select",
        { id = "mode", options = { "a", "b", 3 }, device_class = "d", state_class = "total", min = 1, max = "9" })
    `,
      { controls: [{ id: 'level', type: 'number', range: '-10-10' }] },
    ),
    async ({ recorder }) => {
      await recorder.until(() => exposure(recorder, 'mode'))
      assert.deepEqual(
        ['level', 'warm', 'mode'].map((id) => exposure(recorder, id)),
        [
          {
            component: 'number',
            type: 'number',
            name: 'Level',
            features: ['value'],
            writable: ['value'],
            control: 'level',
            area: 'Hall',
            unit: '%',
            min: -10,
            max: 10,
            step: 0.5,
            icon: 'mdi:fan',
          },
          {
            component: 'sensor',
            type: 'temperature',
            name: 'warm',
            features: ['value'],
            writable: [],
            unit: '°C',
            deviceClass: 'temperature',
            stateClass: 'measurement',
          },
          {
            component: 'select',
            type: 'select',
            name: 'mode',
            features: ['value'],
            writable: ['value'],
            min: 1,
            max: 9,
            deviceClass: 'd',
            stateClass: 'total',
            options: ['a', 'b', '3'],
          },
        ],
      )
      assert.deepEqual(recorder.named('setExposedState'), [
        ['level', { value: 5 }],
        ['warm', { value: 20 }],
        ['mode', { value: 'b' }],
      ])
    },
  )
})

test('§10 a sensor that gives 0, 1 or a boolean is a binary sensor, unless it is measured or gives more', async () => {
  await withPlugin(
    pluginSource(`
      local door, tell = 0, nil
      expose({ get = function() return door end, onChange = function(self, cb) tell = cb end }, "sensor", { id = "door" })
      expose({ get = function() return false end }, "sensor", { id = "rain" })
      expose({ get = function() return 1 end }, "sensor", { id = "power", unit = "W" })
      expose({ get = function() return 1 end }, "sensor", { id = "count", state_class = "total" })
      expose({ get = function() return 0.5 end }, "sensor", { id = "half" })
      plugin:on("door", function(value) door = value tell() end)
      plugin:on("go", function() plugin:emit("door", 1) plugin:emit("door", 7) plugin:emit("door", 0) end)
    `),
    async ({ isolate, recorder }) => {
      isolate.deliverEvent('go', json(null))
      await stateIs(recorder, 'door', { value: 0 })
      assert.deepEqual(
        recorder.named('setExposure').map(([id, shown]) => [id, (shown as Exposure).component]),
        [
          ['door', 'binary_sensor'],
          ['rain', 'binary_sensor'],
          ['power', 'sensor'],
          ['count', 'sensor'],
          ['half', 'sensor'],
          ['door', 'sensor'],
        ],
      )
      assert.deepEqual(states(recorder, 'door'), [
        { state: false },
        { state: true },
        { value: 7 },
        { value: 0 },
      ])
      assert.deepEqual(states(recorder, 'rain'), [{ state: false }])
    },
  )
})

test('§10 changes come from onChange, whose answer may be the way to unsubscribe or the object', async () => {
  await withPlugin(
    pluginSource(`
      local function device(answer)
        local self = { value = 1, reads = 0 }
        function self:get() self.reads = self.reads + 1 return self.value end
        function self:onChange(callback)
          self.callback = callback
          return answer == "self" and self or function() print("unsubscribed") self.callback = function() end end
        end
        return self
      end
      local first, second = device("self"), device("function")
      expose(first, "number", { id = "first" })
      expose(second, "number", { id = "second" })
      plugin:setTimeout(0, function()
        first.value = 2 first.callback(2)
        second.value = 3 second:callback(3)
        first.callback(2)
        expose(first, "number", { id = "second" })
        print("first was read", first.reads, "times")
      end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => (states(recorder, 'second').length === 3 ? true : undefined))
      assert.deepEqual(states(recorder, 'first'), [{ value: 1 }, { value: 2 }])
      assert.deepEqual(states(recorder, 'second'), [{ value: 1 }, { value: 3 }, { value: 2 }])
      assert.deepEqual(
        recorder.logs().filter((line) => line.includes('unsubscribed')),
        ['info unsubscribed'],
      )
    },
  )
})

test('§10 without onChange the object is read every second, and on(…) and off(…) are never called', async () => {
  await withPlugin(
    pluginSource(`
      local reads = 0
      local lamp = {
        get = function() reads = reads + 1 return reads > 4 end,
        set = function(self, feature, value) print("set", feature, value) end,
        on = function() error("on was called") end,
        off = function() error("off was called") end,
      }
      expose(lamp, "switch", { id = "lamp" })
    `),
    async ({ recorder, isolate }) => {
      await stateIs(recorder, 'lamp', { state: true })
      await isolate.setExposed('lamp', 'state', false)
      await isolate.unload()
      assert.deepEqual(states(recorder, 'lamp'), [{ state: false }, { state: true }])
      assert.deepEqual(recorder.logs(), ['info set\tstate\tfalse'])
      assert.deepEqual(recorder.named('removeExposure'), [['lamp']])
    },
  )
})

test('§10 a setter gets feature and value; switchOn and switchOff are for on and off; what Lua raises is a refusal', async () => {
  await withPlugin(
    pluginSource(`
      local class = { state = false, level = 10 }
      class.__index = class
      function class:get(feature) return self[feature] end
      function class:set(feature, value) print("set", feature, value) self[feature] = value end
      function class:switchOn() print("switchOn") self.state = true end
      function class:switchOff() print("switchOff") self.state = false end
      expose(setmetatable({ brightness = 3 }, class), "light", { id = "light" })
      expose(setmetatable({}, class), "switch", { id = "switch" })
      expose({ switchOn = function() print("on") end, switchOff = function() end }, "switch", { id = "blind" })
      expose({ set = function(self, feature, value) print("pressed", feature, value) end }, "button", { id = "button" })
      expose({ press = function() print("press") end }, "button", { id = "bell" })
      expose(plugin:control("level", function() return 1 end, function(value, feature)
        print("control", value, feature)
      end), "number")
      expose({ get = function() return 1 end, set = function() error("no way", 0) end }, "number", { id = "stubborn" })
      expose({ get = function() return 1 end }, "number", { id = "fixed" })
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => exposure(recorder, 'fixed'))
      await isolate.setExposed('light', 'state', true)
      await isolate.setExposed('light', 'brightness', 200)
      await isolate.setExposed('switch', 'state', false)
      await isolate.setExposed('blind', 'state', true)
      await isolate.setExposed('button', 'press', true)
      await isolate.setExposed('bell', 'press', true)
      await isolate.setExposed('level', 'value', 7)
      await assert.rejects(isolate.setExposed('stubborn', 'value', 7), {
        code: 'control_value_invalid',
        message: 'no way',
      })
      await assert.rejects(isolate.setExposed('fixed', 'value', 7), { code: 'control_unknown' })
      await assert.rejects(isolate.setExposed('light', 'effect', 'x'), { code: 'control_unknown' })
      await assert.rejects(isolate.setExposed('none', 'state', true), { code: 'control_unknown' })
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        [
          'info switchOn',
          'info set\tbrightness\t200',
          'info switchOff',
          'info on',
          'info pressed\tpress\ttrue',
          'info press',
          'info control\t7\tvalue',
        ],
      )
      assert.deepEqual(states(recorder, 'light'), [
        { state: false, brightness: 3 },
        { state: true, brightness: 3 },
        { state: true, brightness: 200 },
      ])
      assert.deepEqual(exposure(recorder, 'light')?.features, ['state', 'brightness'])
      assert.deepEqual(exposure(recorder, 'blind')?.writable, ['state'])
    },
  )
})

test('§10 an object that gives one number is a dimmer: it is on when it is not zero, and comes back to its level', async () => {
  await withPlugin(
    pluginSource(`
      local level = 0
      local dimmer = { get = function() return level end }
      function dimmer:set(feature, value) print(feature, value) level = value end
      expose(dimmer, "light", { id = "light", max = 100 })
      local speed = 0
      expose(plugin:control("fan", function() return speed end, function(value) print("fan", value) speed = value end), "fan")
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => exposure(recorder, 'fan'))
      await isolate.setExposed('light', 'state', true)
      await isolate.setExposed('light', 'brightness', 30)
      await isolate.setExposed('light', 'state', false)
      await isolate.setExposed('light', 'state', true)
      await isolate.setExposed('fan', 'state', true)
      await isolate.setExposed('fan', 'speed', 50)
      assert.deepEqual(recorder.logs(), [
        'info brightness\t100',
        'info brightness\t30',
        'info brightness\t0',
        'info brightness\t30',
        'info fan\t100',
        'info fan\t50',
      ])
      assert.deepEqual(states(recorder, 'light'), [
        { state: false, brightness: 0 },
        { state: true, brightness: 100 },
        { state: true, brightness: 30 },
        { state: false, brightness: 0 },
        { state: true, brightness: 30 },
      ])
    },
  )
})

test('§10 an object may give all its features in one table, or those it knows, and more of them later', async () => {
  await withPlugin(
    pluginSource(`
      expose({ get = function() return { state = "ON", brightness = 10, color = { r = 1, g = 2, b = 3 } } end,
        set = function() end }, "light", { id = "light" })
      local room = { temperature = 20.5, setpoint = 21 }
      local changed
      local heater = {
        get = function(self, feature) return room[feature] end,
        set = function(self, feature, value) print(feature, value) room[feature] = value end,
        onChange = function(self, callback) changed = callback return self end,
      }
      expose(heater, "climate", { id = "heater" })
      expose({ get = function(self, feature) if feature == "position" then return 40 end end,
        set = function(self, feature, value) print("cover", feature, value) end }, "cover", { id = "blind" })
      plugin:setTimeout(0, function() room.mode = "heat" changed() end)
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => exposure(recorder, 'heater')?.features.includes('mode') || undefined)
      await isolate.setExposed('heater', 'target_temperature', 19.5)
      await isolate.setExposed('blind', 'state', 'open')
      await assert.rejects(isolate.setExposed('blind', 'state', 'stop'), { code: 'control_value_invalid' })
      assert.deepEqual(states(recorder, 'light'), [{ state: true, brightness: 10, color: '1,2,3' }])
      assert.deepEqual(states(recorder, 'heater'), [
        { target_temperature: 21, current_temperature: 20.5 },
        { target_temperature: 21, current_temperature: 20.5, mode: 'heat' },
        { target_temperature: 19.5, current_temperature: 20.5, mode: 'heat' },
      ])
      assert.deepEqual(exposure(recorder, 'heater')?.writable, ['target_temperature', 'mode'])
      assert.deepEqual(exposure(recorder, 'blind')?.writable, ['state', 'position'])
      assert.deepEqual(
        recorder.logs().filter((line) => line.startsWith('info')),
        ['info setpoint\t19.5', 'info cover\tposition\t100'],
      )
    },
  )
})

test('§10 an event tells what happens, also the same twice, but not what was before', async () => {
  await withPlugin(
    pluginSource(`
      local bell = plugin:sensor("bell", function() return "before" end)
      expose(bell, "event", { options = { "ring", "knock" } })
      local last, callback = "old", nil
      expose({ get = function() return last end, onChange = function(self, cb) callback = cb end }, "event", { id = "free" })
      plugin:setTimeout(0, function()
        bell:emit("OnChange", "ring") bell:emit("OnChange", "ring")
        bell:emit("OnChange", { type = "knock", times = 3 })
        last = "new" callback()
      end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => states(recorder, 'free')[0])
      assert.deepEqual(states(recorder, 'bell'), [
        { event_type: 'ring' },
        { event_type: 'ring' },
        { event_type: 'knock', times: 3 },
      ])
      assert.deepEqual(states(recorder, 'free'), [{ event_type: 'new' }])
      assert.deepEqual(
        ['bell', 'free'].map((id) => exposure(recorder, id)?.options),
        [['ring', 'knock'], ['new']],
      )
    },
  )
})

test('§10 a getter that fails gives no value and is logged once; the plugin goes on', async () => {
  await withPlugin(
    pluginSource(`
      local reads, healthy = 0, false
      expose({ get = function() reads = reads + 1 if not healthy then error("not yet", 0) end return reads end }, "number",
        { id = "late" })
      plugin:setTimeout(1500, function() healthy = true end)
    `),
    async ({ recorder }) => {
      await recorder.until(() => states(recorder, 'late').find(({ value }) => value !== null))
      assert.deepEqual(states(recorder, 'late')[0], { value: null })
      assert.equal(recorder.logs().filter((line) => line.includes('not yet')).length, 1)
    },
  )
})

test('§10 a plugin may expose so much, and not more', async () => {
  await withPlugin(
    pluginSource(`
      local object = { get = function() return 5 end, onChange = function(self) return self end }
      print(pcall(function() for number = 1, 1001 do expose(object, "sensor", { id = "n" .. number }) end end))
    `),
    async ({ recorder, isolate }) => {
      assert.match(await recorder.logged('too many'), /a plugin may have 1000/)
      await isolate.unload()
      assert.equal(recorder.named('removeExposure').length, 1000)
    },
  )
})

test('§18 an exposure says which device it belongs to, and a device needs an id that Home Assistant takes', () =>
  withPlugin(
    pluginSource(`
      local object = { get = function() return 5 end }
      expose(object, "number", { id = "a", device = { id = "lamp_1-b", name = "Lamp", model = 3, via = "bridge", other = 1 } })
      expose({ get = function() return 1 end }, "sensor", { id = "b", device = { id = "lamp_1-b" } })
      for _, id in ipairs({ "a b", "", ("x"):rep(200) }) do
        print(pcall(expose, { get = print }, "sensor", { id = "c", device = { id = id } }))
      end
      print(pcall(expose, { get = print }, "sensor", { id = "c", device = {} }))
    `),
    async ({ recorder }) => {
      await recorder.until(() => exposure(recorder, 'b'))
      assert.deepEqual(exposure(recorder, 'a')?.device, {
        id: 'lamp_1-b',
        name: 'Lamp',
        model: '3',
        via: 'bridge',
      })
      assert.deepEqual(exposure(recorder, 'b')?.device, { id: 'lamp_1-b' })
      const refused = recorder.logs().filter((line) => line.includes('the option device needs an id'))
      assert.equal(refused.length, 4)
    },
  ))

test('§18 an exposed object says whether it is available, and keeps a function of that name of its own', () =>
  withPlugin(
    pluginSource(`
      local object = { get = function() return 5 end, onChange = function() end }
      expose(object, "sensor", { id = "a" })
      local button = { press = function() end }
      expose(button, "button", { id = "b" })
      local own = { get = function() return 1 end, setAvailable = function() return "mine" end }
      expose(own, "sensor", { id = "c" })
      plugin:on("off", function() object:setAvailable(false) button.setAvailable(false) print(own:setAvailable(false)) end)
      plugin:on("on", function() object:setAvailable(true) end)
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => states(recorder, 'c')[0])
      isolate.deliverEvent('off', json())
      isolate.deliverEvent('on', json())
      await recorder.until(() => states(recorder, 'a')[2])
      assert.deepEqual(states(recorder, 'a'), [
        { value: 5 },
        { value: 5, available: false },
        { value: 5, available: true },
      ])
      assert.equal(exposure(recorder, 'a')?.tellsAvailability, true)
      assert.deepEqual(states(recorder, 'b').at(-1), { press: null, available: false })
      assert.equal(exposure(recorder, 'c')?.tellsAvailability, undefined)
      assert.deepEqual(recorder.logs(), ['info mine'])
    },
  ))

test('§18 locks, vacuums, sirens, mowers, trackers and notifiers show and take what is theirs', () =>
  withPlugin(
    pluginSource(`
      local function object(values)
        return {
          get = function(_, feature) return values[feature] end,
          set = function(_, feature, value) print(feature, value) values[feature] = value end,
          onChange = function() end,
        }
      end
      expose(object({ state = "locked" }), "lock", { id = "lock" })
      expose(object({ state = "docked", fan_speed = "low" }), "vacuum", { id = "vacuum", fanSpeeds = { "low", "high" } })
      expose(object({ state = false, tone = "bell", volume = 1 }), "siren", { id = "siren", tones = { "bell" } })
      expose(object({ activity = "mowing" }), "lawn_mower", { id = "mower" })
      expose(object({ latitude = 52.5, longitude = 13.4, in_zones = { "zone.home" } }), "device_tracker", { id = "phone" })
      expose({ set = function(_, feature, text) print(feature, text) end }, "notify", { id = "notify" })
      expose({ get = function() return "locked" end }, "lock", { id = "read-only" })
    `),
    async ({ recorder, isolate }) => {
      await recorder.until(() => states(recorder, 'read-only')[0])
      assert.deepEqual(
        ['lock', 'vacuum', 'siren', 'mower', 'phone', 'notify', 'read-only'].map((id) => [
          exposure(recorder, id)?.component,
          exposure(recorder, id)?.writable,
          states(recorder, id)[0],
        ]),
        [
          ['lock', ['state'], { state: 'locked' }],
          ['vacuum', ['fan_speed', 'command'], { state: 'docked', fan_speed: 'low' }],
          ['siren', ['state', 'tone', 'volume'], { state: false, tone: 'bell', volume: 1 }],
          ['lawn_mower', ['command'], { activity: 'mowing' }],
          ['device_tracker', [], { latitude: 52.5, longitude: 13.4, in_zones: ['zone.home'] }],
          ['notify', ['message'], { message: null }],
          ['sensor', [], { value: 'locked' }],
        ],
      )
      await isolate.setExposed('lock', 'state', 'unlock')
      await isolate.setExposed('vacuum', 'command', 'start')
      await isolate.setExposed('siren', 'state', { tone: 'bell', volume: 0.5, state: true })
      await isolate.setExposed('mower', 'command', 'dock')
      await isolate.setExposed('notify', 'message', 'Hello')
      assert.deepEqual(recorder.logs(), [
        'info state\tunlock',
        'info command\tstart',
        'info tone\tbell',
        'info volume\t0.5',
        'info state\ttrue',
        'info command\tdock',
        'info message\tHello',
      ])
      assert.deepEqual(exposure(recorder, 'vacuum')?.fanSpeeds, ['low', 'high'])
    },
  ))

test('unexpose takes back all that an object was exposed as, and nothing else', async () => {
  await withPlugin(
    pluginSource(`
      local fan, left = { get = function() return 50 end }, false
      function fan:onChange() return function() left = true end end
      expose(fan, "fan", { id = "attic" })
      expose(fan, "number", { id = "attic-speed" })
      expose({ get = function() return 1 end }, "sensor", { id = "other" })
      plugin:setTimeout(0, function()
        print(unexpose(fan), left, unexpose(fan), pcall(unexpose, 5))
        fan:setAvailable(false)
      end)
    `),
    async ({ recorder }) => {
      await recorder.logged('true')
      assert.deepEqual(recorder.logs(), [
        "info true\ttrue\tfalse\tfalse\tbad argument #1 to 'unexpose' (table expected, got number)",
      ])
      assert.deepEqual(recorder.named('removeExposure'), [['attic'], ['attic-speed']])
    },
  )
})

test('a list of what a feature can be is enough to have it, before it has a value', async () => {
  await withPlugin(
    pluginSource(`
      local lamp = { state = true }
      function lamp:get(name) return self[name] end
      function lamp:set(name, value) print(name, value) end
      expose(lamp, "light", { id = "lamp", effects = { "rainbow" }, tones = { "bell" } })
    `),
    async ({ recorder, isolate }) => {
      const { features, writable } = await recorder.until(() => exposure(recorder, 'lamp'))
      assert.deepEqual(
        [features, writable],
        [
          ['state', 'effect'],
          ['state', 'effect'],
        ],
      )
      await isolate.setExposed('lamp', 'effect', 'rainbow')
      assert.deepEqual(recorder.logs(), ['info effect\trainbow'])
    },
  )
})

test('a feature that is said to be there is there before it has a value', async () => {
  await withPlugin(
    pluginSource(`
      local lamp = { get = function() end, set = function(_, name, value) print(name, value) end }
      expose(lamp, "light", { id = "lamp", max = 254, features = { "state", "brightness", "no_such" } })
    `),
    async ({ recorder, isolate }) => {
      const { features, writable } = await recorder.until(() => exposure(recorder, 'lamp'))
      assert.deepEqual(
        [features, writable],
        [
          ['state', 'brightness'],
          ['state', 'brightness'],
        ],
      )
      // It is no dimmer that is on because of its level.
      await isolate.setExposed('lamp', 'state', true)
      assert.deepEqual(recorder.logs(), ['info state\ttrue'])
    },
  )
})
