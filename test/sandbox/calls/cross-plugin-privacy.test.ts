import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

const secretPlugin = `
  plugin.token = plugin.config.token
  plugin.settings = { inner = plugin.config, pin = plugin.config.token, city = plugin.config.city }
  plugin.meta = { author = "x" }
  plugin:kvSet("refresh", "geheim-0815", { secure = true })
  function plugin:city() return self.config.city end
  function plugin:object() return setmetatable({ plugin = self, token = self.config.token }, { __index = { x = 1 } }) end
`
const configuration = {
  config: { token: 'geheim-4711', city: 'Ulm' },
  secrets: ['geheim-4711'],
}

test('§9 configuration, store and life of a plugin are not reached through its instance', async () => {
  await withStage(async ({ load }) => {
    const callee = await load('callee', secretPlugin, configuration)
    const { recorder } = await load(
      'caller',
      `
        local other = Plugin.get("callee")
        print(other.id, other.shortId, other.name, other.version, other.description, other:city())
        print(other.config, other.meta, other.token, other.settings.inner, other.settings.pin, other.settings.city)
        for _, name in ipairs{ "new", "onInit", "onCleanup", "getConfig", "kvGet", "kvSet", "kvDelete", "kvHas", "kvList", "kvGetAll" } do
          if other[name] ~= nil then print("reached", name) end
        end
        local seen = {}
        for key, value in pairs(other) do seen[#seen + 1] = key .. (type(value) == "table" and "{}" or "") end
        table.sort(seen)
        print(table.concat(seen, " "))
      `,
    )
    assert.deepEqual(recorder.logs(), [
      'info @test/callee\tcallee\tcallee\t1.2.3\tA plugin under test\tUlm',
      'info nil\tnil\tnil\tnil\tnil\tUlm',
      'info city description id name object settings{} shortId version',
    ])
    assert.deepEqual(callee.recorder.logs(), [])
  })
})

test('§9 a stored value that is secure is not seen in fields of the instance either, be it stored or read', async () => {
  await withStage(async ({ load }) => {
    await load(
      'callee',
      `plugin:kvSet("session", { access = "geheim-0815", note = "" }, { secure = true })
       plugin:kvSet("plain", "offen")
       plugin.session, plugin.plain, plugin.note = plugin:kvGet("session"), plugin:kvGet("plain"), ""
       plugin.kept = { plugin:kvGet("kept") }`,
      { keyValues: { kept: { value: 'geheim-0816', secure: true } } },
    )
    const { recorder } = await load(
      'caller',
      `local other = Plugin.get("callee")
       print(other.session.access, other.kept[1], other.plain, other.note)`,
    )
    assert.deepEqual(recorder.logs(), ['info nil\tnil\toffen\t'])
  })
})

test('§9 no method of the host gives away what the instance keeps', async () => {
  await withStage(async ({ load }) => {
    await load('callee', secretPlugin, configuration)
    const { recorder } = await load(
      'caller',
      `
        local other = Plugin.get("callee")
        local object = other:object()
        local text = tostring(select(2, pcall(other.jsonEncode, other, { object.plugin, other, { other } })))
          .. tostring(select(2, pcall(other.jsonEncode, other, object.plugin)))
          .. tostring(select(2, pcall(other.url, other, "http://x", other)))
          .. tostring(select(2, pcall(other.jsonEncode, other, object)))
        print(text:find("geheim") and text or "nothing")
        print(pcall(other.url, other, "http://x", other))
        print(object.plugin == other, object.token, object.x)
      `,
    )
    assert.deepEqual(recorder.logs(), [
      'info nothing',
      'info false\t@test/callee: its own objects cannot be handed to its methods of the host',
      'info true\tnil\t1',
    ])
  })
})

test('§9 what a plugin puts in the place of what the host gave it changes nothing of what others get to see', async () => {
  await withStage(async ({ load }) => {
    await load(
      'owner',
      `plugin:kvSet("code", "geheim")
       plugin.elsewhere = plugin.kvGet
       plugin.shown = 7
       Plugin.kvGet = function() return "mine" end
       Plugin.onInit, plugin.log = nil, nil
       pairs, tostring, next = error, error, error`,
    )
    const { recorder } = await load(
      'caller',
      `local other = Plugin.get("owner")
       local names = {} for key in pairs(other) do names[#names + 1] = key end table.sort(names)
       print(table.concat(names, " "), other.elsewhere, other.shown, type(other.kvGet), other:kvGet("code"))
       print(tostring(other) ~= nil)`,
    )
    assert.deepEqual(recorder.logs(), [
      'info description id name shortId shown version\tnil\t7\tfunction\tmine',
      'info true',
    ])
  })
})

test('§9 nothing else of another plugin can be seen or changed: no globals, no fields that are the host’s', async () => {
  await withStage(async ({ load }) => {
    const callee = await load(
      'callee',
      `
        hidden = "global"
        local class = {} class.__index = class
        function plugin:object() return setmetatable({}, class) end
        plugin:on("check", function()
          print(leaked, string.leaked, plugin.id, plugin.config.city, plugin.note, rawequal(plugin.log, Plugin.log))
        end)
      `,
      configuration,
    )
    const { recorder } = await load(
      'caller',
      `
        local other = Plugin.get("callee")
        print(other._G, other.hidden, other.Plugin, getmetatable(other), pcall(setmetatable, other, nil))
        for _, name in ipairs{ "id", "name", "config", "onInit", "log", "object", "note" } do
          print(pcall(function() other[name] = "changed" end))
        end
        leaked = "caller's"
        string.leaked = true
        print(other:object().hidden)
      `,
    )
    callee.isolate.deliverEvent('check', json())
    await callee.recorder.logged('Ulm')
    const names = ['id', 'name', 'config', 'onInit', 'log', 'object', 'note']
    assert.deepEqual(
      recorder.logs().map((line) => line.replace(/init\.lua:\d+: /, '')),
      [
        'info nil\tnil\tnil\tan object of another plugin\tfalse\tcannot change a protected metatable',
        ...names.map(
          (name) =>
            `info false\t@test/callee: another plugin cannot set the field '${name}'; call a method that does it`,
        ),
        'info nil',
      ],
    )
    assert.equal(await callee.recorder.logged('Ulm'), 'info nil\tnil\t@test/callee\tUlm\tnil\ttrue')
  })
})
