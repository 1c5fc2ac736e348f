-- Shows what Zigbee2MQTT knows: a device for each of its devices and groups, with sensors and controls.

local announcing = require("announcing")
local device = require("device")
local naming = require("naming")
local network = require("network")
local reading = require("reading")
local topics = require("topics")

local plugin = Plugin:new("zigbee2mqtt")

-- Devices that are made in one go; others have their turn in between.
local slice = 10
local saveInterval = 10 * 60 * 1000

local base, rows, leaveOut
local online, version, announces
-- What Zigbee2MQTT has told last; nil before.
local deviceList, groupList
-- What there is: by key, and by the name in topics.
local records, byName = {}, {}
local availability = {}
local subscriptions = {}
local generation = 0
local complaints = {}

local maker, ask

local function complain(what, message)
  if complaints[what] ~= message then
    complaints[what] = message
    if message then
      plugin:log("warn", message)
    end
  end
end

local function command(record, payload, verb)
  if online == false then
    error("Zigbee2MQTT is offline", 0)
  elseif topics.depth(record.friendlyName) > topics.deepest then
    error("'" .. record.friendlyName .. "' has more than " .. topics.deepest .. " levels; it can only be read", 0)
  end
  local topic = base .. "/" .. record.friendlyName .. "/" .. (verb or "set")
  local done, problem = plugin:mqttPublish(topic, payload)
  if done == false then
    error(problem, 0)
  end
end

local function isAvailable(name)
  return online ~= false and availability[name] ~= false
end

local function isShown()
  local mode = plugin.config.homeAssistant
  return mode == "always" or (mode == "auto" and not announces)
end

local function count(kind)
  local number = 0
  for _, record in pairs(records) do
    number = number + (record.kind == kind and 1 or 0)
  end
  return number
end

local function tellStatus()
  local problem
  if online == nil then
    problem = "nothing is heard of Zigbee2MQTT at " .. base .. "/bridge/state"
  elseif not online then
    problem = "Zigbee2MQTT is offline"
  end
  plugin:upsertObject("bridge", {
    ok = problem == nil,
    problem = problem,
    version = version,
    devices = count("device"),
    groups = count("group"),
    announcesItself = announces or false,
  })
end

local function remember(record)
  if not record.dirty then
    return
  end
  local kept = {}
  for _, point in ipairs(record.points) do
    if point.readable and point.name ~= "action" then
      kept[point.property] = record.state[point.property]
    end
  end
  kept.color_mode = record.state.color_mode
  record.dirty = not plugin:kvSet("state:" .. record.key, kept)
end

local function rememberAll()
  for _, record in pairs(records) do
    remember(record)
  end
end

local function hear(topic, payload)
  local name, isAvailability = topics.read(base, topic)
  local record = byName[name]
  if record == nil then
    return
  elseif isAvailability then
    local now = topics.isOnline(payload, function(text)
      return plugin:jsonDecode(text)
    end)
    if now ~= nil and availability[name] ~= now then
      availability[name] = now
      maker.setAvailable(record, isAvailable(name))
    end
    return
  end
  local changes = plugin:jsonDecode(payload)
  if type(changes) == "table" and #changes == 0 then
    maker.take(record, changes)
  end
end

local function subscribe()
  local names = {}
  for _, record in pairs(records) do
    names[#names + 1] = record.friendlyName
  end
  local wanted = {}
  for _, filter in ipairs(topics.filters(base, names)) do
    wanted[filter] = true
    if not subscriptions[filter] then
      local done, result = pcall(plugin.mqttSubscribe, plugin, filter, hear)
      if done then
        subscriptions[filter] = result
      else
        complain("subscribe", tostring(result))
      end
    end
  end
  for filter, stop in pairs(subscriptions) do
    if not wanted[filter] then
      stop()
      subscriptions[filter] = nil
    end
  end
end

-- Asks a device for what is not known of it; those that sleep would not hear it.
local function askFor(record)
  if record.kind == "device" and record.power and not record.power:find("Battery") and online then
    local question = not record.asked and reading.question(record.points, record.state)
    record.asked = true
    if question then
      ask(record, question)
    end
  end
end

-- What was remembered of devices that went while nobody looked.
local function forgetOthers()
  for _, key in ipairs(plugin:kvList("state:")) do
    if not records[key:sub(#"state:" + 1)] then
      plugin:kvDelete(key)
    end
  end
end

local function finish()
  byName = {}
  for _, record in pairs(records) do
    byName[record.friendlyName] = record
  end
  subscribe()
  if deviceList and (groupList or not plugin.config.groups) then
    forgetOthers()
  end
  if plugin.config.readAtStart then
    for _, record in pairs(records) do
      askFor(record)
    end
  end
  tellStatus()
end

local function build(entry)
  local previous = records[entry.key]
  local record = network.record(entry, leaveOut)
  record.shown = isShown()
  record.available = isAvailable(entry.friendlyName)
  if previous then
    record.state, record.asked = previous.state, previous.asked
    -- What is known of it by its old name holds until something else is heard.
    if availability[entry.friendlyName] == nil then
      availability[entry.friendlyName] = availability[previous.friendlyName]
      record.available = isAvailable(entry.friendlyName)
    end
  else
    record.state = plugin:kvGet("state:" .. entry.key) or {}
  end
  record.dirty = previous and previous.dirty
  if previous and byName[previous.friendlyName] == previous then
    byName[previous.friendlyName] = nil
  end
  records[entry.key] = record
  byName[entry.friendlyName] = record
  maker.build(record, previous)
end

local function forget(key)
  local record = records[key]
  maker.remove(record)
  records[key] = nil
  if byName[record.friendlyName] == record then
    byName[record.friendlyName] = nil
    availability[record.friendlyName] = nil
  end
  plugin:kvDelete("state:" .. key)
end

-- Brings what there is to what Zigbee2MQTT has told: a few devices at a time.
local function plan()
  generation = generation + 1
  local mine = generation
  local entries = network.devices(deviceList, rows)
  if plugin.config.groups then
    for _, entry in ipairs(network.groups(groupList, deviceList, rows)) do
      entries[#entries + 1] = entry
    end
  end
  naming.giveSlugs(entries)
  local present, waiting = {}, {}
  for _, entry in ipairs(entries) do
    local record = records[entry.key]
    -- While a device is asked what it can do, it is what it was.
    local isKept = entry.interviewing and record and record.slug == entry.slug
    present[entry.key] = true
    entry.signature = plugin:jsonEncode({ entry, isShown() })
    if not isKept and (record == nil or record.signature ~= entry.signature) then
      waiting[#waiting + 1] = entry
    end
  end
  for key in pairs(records) do
    if not present[key] then
      forget(key)
    end
  end
  local done = 0
  local function step()
    if mine ~= generation then
      return
    end
    for _ = 1, slice do
      done = done + 1
      if waiting[done] == nil then
        finish()
        return
      end
      build(waiting[done])
    end
    plugin:setTimeout(0, step)
  end
  step()
end

local function setOnline(now)
  if now == nil or now == online then
    return
  end
  online = now
  plugin:log(now and "info" or "warn", "Zigbee2MQTT is " .. (now and "online" or "offline"))
  for name, record in pairs(byName) do
    maker.setAvailable(record, isAvailable(name))
  end
  plugin:get("online"):notify()
  finish()
end

local function decodeList(what, payload)
  if payload == "" then
    return {}
  end
  local list, problem = plugin:jsonDecode(payload)
  if type(list) ~= "table" then
    complain(what, base .. "/bridge/" .. what .. " is no list: " .. tostring(problem))
    return nil
  end
  return list
end

local bridge = {}

function bridge.state(payload)
  setOnline(topics.isOnline(payload, function(text)
    return plugin:jsonDecode(text)
  end))
end

function bridge.info(payload)
  local info = plugin:jsonDecode(payload)
  if type(info) ~= "table" then
    return
  end
  version = info.version
  local now = announcing.read(info)
  local isOther = now ~= announces
  announces = now
  if isOther and deviceList then
    plan()
  else
    tellStatus()
  end
end

function bridge.devices(payload)
  deviceList = decodeList("devices", payload) or deviceList
  if deviceList then
    plan()
  end
end

function bridge.groups(payload)
  groupList = decodeList("groups", payload) or groupList
  if groupList and deviceList then
    plan()
  end
end

local function createPoints()
  local sensor = plugin:sensor("online", function()
    return online or false
  end)
  expose(sensor, "binary_sensor", {
    name = "Online",
    device_class = "connectivity",
    device = { id = "bridge", name = "Zigbee2MQTT", manufacturer = "Zigbee2MQTT", model = "Bridge" },
  })
  plugin:control("read", function()
    return nil
  end, function(name)
    for _, record in pairs(records) do
      if record.friendlyName == name or record.name == name or record.slug == name then
        local question = reading.question(record.points)
        if question == nil then
          error("'" .. name .. "' cannot be asked for anything", 0)
        end
        command(record, question, "get")
        return
      end
    end
    error("there is no device '" .. tostring(name) .. "'", 0)
  end)
end

plugin:onInit(function(config)
  base, rows, leaveOut = config.baseTopic, config.devices, {}
  for _, property in ipairs(config.leaveOut or {}) do
    leaveOut[property] = true
  end
  createPoints()
  local problem = topics.problem(base)
  if problem then
    plugin:log("error", problem)
    plugin:upsertObject("bridge", { ok = false, problem = problem, devices = 0, groups = 0, announcesItself = false })
    return
  end
  maker = device.maker({
    plugin = plugin,
    command = command,
    details = config.details,
    cramped = function(reason)
      complain("cramped", "Not everything can be shown: " .. reason .. " (the limit `exposures` can be raised)")
    end,
  })
  ask = reading.queue({
    after = function(milliseconds, run)
      plugin:setTimeout(milliseconds, run)
    end,
  }, function(record, question)
    local done, reason = pcall(command, record, question, "get")
    if not done then
      complain("read " .. record.key, tostring(reason))
    end
  end)
  tellStatus()
  -- First whether Zigbee2MQTT announces its devices itself: then they are not shown a second time meanwhile.
  for _, name in ipairs({ "info", "state", "groups", "devices" }) do
    plugin:mqttSubscribe(base .. "/bridge/" .. name, function(_, payload)
      bridge[name](payload)
    end)
  end
  plugin:setInterval(saveInterval, rememberAll)
end)

plugin:onCleanup(rememberAll)

return plugin
