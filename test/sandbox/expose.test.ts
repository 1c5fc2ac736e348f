import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exposure } from '../../src/schema/exposure.ts'
import { pluginSource, type Recorder, withPlugin } from './stage.ts'

/** What was exposed last under this id. */
function exposure(recorder: Recorder, id: string): Exposure | undefined {
  return recorder.named('setExposure').findLast(([found]) => found === id)?.[1] as Exposure | undefined
}

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
      assert.deepEqual(recorder.named('setExposure').length, 1)
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
