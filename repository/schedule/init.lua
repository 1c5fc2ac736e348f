-- Tells when it is time: an event, and a message where one is wanted, by cron expressions.

local cron = require("cron")
local rules = require("rules")

local plugin = Plugin:new("schedule")

-- The clock of the host may be set, and a computer may sleep: nobody waits longer than this without a look (ms).
local longestWait = 30000
-- In the last second before a schedule is due the clock is looked at this often (ms).
local closeLook = 100
-- What is due since longer than this was slept through, and is not made up for (seconds); what came after it may be.
local patience = 60
-- A clock that was ahead is corrected by so much (seconds): what was told is not told again as its time comes once more.
-- One that is set back further was wrong altogether, and begins anew.
local correction = 300

local list = {}
local lastTold
local enabled = true

local function soonest()
  local first
  for _, rule in ipairs(list) do
    if rule.due and (first == nil or rule.due < first.due) then
      first = rule
    end
  end
  return first
end

local function isoText(time)
  return (os.date("%Y-%m-%dT%H:%M:%S%z", time):gsub("(%d%d)(%d%d)$", "%1:%2"))
end

local function tell(rule)
  lastTold, rule.told = rule.name, rule.due
  local data = { name = rule.name, at = isoText(rule.due), timestamp = rule.due, expression = rule.expression }
  plugin:get("due"):emit("OnChange", rule.name)
  plugin:emit("schedule:due", data)
  if rule.message then
    plugin:mqttPublish(rule.message.topic, rule.message.payload)
  end
end

local function look()
  local now = os.time()
  for _, rule in ipairs(list) do
    -- The clock was set back: what is to come is reckoned anew.
    if rule.due and rule.due - now > (rule.wait or 0) + patience then
      local isCorrected = rule.told and rule.told > now and rule.told <= now + correction
      rule.due = cron.next(rule.schedule, isCorrected and rule.told or now)
    elseif rule.due and rule.due <= now then
      if now - rule.due > patience then
        plugin:log("warn", rule.name .. " was missed at " .. isoText(rule.due))
        rule.due = cron.next(rule.schedule, now - patience)
      end
      if rule.due and rule.due <= now then
        if enabled then
          tell(rule)
        end
        rule.due = cron.next(rule.schedule, now)
      end
    end
    rule.wait = rule.due and rule.due - now
  end
  plugin:get("next"):notify()
end

local function delay()
  local first = soonest()
  local remaining = first and (first.due - os.time()) * 1000 or longestWait
  if remaining <= 1000 then
    return closeLook
  end
  return math.min(longestWait, remaining - 1000)
end

local function run()
  -- A look that is stopped in the midst, as on a machine that has no time for it, is not the last one.
  local again = plugin:setTimeout(longestWait, run)
  -- Whatever goes wrong with one schedule, the next one is looked at.
  local done, problem = pcall(look)
  if not done then
    plugin:log("error", problem)
  end
  plugin:clearTimer(again)
  plugin:setTimeout(delay(), run)
end

local function createPoints()
  local due = plugin:sensor("due", function()
    return lastTold
  end)
  local nextTime = plugin:sensor("next", function()
    local first = soonest()
    return first and isoText(first.due)
  end)
  local switch = plugin:control("enabled", function()
    return enabled
  end, function(value)
    enabled = value
    plugin:kvSet("enabled", enabled)
    plugin:get("enabled"):notify()
  end)
  local names = {}
  for index, rule in ipairs(list) do
    names[index] = rule.name
  end
  expose(due, "event", { name = "Due", icon = "mdi:alarm", options = names })
  expose(nextTime, "sensor", { name = "Next", device_class = "timestamp" })
  expose(switch, "switch", { name = "Enabled", icon = "mdi:calendar-clock" })
end

plugin:onInit(function(config)
  local problems
  list, problems = rules.read(config.schedules)
  for _, problem in ipairs(problems) do
    plugin:log("error", problem)
  end
  enabled = plugin:coerceBool(plugin:kvGet("enabled"), true)
  local now = os.time()
  for _, rule in ipairs(list) do
    rule.due = cron.next(rule.schedule, now)
    rule.wait = rule.due and rule.due - now
    if rule.due == nil then
      plugin:log("error", rule.name .. ": '" .. rule.expression .. "' is no day that ever comes")
    end
  end
  createPoints()
  if soonest() then
    plugin:setTimeout(delay(), run)
  end
end)

return plugin
