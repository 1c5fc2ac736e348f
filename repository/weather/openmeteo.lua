-- What is asked of Open-Meteo, and what its answer means. Without a network: init.lua has that.

local conditions = require("conditions")

local openmeteo = {}

openmeteo.address = "https://api.open-meteo.com/v1/forecast"

-- Our name of a value, and theirs.
local current = {
  temperature = "temperature_2m",
  feelsLike = "apparent_temperature",
  humidity = "relative_humidity_2m",
  pressure = "pressure_msl",
  precipitation = "precipitation",
  cloudCover = "cloud_cover",
  windSpeed = "wind_speed_10m",
  windGusts = "wind_gusts_10m",
  windDirection = "wind_direction_10m",
  code = "weather_code",
  isDay = "is_day",
}
local daily = {
  code = "weather_code",
  temperatureMin = "temperature_2m_min",
  temperatureMax = "temperature_2m_max",
  precipitation = "precipitation_sum",
  precipitationProbability = "precipitation_probability_max",
  windSpeedMax = "wind_speed_10m_max",
  sunriseAt = "sunrise",
  sunsetAt = "sunset",
}

-- What the numbers are in. Open-Meteo's own default is metric.
openmeteo.units = {
  metric = { temperature = "°C", windSpeed = "km/h", precipitation = "mm", pressure = "hPa" },
  imperial = { temperature = "°F", windSpeed = "mph", precipitation = "in", pressure = "hPa" },
}
local imperialParameters = { temperature_unit = "fahrenheit", wind_speed_unit = "mph", precipitation_unit = "inch" }

local function names(fields)
  local list = {}
  for _, name in pairs(fields) do
    list[#list + 1] = name
  end
  table.sort(list)
  return table.concat(list, ",")
end

-- The query of a request, from `lat`, `lon`, `units` and `days` of the configuration.
function openmeteo.parameters(config)
  local parameters = {
    latitude = config.lat,
    longitude = config.lon,
    current = names(current),
    daily = names(daily),
    forecast_days = config.days,
    -- A day is one of the place, not of Greenwich; moments are Unix time all the same.
    timezone = "auto",
    timeformat = "unixtime",
  }
  if config.units == "imperial" then
    for name, value in pairs(imperialParameters) do
      parameters[name] = value
    end
  end
  return parameters
end

local function numbers(fields, source, pick)
  local result = {}
  for name, theirs in pairs(fields) do
    local value = pick(source[theirs])
    if type(value) == "number" then
      result[name] = value
    end
  end
  result.condition, result.text = conditions.of(result.code)
  return result
end

local function readCurrent(json)
  local result = numbers(current, json.current, function(value)
    return value
  end)
  -- They say it with 0 and 1.
  if result.isDay ~= nil then
    result.isDay = result.isDay ~= 0
  end
  result.observedAt = json.current.time
  return result
end

-- Lists side by side, one of each value, become one list of days.
local function readDays(json)
  local days = {}
  local offset = type(json.utc_offset_seconds) == "number" and json.utc_offset_seconds or 0
  for position, midnight in ipairs(json.daily.time) do
    local day = numbers(daily, json.daily, function(list)
      return type(list) == "table" and list[position] or nil
    end)
    -- The date at the place, whichever zone the host is in.
    day.date = os.date("!%Y-%m-%d", midnight + offset)
    days[position] = day
  end
  return days
end

-- The current weather and the days of the forecast, or nil and why the answer is of no use.
function openmeteo.read(json)
  if type(json) ~= "table" then
    return nil, "the answer is not JSON"
  end
  if type(json.current) ~= "table" or type(json.current.temperature_2m) ~= "number" then
    return nil, "the answer has no current weather"
  end
  if type(json.daily) ~= "table" or type(json.daily.time) ~= "table" then
    return nil, "the answer has no forecast"
  end
  return { current = readCurrent(json), days = readDays(json) }
end

-- Why a request failed, and whether another try could help. Open-Meteo explains a refusal in `reason`.
function openmeteo.failure(response)
  local json = response.json
  local reason = type(json) == "table" and type(json.reason) == "string" and json.reason or nil
  local again = response.status < 400 or response.status == 429 or response.status >= 500
  return reason and ("HTTP " .. response.status .. ": " .. reason) or response.err or "no answer", again
end

return openmeteo
