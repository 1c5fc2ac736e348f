-- Copies messages from topic to topic, by the rules of the configuration.

local echoes = require("echoes")
local rules = require("rules")
local topics = require("topics")
local transform = require("transform")

local plugin = Plugin:new("mqtt-bridge")

local json = {
  decode = function(text)
    return plugin:jsonDecode(text)
  end,
  encode = function(value)
    return plugin:jsonEncode(value)
  end,
}

local active = {}
local forwarded = 0

-- Every rule that would take this message in is told that it is our own. Each rule keeps its own list, since
-- each has its own subscription and sees the message once.
local function expectEchoes(topic, payload)
  for _, rule in ipairs(active) do
    if topics.overlap(rule.from, topic) then
      echoes.expect(rule.echoes, topic, payload, os.clock())
    end
  end
end

-- Reasons that are told of one rule; text that is no JSON is told where it goes wrong, which is another reason each time.
local mostReasons = 10

-- Once for each rule and reason: beside the devices that a rule with a wildcard fits there are others that it never will.
local function complain(rule, topic, problem)
  if rule.told[problem] or rule.reasons == mostReasons then
    return
  end
  rule.told[problem] = true
  rule.reasons = rule.reasons + 1
  plugin:log("warn", "row " .. rule.row .. ": " .. topic .. ": " .. problem)
end

local function forward(rule, topic, payload)
  if echoes.take(rule.echoes, topic, payload, os.clock()) then
    return
  end
  local result, problem = transform.apply(rule, payload, json)
  if result == nil then
    complain(rule, topic, problem)
    return
  end
  local target = topics.rename(topic, rule.from, rule.to)
  expectEchoes(target, result)
  plugin:mqttPublish(target, result, { retain = rule.retain, qos = rule.qos })
  forwarded = forwarded + 1
end

plugin:onInit(function(config)
  local found, refused = rules.read(config.rules)
  for _, problem in ipairs(refused) do
    plugin:log("error", "row " .. problem.row .. ": " .. problem.message)
  end
  plugin:upsertObject("rules", { active = #found, refused = #refused > 0 and refused or nil })
  local forwardedSensor = plugin:sensor("forwarded", function()
    return forwarded
  end)
  expose(forwardedSensor, "sensor", { name = "Messages forwarded", state_class = "total_increasing" })

  active = found
  -- All rules know their echoes before the first retained message arrives.
  for _, rule in ipairs(active) do
    rule.echoes = echoes.new()
    rule.told, rule.reasons = {}, 0
  end
  for _, rule in ipairs(active) do
    plugin:mqttSubscribe(rule.from, function(topic, payload)
      forward(rule, topic, payload)
    end)
  end
end)

return plugin
