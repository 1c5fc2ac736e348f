-- Sends messages to people: over Telegram, ntfy or any webhook.

local channels = require("channels")
local message = require("message")
local outbox = require("outbox")

local plugin = Plugin:new("notify")

local requestTimeout = 15000

-- One outbox for each channel that is set up, by its name.
local outboxes = {}
local available = {}
local counts = { sent = 0, failed = 0 }

local function waitingCount()
  local total = 0
  for _, each in pairs(outboxes) do
    total = total + #each.waiting
  end
  return total
end

local function tell()
  for _, id in ipairs({ "sent", "failed", "waiting" }) do
    plugin:get(id):notify()
  end
end

-- The text stays out of the events: everybody on the bus could read it.
local function settled(channel, what, ok, reason)
  if ok then
    counts.sent = counts.sent + 1
    plugin:emit("notify:sent", { channel = channel, title = what.title })
  else
    counts.failed = counts.failed + 1
    plugin:log("error", "A message over " .. channel .. " was not sent: " .. reason)
    plugin:emit("notify:failed", { channel = channel, title = what.title, error = reason })
  end
  tell()
end

local function sendOver(channel, config)
  return function(what, finish)
    local options = channels.request(channel, config, what)
    options.timeout = requestTimeout
    options.parseJson = "always"
    plugin:httpRequest(options, function(response)
      finish(channels.outcome(response))
    end)
  end
end

local function openOutbox(channel, config)
  return outbox.new({
    perMinute = config.perMinute,
    now = os.clock,
    after = function(seconds, run)
      plugin:setTimeout(seconds * 1000, run)
    end,
    send = sendOver(channel, config),
  })
end

-- The channels that a message names, or all; or nil and the one that is not there.
local function targetsOf(what)
  if #what.channels == 0 then
    return available
  end
  for _, channel in ipairs(what.channels) do
    if outboxes[channel] == nil then
      return nil, "the channel '" .. channel .. "' is not set up"
    end
  end
  return what.channels
end

-- For other plugins: a text, or { text, title, priority, tags, link, channel }. Answers true when the message is on
-- its way, or nil and a reason. callback(ok, reason) comes once, when every channel is done with it.
function plugin:send(value, callback)
  local what, problem = message.read(value)
  local targets
  if what then
    targets, problem = targetsOf(what)
  end
  if targets and #targets == 0 then
    problem = "no channel is set up"
  end
  if problem then
    plugin:log("warn", "A message was refused: " .. problem)
    return nil, problem
  end

  local open, reasons = #targets, {}
  for _, channel in ipairs(targets) do
    local function done(ok, reason)
      settled(channel, what, ok, reason)
      open = open - 1
      if not ok then
        reasons[#reasons + 1] = channel .. ": " .. reason
      end
      if open == 0 and callback then
        callback(#reasons == 0, #reasons > 0 and table.concat(reasons, "; ") or nil)
      end
    end
    if not outboxes[channel].add(what, done) then
      done(false, outbox.most .. " messages wait already")
    end
  end
  tell()
  return true
end

-- A document with a text is a message with all that belongs to it; anything else is the text itself.
local function receive(channel, payload)
  -- An empty payload only says that a retained message was deleted.
  if payload == "" then
    return
  end
  local document = plugin:jsonDecode(payload)
  local value = type(document) == "table" and document.text ~= nil and document or { text = payload }
  value.channel = channel or value.channel
  plugin:send(value)
end

local function listen(topic)
  if topic == "" then
    return
  end
  plugin:mqttSubscribe(topic, function(_, payload)
    receive(nil, payload)
  end)
  for _, channel in ipairs(available) do
    plugin:mqttSubscribe(topic .. "/" .. channel, function(_, payload)
      receive(channel, payload)
    end)
  end
end

plugin:onInit(function(config)
  local problems
  available, problems = channels.configured(config)
  for _, problem in ipairs(problems) do
    plugin:log("error", problem)
  end
  if #available == 0 then
    plugin:log("error", "No channel is set up: set telegramToken and telegramChat, ntfyTopic, or webhookUrl")
  end
  for _, channel in ipairs(available) do
    outboxes[channel] = openOutbox(channel, config)
  end
  plugin:upsertObject("channels", { available = available })

  for _, id in ipairs({ "sent", "failed" }) do
    local sensor = plugin:sensor(id, function()
      return counts[id]
    end)
    expose(sensor, "sensor", { name = "Messages " .. id, state_class = "total_increasing" })
  end
  local waitingSensor = plugin:sensor("waiting", waitingCount)
  expose(waitingSensor, "sensor", { name = "Messages waiting", state_class = "measurement" })
  listen(plugin:coerceString(config.topic, ""))
end)

plugin:onCleanup(function()
  local waiting = waitingCount()
  if waiting > 0 then
    plugin:log("warn", waiting .. " messages were not sent: the plugin is being unloaded")
  end
end)

return plugin
