-- Follows the sun at one place: its position, sunrise and sunset.

local solar = require("solar")

local plugin = Plugin:new("sun")

local latitude, longitude, interval
-- As of the last look, and when that was; nil before the first.
local position, isUp, lookedAt
-- Today and tomorrow, worked out once a day.
local days, shownDate
local sensors = {}
-- A clock that goes on or back by more than this from one look to the next was set (seconds).
local day = 86400

local function round(value, digits)
  local factor = 10 ^ digits
  return math.floor(value * factor + 0.5) / factor
end

-- Local time of day to the nearest minute, as almanacs print it.
local function clockTime(time)
  return time and os.date("%H:%M", math.floor(time + 30))
end

-- The solar day that belongs to the calendar day of a moment: its noon is nearest to 12:00 by the clock.
local function dayOf(now)
  local date = os.date("*t", now)
  local reference = os.time({ year = date.year, month = date.month, day = date.day, hour = 12 })
  return solar.day(reference, latitude, longitude)
end

local function whole(time)
  return time and math.ceil(time)
end

local function showDay(date, today)
  plugin:upsertObject("today", {
    date = date,
    sunrise = clockTime(today.sunrise),
    sunriseAt = whole(today.sunrise),
    noon = clockTime(today.noon),
    noonAt = whole(today.noon),
    sunset = clockTime(today.sunset),
    sunsetAt = whole(today.sunset),
    polar = today.polar,
    maximumElevation = round(solar.position(today.noon, latitude, longitude).elevation, 2),
  })
end

-- Seconds until the next look: the interval, or less when the sun rises or sets before that.
local function delay(now)
  local seconds = interval
  for _, day in ipairs(days) do
    for _, time in pairs({ day.sunrise, day.sunset }) do
      -- os.time() is cut to whole seconds: only the next full one is surely past the crossing.
      local wait = math.ceil(time) - now
      if wait > 0 and wait < seconds then
        seconds = wait
      end
    end
  end
  return seconds
end

local function startDay(now, date)
  local today = dayOf(now)
  days = { today, solar.day(today.noon + day, latitude, longitude) }
  showDay(date, today)
  shownDate = date
end

local function look()
  local now = os.time()
  -- A look that is stopped in the midst, as on a machine that has no time for it, is not the last one.
  local again = plugin:setTimeout(interval * 1000, look)
  local date = os.date("%Y-%m-%d", now)
  if date ~= shownDate then
    startDay(now, date)
  end

  local isSet = lookedAt ~= nil and math.abs(now - lookedAt) > day
  lookedAt = now
  local wasUp = isUp
  isUp = solar.isUp(now, latitude, longitude)
  position = solar.position(now, latitude, longitude)
  for _, sensor in pairs(sensors) do
    sensor:notify()
  end
  -- The first look only learns how things are: a restart is no sunrise. Neither is it when the host is told the time.
  if wasUp ~= nil and isUp ~= wasUp and not isSet then
    plugin:emit(isUp and "sun:rise" or "sun:set", {
      timestamp = now,
      time = os.date("%H:%M", now),
      azimuth = round(position.azimuth, 2),
    })
  end
  plugin:clearTimer(again)
  plugin:setTimeout(delay(now) * 1000, look)
end

plugin:onInit(function(config)
  latitude, longitude, interval = config.latitude, config.longitude, config.interval
  sensors.elevation = plugin:sensor("elevation", function()
    return round(position.elevation, 2)
  end)
  sensors.azimuth = plugin:sensor("azimuth", function()
    return round(position.azimuth, 2)
  end)
  sensors.daylight = plugin:sensor("daylight", function()
    return isUp
  end)
  expose(sensors.elevation, "sensor", { name = "Elevation", unit = "°", state_class = "measurement" })
  expose(sensors.azimuth, "sensor", { name = "Azimuth", unit = "°" })
  expose(sensors.daylight, "binary_sensor", { name = "Daylight", device_class = "light" })
  look()
end)

return plugin
