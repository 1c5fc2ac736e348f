-- Values from the registers of a meter, an inverter or a heat pump, as sensors.

local registers = require("registers")

local plugin = Plugin:new("modbus-meter")

-- The last value by id, and what is wrong by the request that fails.
local known = {}
local complaints = {}

local function showStatus()
  local reasons = {}
  for what, reason in pairs(complaints) do
    reasons[#reasons + 1] = what .. ": " .. reason
  end
  table.sort(reasons)
  plugin:upsertObject("status", { ok = #reasons == 0, problems = #reasons, first = reasons[1] })
end

-- Says what is wrong once, and once that it is right again.
local function complain(what, reason)
  local before = complaints[what]
  complaints[what] = reason
  if reason and reason ~= before then
    plugin:log("warn", what .. ": " .. reason)
  elseif before and not reason then
    plugin:log("info", what .. " answers again")
  end
end

local function update(entry, value)
  if value == nil or value == known[entry.id] then
    return
  end
  local previous = known[entry.id]
  known[entry.id] = value
  plugin:get(entry.id):notify()
  plugin:emit("modbus-meter:changed", { id = entry.id, value = value, previous = previous })
end

local function read(block, config, done)
  -- Several meters of one kind behind a gateway have the same registers.
  local of = block.device and "unit " .. block.device .. ", " or ""
  local what = of .. block.entries[1].kind .. " " .. block.address
  Modbus.request({
    host = config.host,
    port = config.port,
    unit = block.device or config.unit,
    fc = block.fc,
    addr = block.address,
    qty = block.count,
    timeout = config.timeout * 1000,
  }, function(words, err)
    complain(what, err)
    for _, entry in ipairs(words and block.entries or {}) do
      update(entry, registers.value(entry, block, words, Modbus))
    end
    done()
  end)
end

local function readAll(blocks, config, done)
  local open = #blocks
  if open == 0 then
    done()
  end
  for _, block in ipairs(blocks) do
    read(block, config, function()
      open = open - 1
      if open == 0 then
        showStatus()
        done()
      end
    end)
  end
end

-- Device classes of what is counted up: Home Assistant wants another state class for them than for what is measured.
local counted = { energy = true, gas = true, volume = true, water = true }

local function show(entry)
  local sensor = plugin:sensor(entry.id, function()
    return known[entry.id]
  end)
  expose(sensor, entry.type == "bit" and "binary_sensor" or "sensor", {
    name = entry.name or entry.id,
    unit = entry.unit,
    device_class = entry.class,
    state_class = counted[entry.class] and "total_increasing" or entry.unit and "measurement" or nil,
  })
end

plugin:onInit(function(config)
  local entries, refused = registers.read(config.registers)
  for _, problem in ipairs(refused) do
    plugin:log("error", "row " .. problem.row .. ": " .. problem.message)
    complaints["row " .. problem.row] = problem.message
  end
  for _, entry in ipairs(entries) do
    show(entry)
  end
  showStatus()

  local blocks = registers.plan(entries)
  local poller = plugin:poller("meter", {
    interval = config.interval * 1000,
    immediate = true,
    -- The host tries each request twice, one after the other.
    timeout = config.timeout * 1000 * 2 * math.max(1, #blocks) + 1000,
    onTick = function(done)
      readAll(blocks, config, done)
    end,
  })
  poller.start()

  -- A button has no value of its own: any value presses it.
  local refresh = plugin:control("refresh", function()
    return nil
  end, function()
    poller.poll()
  end)
  expose(refresh, "button", { name = "Refresh" })
end)

return plugin
