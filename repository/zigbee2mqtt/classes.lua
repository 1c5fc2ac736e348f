-- What Home Assistant calls a property: its class, where the unit is one that the class has.

local classes = {}

local measured = {
  temperature = { "temperature", "°C", "°F" },
  device_temperature = { "temperature", "°C", "°F" },
  local_temperature = { "temperature", "°C", "°F" },
  external_temperature = { "temperature", "°C", "°F" },
  soil_temperature = { "temperature", "°C", "°F" },
  humidity = { "humidity", "%" },
  soil_moisture = { "moisture", "%" },
  pressure = { "pressure", "hPa", "kPa", "mbar", "Pa" },
  illuminance = { "illuminance", "lx" },
  illuminance_lux = { "illuminance", "lx" },
  battery = { "battery", "%" },
  voltage = { "voltage", "V", "mV" },
  battery_voltage = { "voltage", "V", "mV" },
  current = { "current", "A", "mA" },
  power = { "power", "W", "kW" },
  power_apparent = { "apparent_power", "VA" },
  power_reactive = { "reactive_power", "var", "VAR" },
  ac_frequency = { "frequency", "Hz" },
  co2 = { "carbon_dioxide", "ppm" },
  co = { "carbon_monoxide", "ppm" },
  pm25 = { "pm25", "µg/m³" },
  pm10 = { "pm10", "µg/m³" },
  voc = { "volatile_organic_compounds", "µg/m³" },
  voc_parts = { "volatile_organic_compounds_parts", "ppb", "ppm" },
  noise = { "sound_pressure", "dB", "dBA" },
  distance = { "distance", "m", "cm", "mm" },
  target_distance = { "distance", "m", "cm", "mm" },
}

local counted = {
  energy = { "energy", "kWh", "Wh" },
  produced_energy = { "energy", "kWh", "Wh" },
  water_consumed = { "water", "m³", "L" },
  gas_consumed = { "gas", "m³" },
}

local switched = {
  contact = "door",
  occupancy = "occupancy",
  presence = "occupancy",
  motion = "motion",
  water_leak = "moisture",
  smoke = "smoke",
  gas = "gas",
  carbon_monoxide = "carbon_monoxide",
  tamper = "tamper",
  battery_low = "battery",
  vibration = "vibration",
  sos = "safety",
}

local function fits(known, unit)
  for index = 2, #known do
    if known[index] == unit then
      return known[1]
    end
  end
  return nil
end

-- Class and state class of a point.
function classes.of(point)
  if point.kind == "binary" then
    return switched[point.name], nil
  elseif point.kind ~= "numeric" then
    return nil, nil
  end
  local counter = counted[point.name] and fits(counted[point.name], point.unit)
  if counter then
    return counter, "total_increasing"
  end
  local class = measured[point.name] and fits(measured[point.name], point.unit)
  return class, point.unit and "measurement" or nil
end

return classes
