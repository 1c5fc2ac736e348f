-- Writes MQTT messages into InfluxDB or VictoriaMetrics, by the mapping of the configuration.

local batches = require("batches")
local lineprotocol = require("lineprotocol")
local mapping = require("mapping")
local moments = require("moments")
local points = require("points")
local targets = require("targets")

local plugin = Plugin:new("influx")

local requestTimeout = 30000
-- Requests that are still made when the plugin is unloaded: as many as may be under way at one time.
local lastRequests = 8

local store, address, headers
local written = 0
local retry
local failing = false
local toMilliseconds = moments.new()

local function now()
  return toMilliseconds(os.time(), os.clock())
end

local function decode(text)
  return plugin:jsonDecode(text)
end

local function post(body, callback)
  plugin:httpRequest({
    url = address,
    method = "POST",
    headers = headers,
    body = body,
    timeout = requestTimeout,
    parseJson = "always",
  }, callback)
end

-- The databases explain a refusal in `message` or `error`, and `err` has it.
local function reasonOf(response)
  return response.err or ("HTTP " .. response.status)
end

local function report(outcome, response, lost)
  if outcome == "written" then
    if failing then
      plugin:log("info", "The database takes points again")
      plugin:emit("influx:recovered", { waiting = store.count() })
    end
    failing = false
    return
  end
  local reason = reasonOf(response)
  if lost > 0 then
    plugin:log("error", lost .. " points were given up: " .. reason)
  elseif not failing and outcome == "again" then
    plugin:log("warn", "The database does not take points; they wait: " .. reason)
  end
  if outcome ~= "smaller" then
    plugin:emit("influx:error", { error = reason, lost = lost, waiting = store.count() }, { throttle = 60000 })
    failing = true
  end
end

local flush

local function settle(response)
  local outcome = targets.outcome(response)
  local pause, count, lost = store.settle(outcome)
  written = written + count
  report(outcome, response, lost)
  if pause > 0 then
    retry = plugin:setTimeout(pause * 1000, function()
      retry = nil
      flush()
    end)
  elseif outcome ~= "written" or store.isFull() then
    flush()
  end
end

function flush()
  if retry then
    return
  end
  local body = store.take()
  if body then
    post(body, settle)
  end
end

local function add(line)
  store.add(line)
  if store.isFull() then
    flush()
  end
end

-- For other plugins: influx:write("power", { room = "kitchen" }, { watts = 12.5 }). The time is now, or the given
-- milliseconds. Answers true, or nil and a reason.
function plugin:write(measurement, tags, fields, milliseconds)
  if store == nil then
    return nil, "the plugin is not set up"
  end
  if type(measurement) ~= "string" or measurement == "" or type(fields) ~= "table" then
    return nil, "a point needs a measurement and a table of fields"
  end
  local line = lineprotocol.line(measurement, tags or {}, fields, milliseconds or now())
  if line == nil then
    return nil, "the point has no field with a value"
  end
  add(line)
  return true
end

local function receive(rule, topic, payload)
  -- An empty payload only says that a retained message was deleted. What this plugin tells of itself would, written
  -- down, give it something to tell.
  if payload == "" or topic:find("/plugins/" .. plugin.id .. "/", 1, true) then
    return
  end
  local fields, problem = points.fields(rule, payload, decode)
  local line = fields and lineprotocol.line(rule.measurement, points.tags(rule, topic), fields, now())
  if line then
    add(line)
    return
  end
  problem = problem or "no field has a value"
  -- Once for each rule and reason: what several devices send that the rule does not fit may take turns for ever.
  if not rule.told[problem] then
    rule.told[problem] = true
    plugin:log("warn", "row " .. rule.row .. ": " .. topic .. ": " .. problem)
  end
end

local function readMapping(rows)
  local rules, refused = mapping.read(rows)
  for _, problem in ipairs(refused) do
    plugin:log("error", "row " .. problem.row .. ": " .. problem.message)
  end
  plugin:upsertObject("mapping", { active = #rules, refused = #refused > 0 and refused or nil })
  return rules
end

local function createSensors()
  local writtenSensor = plugin:sensor("written", function()
    return written
  end)
  local waitingSensor = plugin:sensor("waiting", function()
    return store.count()
  end)
  local droppedSensor = plugin:sensor("dropped", function()
    return store.dropped
  end)
  expose(writtenSensor, "sensor", { name = "Points written", state_class = "total_increasing" })
  expose(waitingSensor, "sensor", { name = "Points waiting", state_class = "measurement" })
  expose(droppedSensor, "sensor", { name = "Points dropped", state_class = "total_increasing" })
end

plugin:onInit(function(config)
  local missing = targets.missing(config)
  if #missing > 0 then
    plugin:log("error", "Not set, but needed for " .. config.kind .. ": " .. table.concat(missing, ", "))
    return
  end
  local base, query = targets.address(config)
  address = plugin:url(base, query)
  headers = {
    ["Content-Type"] = "text/plain; charset=utf-8",
    Authorization = targets.authorization(config, function(user, password)
      return plugin:basicAuth(user, password)
    end),
  }
  store = batches.new({ size = config.batch, most = config.buffer, attempts = config.attempts })
  createSensors()
  for _, rule in ipairs(readMapping(config.mapping or {})) do
    rule.told = {}
    plugin:mqttSubscribe(rule.filter, function(topic, payload)
      receive(rule, topic, payload)
    end)
  end
  plugin:setInterval(config.interval * 1000, flush)
end)

-- A request that begins here is still sent. A batch that is on its way goes once more: the same points written
-- twice are the same points.
plugin:onCleanup(function()
  if store == nil then
    return
  end
  local texts, lost = store.rest(lastRequests)
  for _, text in ipairs(texts) do
    post(text, function() end)
  end
  if lost > 0 then
    plugin:log("error", lost .. " points were given up: the plugin is being unloaded")
  end
end)

return plugin
