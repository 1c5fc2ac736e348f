-- The weather at one place, from Open-Meteo.

local changes = require("changes")
local openmeteo = require("openmeteo")

local plugin = Plugin:new("weather")

-- An answer takes a fraction of a second (ms); a lost one is asked for again soon, then less soon.
local requestTimeout = 15000
local attempts = 3
local backoff = 2000
-- All attempts of one round with what lies between them (ms).
local roundTimeout = 60000

-- The time of an observation moves on even when the weather stays the same.
local noWeather = { observedAt = true }

-- Each: the id, which is also the name in `current`, and how Home Assistant shows it.
local points = {
  { id = "temperature", name = "Temperature", type = "temperature" },
  { id = "feelsLike", name = "Feels like", type = "temperature", unitOf = "temperature" },
  { id = "humidity", name = "Humidity", type = "humidity" },
  { id = "pressure", name = "Air pressure", type = "sensor", class = "pressure" },
  { id = "precipitation", name = "Precipitation", type = "sensor", class = "precipitation" },
  { id = "cloudCover", name = "Cloud cover", type = "sensor", unit = "%", icon = "mdi:cloud" },
  { id = "windSpeed", name = "Wind speed", type = "sensor", class = "wind_speed" },
  { id = "windGusts", name = "Wind gusts", type = "sensor", class = "wind_speed", unitOf = "windSpeed" },
  { id = "windDirection", name = "Wind direction", type = "sensor", unit = "°", icon = "mdi:compass" },
  { id = "condition", name = "Condition", type = "text", icon = "mdi:weather-partly-cloudy" },
}

-- What Open-Meteo said last; nil before its first answer.
local current, days
local failing = false
local poller

local function succeed(answer)
  local before, forecast = current, days
  current, days = answer.current, answer.days
  plugin:upsertObject("current", current)
  plugin:upsertObject("forecast", { days = days })
  plugin:upsertObject("status", { ok = true, updatedAt = os.time() })
  for _, point in ipairs(points) do
    plugin:get(point.id):notify()
  end
  if failing then
    plugin:log("info", "Open-Meteo answers again")
    failing = false
  end

  local changed = changes.between(before or {}, current, noWeather)
  if #changed > 0 then
    plugin:emit("weather:changed", { current = current, changed = changed })
  end
  -- The first answer only tells how things are.
  if before and before.condition ~= current.condition then
    plugin:emit("weather:condition", {
      condition = current.condition,
      text = current.text,
      previous = before.condition,
    })
  end
  if not changes.same(forecast, days) then
    plugin:emit("weather:forecast", { days = days })
  end
end

-- The values stay what they were; the object says since when they are old.
local function fail(reason)
  local status = plugin:getObject("status") or {}
  plugin:upsertObject("status", { ok = false, updatedAt = status.updatedAt, error = reason })
  if not failing then
    plugin:log("warn", "No weather from Open-Meteo: " .. reason)
    plugin:emit("weather:error", { error = reason })
  end
  failing = true
end

local function ask(address, done)
  plugin:httpRequest({ url = address, timeout = requestTimeout, parseJson = "always" }, function(response)
    local answer, problem, again
    if response.ok then
      answer, problem = openmeteo.read(response.json)
      again = true
    else
      problem, again = openmeteo.failure(response)
    end
    if answer then
      succeed(answer)
      done()
    elseif again then
      done(problem)
    else
      -- A place that does not exist will not exist in two seconds either.
      fail(problem)
      done()
    end
  end)
end

local function show(point, units)
  local sensor = plugin:sensor(point.id, function()
    return current and current[point.id]
  end)
  expose(sensor, point.type, {
    name = point.name,
    unit = point.unit or units[point.unitOf or point.id],
    device_class = point.class,
    state_class = point.type ~= "text" and "measurement" or nil,
    icon = point.icon,
  })
end

-- For other plugins: Plugin.get("weather"):getTemperature()

function plugin:getCurrent()
  return current
end

function plugin:getTemperature()
  return current and current.temperature
end

-- The day so many days from today; without a number all days.
function plugin:getForecast(daysFromToday)
  if daysFromToday == nil then
    return days
  end
  return days and days[daysFromToday + 1]
end

function plugin:refresh()
  if poller then
    poller.poll()
  end
end

plugin:onInit(function(config)
  local units = openmeteo.units[config.units]
  for _, point in ipairs(points) do
    show(point, units)
  end
  plugin:upsertObject("units", units)

  local address = plugin:url(openmeteo.address, openmeteo.parameters(config))
  poller = plugin:poller("weather", {
    interval = config.interval * 1000,
    immediate = true,
    timeout = roundTimeout,
    retry = { maxAttempts = attempts, backoff = backoff },
    onTick = function(done)
      ask(address, done)
    end,
    onError = function(problem)
      fail(tostring(problem))
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
