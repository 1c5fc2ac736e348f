-- Watches one MQTT topic and tells when its value crosses a limit.

local hysteresis = require("hysteresis")

local plugin = Plugin:new("threshold")

local state, value
-- The reason for which the last message was passed over; nil after a good one. A sensor that keeps sending
-- rubbish is reported once, not with every message.
local complaint

local function complain(reason)
  if reason ~= complaint then
    plugin:log("warn", reason)
    complaint = reason
  end
end

-- The number in a payload, or nil and why there is none.
local function readNumber(payload, path)
  if path == "" then
    local number = plugin:coerceNumber(payload)
    return number, number == nil and "the payload is not a number" or nil
  end
  local document, problem = plugin:jsonDecode(payload)
  if document == nil then
    return nil, "the payload is not JSON: " .. (problem or "null")
  end
  local number = plugin:coerceNumber(jsonpath.get(document, path))
  return number, number == nil and "the payload has no number at this path" or nil
end

local function receive(config, path, payload)
  -- An empty payload only says that a retained message was deleted.
  if payload == "" then
    return
  end
  local number, problem = readNumber(payload, path)
  if number == nil then
    complain(config.topic .. ": " .. problem)
    return
  end
  complaint = nil
  value = number
  plugin:get("value"):notify()

  local before = state
  state = hysteresis.next(before, number, config.limit, config.hysteresis)
  if state == before then
    return
  end
  local crossing = {
    state = state,
    value = number,
    limit = config.limit,
    topic = config.topic,
    timestamp = os.time(),
  }
  plugin:upsertObject("crossing", crossing)
  plugin:get("state"):notify()
  -- The first value only tells how things are; nothing was crossed.
  if before ~= nil then
    plugin:emit("threshold:" .. state, crossing)
  end
end

plugin:onInit(function(config)
  local path = plugin:coerceString(config.path, "")
  local _, problem = jsonpath.get({}, path)
  if problem then
    plugin:log("error", problem)
    return
  end
  local stateSensor = plugin:sensor("state", function()
    return state
  end)
  local valueSensor = plugin:sensor("value", function()
    return value
  end)
  expose(stateSensor, "sensor", { name = "State" })
  expose(valueSensor, "sensor", { name = "Value", state_class = "measurement" })
  plugin:mqttSubscribe(config.topic, function(_, payload)
    receive(config, path, payload)
  end)
end)

return plugin
