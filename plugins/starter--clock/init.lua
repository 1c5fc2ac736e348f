-- Tells every minute, hour and day to whoever listens, and keeps the time as an object.

local moment = require("moment")

local plugin = Plugin:new("clock")

-- What was told last; nil before onInit.
local current
local timeSensor

local function look()
  local now = os.time()
  local latest = moment.describe(now, plugin.config.utc)
  local changes = moment.changes(current, latest)
  if #changes > 0 then
    current = latest
    -- The object first: who acts on an event finds the new time there.
    plugin:upsertObject("time", latest)
    timeSensor:notify()
    for _, name in ipairs(changes) do
      plugin:emit(name, latest)
    end
  end
  plugin:setTimeout(moment.delay(now), look)
end

plugin:onInit(function(config)
  current = moment.describe(os.time(), config.utc)
  plugin:upsertObject("time", current)
  timeSensor = plugin:sensor("time", function()
    return current.time
  end)
  expose(timeSensor, "sensor", { name = "Time", icon = "mdi:clock-outline" })
  timeSensor:notify()
  plugin:log("info", "It is " .. current.iso)
  look()
end)

return plugin
