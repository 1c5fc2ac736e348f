import type { FixturePlugin } from './fixture-repository.ts'

/** A plugin that has something for every part of its page. */
export const lampPlugin: FixturePlugin = {
  id: 'lamp',
  version: '1.0.0',
  lua: `
local plugin = Plugin:new("lamp")
local level = 5
plugin:onInit(function(config)
  plugin:upsertObject("lamp", { on = true, level = level, room = config.room })
  plugin:sensor("power", function() return level * 6 end)
  plugin:control("level", function() return level end, function(value)
    level = value
    plugin:updateObject("lamp", { level = level })
    plugin:get("power"):_notify()
    plugin:get("level"):_notify()
    plugin:log("info", "the level is now " .. level)
  end)
  local light = { state = true, brightness = 120, color = "255,160,0", effect = "calm" }
  function light:get(feature) return self[feature] end
  function light:set(feature, value) self[feature] = value end
  expose(light, "light", { id = "bulb", name = "Bulb", area = "Kitchen", options = { "calm", "party" } })
  expose(plugin:get("level"), "number", { id = "level", name = "Level" })
  local mood = { value = "warm" }
  function mood:get() return self.value end
  function mood:set(_, value) self.value = value end
  expose(mood, "select", { id = "mood", name = "Mood", options = { "warm", "cold" } })
  expose({ get = function() end, press = function() plugin:emit("lamp:blink", {}) end }, "button",
    { id = "blink", name = "Blink" })
  expose(plugin:get("power"), "sensor", { id = "power", name = "Power", unit = "W" })
  local count = 0
  plugin:setInterval(200, function()
    count = count + 1
    plugin:emit("lamp:tick", { count = count })
  end)
  plugin:log("info", "shining in " .. config.room)
end)
`,
  manifest: {
    name: 'Lamp',
    description: 'A lamp that is not there, for trying things out',
    author: 'Lupine',
    license: 'MIT',
    tags: ['light'],
    configSchema: [
      { key: 'room', type: 'string', label: 'Room', description: 'Where it stands', required: true },
      {
        key: 'interval',
        type: 'number',
        label: 'Interval',
        description: 'In seconds',
        default: 60,
        min: 1,
        max: 3600,
      },
      { key: 'colour', label: 'Colour', enum: ['warm', 'cold'], default: 'warm' },
      { key: 'dim', type: 'boolean', label: 'Dim at night', default: true },
      { key: 'place', type: 'string', label: 'Place', env: 'LAMP_PLACE' },
      { key: 'apiKey', type: 'string', label: 'API key', secret: true },
    ],
    exports: {
      objects: { lamp: { type: 'Lamp' } },
      sensors: [{ id: 'power', type: 'number', description: 'What it takes', unit: 'W' }],
      controls: [{ id: 'level', type: 'number', range: '0-10' }],
      events: [{ name: 'lamp:tick', description: 'Five times a second' }],
    },
    docs: [{ title: 'Read me', file: 'README.md' }],
  },
  files: {
    'README.md':
      '# About the lamp\n\nIt shines in a **room**.\n\n```lua\nlamp:set("level", 7)\n```\n\n- [x] shines\n- [ ] warms\n\n<script>document.title = "taken over"</script>\n',
  },
}
