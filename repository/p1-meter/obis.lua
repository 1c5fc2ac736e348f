-- What a telegram says: readings by OBIS code, and the meters behind it (M-Bus: gas, water, heat).

local obis = {}

-- By the unit of the telegram: the unit here, the factor, and class and state class of Home Assistant.
local units = {
  kW = { "W", 1000, "power", "measurement" },
  W = { "W", 1, "power", "measurement" },
  kWh = { "kWh", 1, "energy", "total_increasing" },
  Wh = { "kWh", 0.001, "energy", "total_increasing" },
  GJ = { "GJ", 1, "energy", "total_increasing" },
  MJ = { "MJ", 1, "energy", "total_increasing" },
  V = { "V", 1, "voltage", "measurement" },
  A = { "A", 1, "current", "measurement" },
  m3 = { "m³", 1, "volume", "total_increasing" },
}

local codes = {
  ["1-0:1.7.0"] = { "power_in", "Power in" },
  ["1-0:2.7.0"] = { "power_out", "Power out" },
  ["1-0:1.8.0"] = { "energy_in", "Energy in" },
  ["1-0:2.8.0"] = { "energy_out", "Energy out" },
}
for tariff = 1, 4 do
  codes["1-0:1.8." .. tariff] = { "energy_in_" .. tariff, "Energy in, tariff " .. tariff }
  codes["1-0:2.8." .. tariff] = { "energy_out_" .. tariff, "Energy out, tariff " .. tariff }
end
for phase = 1, 3 do
  local tens = phase * 2
  codes["1-0:" .. tens .. "1.7.0"] = { "power_in_l" .. phase, "Power in, L" .. phase }
  codes["1-0:" .. tens .. "2.7.0"] = { "power_out_l" .. phase, "Power out, L" .. phase }
  codes["1-0:" .. (tens + 1) .. "1.7.0"] = { "current_l" .. phase, "Current, L" .. phase }
  codes["1-0:" .. (tens + 1) .. "2.7.0"] = { "voltage_l" .. phase, "Voltage, L" .. phase }
end

-- Device types of M-Bus: the id, the name, and the class of a volume.
local types = {
  [2] = { "electricity", "Electricity" },
  [3] = { "gas", "Gas", "gas" },
  [4] = { "heat", "Heat" },
  [6] = { "hot_water", "Hot water", "water" },
  [7] = { "water", "Water", "water" },
  [12] = { "heat", "Heat" },
}

local function reading(text)
  local number, unit = text:match("^(%d+%.?%d*)%*(%a+%d?)$")
  local known = units[unit]
  if not known then
    return nil
  end
  return {
    -- Three digits are what a meter has; the product has more by its binary fractions.
    value = math.floor(tonumber(number) * known[2] * 1000 + 0.5) / 1000,
    unit = known[1],
    class = known[3],
    state = known[4],
  }
end

-- YYMMDDhhmmss as ISO 8601; S and W are summer and winter time of Central Europe. Nil when it is no time: meters
-- send such where a meter behind them has not answered yet.
function obis.time(text)
  local year, month, day, hour, minute, second, season = text:match("^(%d%d)(%d%d)(%d%d)(%d%d)(%d%d)(%d%d)([SW]?)$")
  if not year or month < "01" or month > "12" or day < "01" or day > "31" or hour > "23" or minute > "59" then
    return nil
  end
  local zone = season == "S" and "+02:00" or season == "W" and "+01:00" or ""
  return ("20%s-%s-%sT%s:%s:%s%s"):format(year, month, day, hour, minute, second, zone)
end

-- Numbers of meters are texts in hex.
local function identifier(text)
  local decoded = hex.decode(text)
  if decoded and decoded:find("^[%g ]+$") then
    return decoded
  end
  return text ~= "" and text or nil
end

-- Collects what is said of the meter on a channel.
local function readChannel(channel, code, parts)
  if code == "24.1.0" then
    channel.type = tonumber(parts[1])
  elseif code == "96.1.0" or code == "96.1.1" then
    channel.serial = identifier(parts[1])
  elseif code == "24.2.1" or code == "24.2.3" then
    channel.time, channel.reading = obis.time(parts[1]), reading(parts[2] or "")
  elseif code == "24.3.0" and parts[7] then
    -- Before DSMR 4: the unit is a part of its own.
    channel.time, channel.reading = obis.time(parts[1]), reading(parts[7] .. "*" .. parts[6])
  end
end

local function meterOf(number, channel)
  local entry = channel.reading
  local kind = types[channel.type] or { "meter", "Meter" }
  entry.id = kind[1] .. "_" .. number
  entry.name = kind[2]
  entry.class = entry.class == "volume" and kind[3] or entry.class
  entry.time, entry.serial = channel.time, channel.serial
  return entry
end

-- `{ header, version, time, serial, tariff, readings, meters }`; what is not in the telegram is nil. What does not
-- read as a line is passed over.
function obis.read(text)
  local found = { header = text:match("^/([%g ]*)"), readings = {}, meters = {} }
  local channels = {}
  -- Before DSMR 4 the value of a gas meter has a line of its own.
  for line in text:gsub("[\r\n]+%(", "("):gmatch("[^\r\n]+") do
    local medium, channel, code, rest = line:match("^(%d)%-(%d):(%d+%.%d+%.%d+)%*?%d*(%(.*%))$")
    local parts = {}
    for part in (rest or ""):gmatch("%(([^()]*)%)") do
      parts[#parts + 1] = part
    end
    local full = medium and medium .. "-" .. channel .. ":" .. code
    if not parts[1] then
      -- No line of values.
    elseif codes[full] then
      local entry = reading(parts[1])
      if entry then
        entry.id, entry.name = codes[full][1], codes[full][2]
        found.readings[#found.readings + 1] = entry
      end
    elseif full == "1-3:0.2.8" or full == "0-0:96.1.4" then
      found.version = parts[1]
    elseif full == "0-0:1.0.0" then
      found.time = obis.time(parts[1])
    elseif full == "0-0:96.1.1" then
      found.serial = identifier(parts[1])
    elseif full == "0-0:96.14.0" then
      found.tariff = tonumber(parts[1])
    elseif medium == "0" and channel ~= "0" then
      channels[channel] = channels[channel] or {}
      readChannel(channels[channel], code, parts)
    end
  end
  for number = 1, 9 do
    local channel = channels[tostring(number)]
    if channel and channel.reading then
      found.meters[#found.meters + 1] = meterOf(number, channel)
    end
  end
  return found
end

return obis
