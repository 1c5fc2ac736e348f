-- Counts messages or events. The count outlives restarts: it is in the key-value store.

local tally = require("tally")

local plugin = Plugin:new("counter")

local changedEvent = "counter:changed"
-- A busy topic may count hundreds of times a second; nobody needs to be told that often (ms).
local tellingInterval = 200
-- How often a daily counter looks whether the day is over (ms), besides with every count.
local dayCheckInterval = 10000

local count = 0
-- The date at the last look; nil before.
local lookedOn

local function today()
  return os.date("%Y-%m-%d")
end

local function change(value, reason)
  local previous = count
  count = value
  plugin:kvSet("count", count)
  local keptOn, now = plugin:kvGet("date"), today()
  if reason == "day" or keptOn == nil or keptOn < now then
    plugin:kvSet("date", now)
  end
  if count == previous then
    return
  end
  plugin:get("total"):notify()
  plugin:get("count"):notify()
  plugin:emit(changedEvent, { count = count, previous = previous, reason = reason }, {
    throttle = tellingInterval,
    -- Without it the last of many quick counts would never be told.
    trailing = true,
  })
end

local function checkDay(config)
  local now = today()
  local isStale = tally.isStale(plugin:kvGet("date"), now, config.daily, lookedOn)
  lookedOn = now
  if isStale then
    change(0, "day")
  end
end

local function countOne(config, reason)
  checkDay(config)
  change(tally.add(count, config.step), reason)
end

local function createPoints()
  plugin:sensor("total", function()
    return count
  end)
  local counter = plugin:control("count", function()
    return count
  end, function(value)
    change(tally.clamp(value), "set")
  end)
  -- A button has no value of its own: any value presses it.
  local reset = plugin:control("reset", function()
    return nil
  end, function()
    change(0, "reset")
  end)
  expose(counter, "number", { name = "Count", min = 0, max = 1000000000, step = 1 })
  expose(reset, "button", { name = "Reset" })
end

plugin:onInit(function(config)
  count = tally.clamp(plugin:coerceNumber(plugin:kvGet("count"), 0))
  createPoints()
  if config.daily then
    checkDay(config)
    plugin:setInterval(dayCheckInterval, function()
      checkDay(config)
    end)
  end

  local topic = plugin:coerceString(config.topic, "")
  if topic ~= "" then
    plugin:mqttSubscribe(topic, function()
      countOne(config, "message")
    end)
  end

  local event = plugin:coerceString(config.event, "")
  if event == changedEvent then
    plugin:log("error", "A counter cannot count " .. changedEvent .. ": each count would cause the next")
  elseif event ~= "" then
    plugin:on(event, function()
      countOne(config, "event")
    end)
  end
end)

return plugin
