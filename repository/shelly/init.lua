-- Shows Shelly devices of the second generation and later: found on the network or named, and spoken to over WebSocket.

local components = require("components")
local rpc = require("rpc")

local plugin = Plugin:new("shelly")

-- Links by the host that was asked, and by the id that the device says it has.
local links, devices = {}, {}

local function count(condition)
  local number = 0
  for _, link in pairs(devices) do
    number = number + (condition(link) and 1 or 0)
  end
  return number
end

local function tellStatus()
  local total = count(function()
    return true
  end)
  local online = count(function(link)
    return link.online
  end)
  plugin:upsertObject("status", { devices = total, online = online })
  plugin:get("online"):notify()
end

local function setOnline(link, online, problem)
  local isNew = link.online ~= online or link.problem ~= problem
  link.online, link.problem = online, problem
  if not isNew then
    return
  elseif problem then
    plugin:log("warn", link.host .. ": " .. problem)
  end
  for _, shown in pairs(link.shown) do
    if shown.setAvailable then
      shown.setAvailable(shown, online)
    end
  end
  if link.id then
    plugin:upsertObject(link.key, {
      id = link.id,
      host = link.host,
      model = link.info.model,
      generation = link.info.gen,
      version = link.info.ver,
      online = online,
      problem = problem,
    })
  end
  tellStatus()
end

-- Makes what Home Assistant sees of a component, and answers how to tell that it has changed.
local function makeThing(link, key, kind, number, what, options)
  local thing, listeners = {}, {}
  function thing:get(feature)
    return components.value(kind, link.status[key] or {}, feature)
  end
  function thing:onChange(callback)
    listeners[#listeners + 1] = callback
  end
  if what ~= "binary_sensor" and what ~= "event" then
    function thing:set(feature, value)
      if not link.online then
        error(link.host .. " is not connected", 0)
      end
      local method, params = components.command(kind, number, feature, value)
      link.rpc.call(method, params, function(_, problem)
        if problem then
          plugin:log("warn", link.host .. ": " .. method .. " failed: " .. problem)
        end
      end)
    end
  end
  if what == "event" then
    function thing:get()
      return link.pushed and link.pushed[key]
    end
  end
  function thing.changed()
    for _, callback in ipairs(listeners) do
      callback()
    end
  end
  link.shown[key] = expose(thing, what, options)
  if what ~= "event" then
    thing:setAvailable(link.online)
  end
end

local function makeMeasure(link, key, measure, name, device)
  local id = link.key .. "_" .. key:gsub(":", "_") .. "_" .. measure.id
  if link.shown[id] then
    return
  end
  local sensor = plugin:sensor(id, function()
    return components.read(link.status[key] or {}, measure.path)
  end)
  link.measured[key] = link.measured[key] or {}
  table.insert(link.measured[key], sensor)
  link.shown[id] = expose(sensor, "sensor", {
    id = id,
    name = name .. " " .. measure.name:lower(),
    unit = measure.unit,
    device_class = measure.class,
    state_class = measure.state,
    device = device,
  })
end

local function make(link, key)
  local kind, number = components.split(key)
  local status = link.status[key]
  if not kind or type(status) ~= "table" then
    return
  end
  local device = { id = link.key }
  local name = components.name(kind, number, (link.config[key] or {}).name)
  local what, options = components.shown(kind, status)
  if what and not link.shown[key] then
    options.id = link.key .. "_" .. key:gsub(":", "_")
    options.name = name
    options.device = device
    makeThing(link, key, kind, number, what, options)
  end
  for _, measure in ipairs(components.measures(status)) do
    makeMeasure(link, key, measure, name, device)
  end
end

local function changed(link, key)
  make(link, key)
  local thing = link.shown[key]
  if thing and thing.changed and not (link.pushed and link.pushed[key]) then
    thing.changed()
  end
  for _, sensor in ipairs(link.measured[key] or {}) do
    sensor:notify()
  end
end

local function takeStatus(link, changes)
  for key, status in pairs(changes) do
    if type(status) == "table" and components.split(key) then
      link.status[key] = link.status[key] or {}
      components.merge(link.status[key], status)
      changed(link, key)
    end
  end
end

local function takeEvents(link, events)
  for _, event in ipairs(type(events) == "table" and events or {}) do
    local key = tostring(event.component)
    if components.split(key) == "input" then
      link.pushed = link.pushed or {}
      link.pushed[key] = event.event
      if link.shown[key] then
        link.shown[key].changed()
      end
      plugin:emit("shelly:input", { device = link.id, component = key, event = event.event })
    end
  end
end

local function describe(link, info)
  link.id, link.info = info.id, info
  link.key = tostring(info.id):gsub("[^%w_-]", "-")
  devices[link.id] = link
  local sensor = plugin:sensor(link.key .. "_online", function()
    return link.online
  end)
  link.shown.online = link.shown.online
    or expose(sensor, "binary_sensor", {
      id = link.key .. "_online",
      name = "Online",
      device_class = "connectivity",
      device = {
        id = link.key,
        name = info.name or info.id,
        model = info.model,
        manufacturer = "Shelly",
        serial = info.mac,
        version = info.ver,
      },
    })
  -- Whether it is online can be said when it is not.
  link.shown.online.setAvailable = nil
end

local function begin(link)
  local function failed(problem)
    setOnline(link, false, problem)
    plugin:setTimeout(60000, function()
      if not link.online and not link.closed then
        begin(link)
      end
    end)
  end
  link.rpc.call("Shelly.GetDeviceInfo", {}, function(info, problem)
    if problem then
      failed(problem)
      return
    end
    local other = devices[info.id]
    if other and other ~= link then
      link.closed = true
      link.rpc.close()
      return
    end
    link.rpc.call("Shelly.GetConfig", {}, function(config, refused)
      if refused then
        failed(refused)
        return
      end
      link.rpc.call("Shelly.GetStatus", {}, function(status, unread)
        if unread then
          failed(unread)
          return
        end
        link.config = config
        describe(link, info)
        setOnline(link, true, nil)
        takeStatus(link, status)
      end)
    end)
  end)
end

local function connect(host, password)
  if links[host] then
    return
  end
  local link = { host = host, online = false, status = {}, config = {}, shown = {}, measured = {}, info = {} }
  links[host] = link
  link.rpc = rpc.open(plugin, host, password or "", {
    ready = function()
      begin(link)
    end,
    told = function(method, params)
      if link.id and (method == "NotifyStatus" or method == "NotifyFullStatus") then
        takeStatus(link, params)
      elseif link.id and method == "NotifyEvent" then
        takeEvents(link, params.events)
      end
    end,
    lost = function(reason)
      setOnline(link, false, reason)
    end,
  })
end

plugin:onInit(function(config)
  expose(
    plugin:sensor("online", function()
      return count(function(link)
        return link.online
      end)
    end),
    "sensor",
    { id = "online", name = "Devices online", icon = "mdi:lan-connect", state_class = "measurement" }
  )
  tellStatus()
  local named = {}
  for _, row in ipairs(config.devices or {}) do
    named[row.host] = true
    connect(row.host, row.password or config.password)
  end
  if not config.discover then
    return
  end
  plugin:discover("_shelly._tcp", function(found)
    local host = found.port == 80 and found.host or found.host .. ":" .. tostring(found.port)
    for _, address in ipairs(found.addresses) do
      if named[address] then
        return
      end
    end
    if found.gone or named[host] or links[host] then
      return
    end
    if found.txt.gen == nil or found.txt.gen == "1" then
      plugin:log("info", found.name .. " is of the first generation, which this plugin does not speak to")
      return
    end
    plugin:log("info", "Found " .. found.name .. " at " .. tostring(found.addresses[1]))
    plugin:upsertObject("found." .. found.name:gsub("[^%w_-]", "-"), {
      name = found.name,
      host = host,
      addresses = found.addresses,
    })
    connect(host, config.password)
  end)
end)

return plugin
