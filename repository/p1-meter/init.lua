-- Reads the P1 port of a smart meter, and shows what its telegrams say as sensors.

local obis = require("obis")
local telegrams = require("telegrams")

local plugin = Plugin:new("p1-meter")

local formats = {
  ["8N1"] = { dataBits = 8, parity = "none" },
  ["7E1"] = { dataBits = 7, parity = "even" },
}

-- The last value by id, and what `expose` gave for it.
local known = {}
local shown = {}

local online = false
local problem = "no telegram yet"
local good, refused = 0, 0

local function showStatus()
  plugin:upsertObject("status", { ok = online, problem = problem, telegrams = good, refused = refused })
end

local function setOnline(now, reason)
  if online == now and problem == reason then
    return
  end
  if reason then
    plugin:log("warn", reason)
  elseif not online then
    plugin:log("info", "The meter sends telegrams")
  end
  online, problem = now, reason
  for _, sensor in pairs(shown) do
    sensor:setAvailable(now)
  end
  plugin:get("online"):notify()
  showStatus()
end

local function show(entry, device)
  known[entry.id] = entry.value
  if not shown[entry.id] then
    local sensor = plugin:sensor(entry.id, function()
      return known[entry.id]
    end)
    shown[entry.id] = expose(sensor, "sensor", {
      name = entry.name,
      unit = entry.unit,
      device_class = entry.class,
      state_class = entry.state,
      icon = entry.icon,
      device = device,
    })
  end
  plugin:get(entry.id):notify()
end

local function showTelegram(text)
  local found = obis.read(text)
  local device = { id = "meter", name = "Electricity meter", model = found.header, serial = found.serial }
  if found.tariff then
    show({ id = "tariff", name = "Tariff", value = found.tariff, icon = "mdi:counter" }, device)
  end
  local values = {}
  for _, entry in ipairs(found.readings) do
    show(entry, device)
    values[entry.id] = entry.value
  end
  plugin:upsertObject("meter", {
    header = found.header,
    version = found.version,
    serial = found.serial,
    time = found.time,
    tariff = found.tariff,
    values = values,
  })
  for _, entry in ipairs(found.meters) do
    show(entry, { id = entry.id, name = entry.name .. " meter", serial = entry.serial, via = "meter" })
    plugin:upsertObject(entry.id, {
      value = entry.value,
      unit = entry.unit,
      time = entry.time,
      serial = entry.serial,
    })
  end
  showStatus()
end

-- Shows one telegram in an interval: the first at once, then the last that came in it.
local function pacer(interval)
  local waiting, latest = false, nil
  local function take(text)
    if waiting then
      latest = text
      return
    end
    waiting = true
    plugin:setTimeout(interval, function()
      waiting = false
      local last = latest
      latest = nil
      if last then
        take(last)
      end
    end)
    showTelegram(text)
  end
  return take
end

local function open(config)
  if config.connection == "tcp" then
    return plugin:tcpConnect(config.host, config.port)
  end
  local format = formats[config.format]
  return plugin:serialPort(config.device, {
    baudRate = tonumber(config.baudRate),
    dataBits = format.dataBits,
    parity = format.parity,
  })
end

plugin:onInit(function(config)
  local take = pacer(config.interval * 1000)
  local connection, watchdog, connect

  local function watch()
    plugin:clearTimer(watchdog)
    watchdog = plugin:setTimeout(config.timeout * 1000, function()
      -- Without a connection the reason why there is none says more.
      if connection:isConnected() then
        setOnline(false, "no telegram for " .. config.timeout .. " s")
        -- A server that has lost its power closes nothing.
        if config.connection == "tcp" then
          connection:close()
          connect()
        end
      end
      watch()
    end)
  end

  function connect()
    local read = telegrams.reader()
    local told = false
    connection = open(config)
    connection:onConnect(function()
      read = telegrams.reader()
      told = false
    end)
    connection:onClose(function(err)
      setOnline(false, err or "the other side has closed the connection")
    end)
    connection:onData(function(data)
      for _, telegram in ipairs(read(data)) do
        if telegram.text then
          good = good + 1
          setOnline(true, nil)
          watch()
          take(telegram.text)
        else
          refused = refused + 1
          if not told then
            plugin:log("warn", "A telegram is left out: " .. telegram.fault)
            told = true
            showStatus()
          end
        end
      end
    end)
  end

  local sensor = plugin:sensor("online", function()
    return online
  end)
  expose(sensor, "binary_sensor", {
    name = "Online",
    device_class = "connectivity",
    device = { id = "meter", name = "Electricity meter" },
  })
  showStatus()
  connect()
  watch()
end)

return plugin
