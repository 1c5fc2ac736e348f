-- When something happens, and something else is so, then something is done: the rows of the configuration say what.

local compare = require("compare")
local limit = require("limit")
local moments = require("moments")
local rules = require("rules")

local plugin = Plugin:new("rules")

local enabled = true
local runs = 0
local last
-- The present values that conditions look at, by kind and name, and which of them are watched.
local present, watched = {}, {}

local timers = {
  after = function(milliseconds, run)
    return plugin:setTimeout(milliseconds, run)
  end,
  cancel = function(id)
    plugin:clearTimer(id)
  end,
}

local function runningPlugin(id)
  return Plugin.get(id) or error(rules.absence(id, plugin.host), 0)
end

local actions = {}

function actions.publish(action, text)
  local done, problem = plugin:mqttPublish(action.topic, text, { retain = action.retain })
  if done == false then
    error(problem, 0)
  end
end

function actions.control(action, rendered)
  local text = rendered:match("^%s*(.-)%s*$")
  local control = runningPlugin(action.plugin):get(action.id)
  if control == nil or control._type ~= "control" then
    error(action.plugin .. " has no control '" .. action.id .. "'", 0)
  end
  local value = compare.like(control:get(), text)
  if value == nil then
    error("'" .. text .. "' is nothing that " .. action.plugin .. "/" .. action.id .. " can be set to", 0)
  end
  control:set(value)
end

function actions.event(action, text, facts)
  if text ~= "" then
    plugin:emit(action.name, plugin:jsonDecode(text) or { text = text })
    return
  end
  -- Without `data`, which may hold the value a second time: from rule to rule that would double.
  local carried = {}
  for _, key in ipairs({ "rule", "time", "name", "plugin", "value", "previous" }) do
    carried[key] = facts[key]
  end
  plugin:emit(action.name, carried)
end

function actions.notify(action, text)
  local done, problem = runningPlugin(action.plugin):send(text)
  if done == nil and problem then
    error(problem, 0)
  end
end

local function isSo(condition)
  local source, comparison = condition.source, condition.comparison
  local value = jsonpath.get(present[source.kind .. " " .. source.name], source.path or "")
  return compare.holds(comparison.is, value, comparison.value)
end

local function mayRun(rule)
  for _, condition in ipairs(rule.conditions) do
    if not isSo(condition) then
      return false
    end
  end
  local may, reason = rule.limit.take()
  -- Two rules that set each other off would go on for ever: that is told, once until it runs again.
  if reason == "perMinute" and not rule.warned then
    plugin:log("warn", rule.name .. " has run " .. rule.perMinute .. " times in a minute; what is more is left out")
  end
  rule.warned = reason == "perMinute"
  return may
end

local function run(rule, facts)
  if not enabled or not mayRun(rule) then
    return
  end
  facts.rule = rule.name
  facts.time = os.time()
  runs = runs + 1
  last = rule.name
  plugin:log("info", rule.name .. " runs: " .. facts.name)
  for number, action in ipairs(rule.actions) do
    -- Whatever goes wrong with one, the next one is done.
    local done, problem = pcall(function()
      actions[action.kind](action, assert(template.render(action.text, facts)), facts)
    end)
    if not done then
      plugin:log("error", rule.name .. ": action " .. number .. ": " .. tostring(problem))
    end
  end
  plugin:get("runs"):notify()
  plugin:get("last"):emit("OnChange", last)
end

-- What a rule or condition waits for; raises an error when it must not.
local function watch(source, callback)
  if source.kind == "object" then
    plugin:onObject(source.name, function(value, _, path)
      callback(value, path)
    end)
  else
    plugin:onSensor(source.name, function(value, _, id, from)
      callback(value, from .. "/" .. id, from)
    end)
  end
end

local function watchCondition(source)
  local key = source.kind .. " " .. source.name
  if not watched[key] then
    watch(source, function(value)
      present[key] = value
    end)
    watched[key] = true
  end
end

-- What a message says: JSON where it is some, else a text. As a value of its topic an empty one is none.
local function contentOf(payload, isEvent)
  if payload == "" and not isEvent then
    return nil
  end
  local value = plugin:jsonDecode(payload)
  if value == nil then
    return payload
  end
  return value
end

local function follow(rule)
  rule.limit = limit.new(rule, os.clock)
  local path = rule.source.path or ""
  local found = moments.new(rule, timers, function(facts)
    run(rule, facts)
  end)
  for _, condition in ipairs(rule.conditions) do
    watchCondition(condition.source)
  end
  local function hear(data, name, from)
    local value = jsonpath.get(data, path)
    local facts = { value = value, data = data, name = name, plugin = from }
    if rule.each then
      found.event(value, facts)
    else
      found.value(name, value, facts)
    end
  end
  if rule.source.kind == "event" then
    plugin:on(rule.source.name, hear)
  elseif rule.source.kind == "topic" then
    plugin:mqttSubscribe(rule.source.name, function(topic, payload)
      hear(contentOf(payload, rule.each), topic)
    end)
  else
    watch(rule.source, hear)
  end
end

local function createPoints()
  local count = plugin:sensor("runs", function()
    return runs
  end)
  local latest = plugin:sensor("last", function()
    return last
  end)
  local switch = plugin:control("enabled", function()
    return enabled
  end, function(value)
    enabled = value
    plugin:kvSet("enabled", enabled)
    plugin:get("enabled"):notify()
  end)
  expose(count, "sensor", { name = "Runs", icon = "mdi:counter", state_class = "total_increasing" })
  expose(latest, "sensor", { name = "Last rule", icon = "mdi:script-text-play" })
  expose(switch, "switch", { name = "Enabled", icon = "mdi:script-text" })
end

plugin:onInit(function(config)
  enabled = plugin:coerceBool(plugin:kvGet("enabled"), true)
  createPoints()
  local found, refused = rules.read(config.rules)
  local active = 0
  for _, rule in ipairs(found) do
    local done, problem = pcall(follow, rule)
    if done then
      active = active + 1
    else
      refused[#refused + 1] = { row = rule.row, message = tostring(problem) }
    end
  end
  for _, problem in ipairs(refused) do
    plugin:log("error", "row " .. problem.row .. ": " .. problem.message)
  end
  plugin:upsertObject("rules", { active = active, refused = #refused > 0 and refused or nil })
end)

return plugin
