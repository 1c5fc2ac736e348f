-- Where the sun stands, by the solar equations that NOAA publishes (after Meeus, "Astronomical Algorithms").
-- Good to a few hundredths of a degree between 1900 and 2100. Times are Unix times in seconds, angles are
-- degrees; east and north are positive. Nothing in here knows the present time.

local solar = {}

-- At sunrise the centre of the disc is 16' below the horizon, and the air lifts its image by about 34'.
solar.horizon = -0.833

local halfDay = 43200

local function sin(degrees)
  return math.sin(math.rad(degrees))
end

local function cos(degrees)
  return math.cos(math.rad(degrees))
end

local function tan(degrees)
  return math.tan(math.rad(degrees))
end

-- Julian centuries since noon of 1 January 2000.
local function centuries(time)
  return (time / 86400 + 2440587.5 - 2451545) / 36525
end

-- Declination (degrees), and by how many minutes a sundial is ahead of a clock (the equation of time).
local function orbit(time)
  local t = centuries(time)
  local meanLongitude = (280.46646 + t * (36000.76983 + t * 0.0003032)) % 360
  local anomaly = 357.52911 + t * (35999.05029 - t * 0.0001537)
  local eccentricity = 0.016708634 - t * (0.000042037 + t * 0.0000001267)
  local centre = sin(anomaly) * (1.914602 - t * (0.004817 + t * 0.000014))
    + sin(2 * anomaly) * (0.019993 - t * 0.000101)
    + sin(3 * anomaly) * 0.000289
  local node = 125.04 - 1934.136 * t
  -- Apparent longitude: with aberration and the larger part of nutation.
  local longitude = meanLongitude + centre - 0.00569 - 0.00478 * sin(node)
  local seconds = 21.448 - t * (46.815 + t * (0.00059 - t * 0.001813))
  local obliquity = 23 + (26 + seconds / 60) / 60 + 0.00256 * cos(node)

  local declination = math.deg(math.asin(sin(obliquity) * sin(longitude)))
  local y = tan(obliquity / 2) ^ 2
  local equation = 4 * math.deg(
    y * sin(2 * meanLongitude)
      - 2 * eccentricity * sin(anomaly)
      + 4 * eccentricity * y * sin(anomaly) * cos(2 * meanLongitude)
      - 0.5 * y * y * sin(4 * meanLongitude)
      - 1.25 * eccentricity * eccentricity * sin(2 * anomaly)
  )
  return declination, equation
end

-- What a sundial shows: minutes since midnight, 720 when the sun is due south (or north).
local function sundial(time, longitude, equation)
  return (time % 86400 / 60 + equation + 4 * longitude) % 1440
end

-- How much the air lifts the sun, in degrees.
local function refraction(elevation)
  local arcSeconds
  if elevation > 85 then
    arcSeconds = 0
  elseif elevation > 5 then
    local tangent = tan(elevation)
    arcSeconds = 58.1 / tangent - 0.07 / tangent ^ 3 + 0.000086 / tangent ^ 5
  elseif elevation > -0.575 then
    arcSeconds = 1735 + elevation * (-518.2 + elevation * (103.4 + elevation * (-12.79 + elevation * 0.711)))
  else
    arcSeconds = -20.774 / tan(elevation)
  end
  return arcSeconds / 3600
end

-- Position of the sun: `elevation` as it is seen, `trueElevation` without the air's part, and `azimuth`
-- clockwise from north.
function solar.position(time, latitude, longitude)
  local declination, equation = orbit(time)
  local hourAngle = sundial(time, longitude, equation) / 4 - 180
  local height = sin(latitude) * sin(declination) + cos(latitude) * cos(declination) * cos(hourAngle)
  -- Rounding may carry the sine a hair beyond 1 when the sun is overhead.
  local trueElevation = math.deg(math.asin(math.max(-1, math.min(1, height))))
  local southward = cos(hourAngle) * sin(latitude) * cos(declination) - sin(declination) * cos(latitude)
  local azimuth = math.deg(math.atan(sin(hourAngle) * cos(declination), southward)) + 180
  return {
    elevation = trueElevation + refraction(trueElevation),
    trueElevation = trueElevation,
    azimuth = azimuth % 360,
  }
end

function solar.declination(time)
  return (orbit(time))
end

-- Whether the upper edge of the sun is above the horizon.
function solar.isUp(time, latitude, longitude)
  return solar.position(time, latitude, longitude).trueElevation >= solar.horizon
end

-- The solar noon nearest to a time.
function solar.noon(reference, longitude)
  local time = reference
  -- The equation of time belongs to the noon that is sought, hence the second round.
  for _ = 1, 2 do
    local _, equation = orbit(time)
    time = time + (720 - sundial(time, longitude, equation)) * 60
  end
  return time
end

-- The moment between `dark` and `bright` at which the sun crosses the horizon, or nil when it does not.
local function crossing(dark, bright, latitude, longitude)
  if solar.isUp(dark, latitude, longitude) or not solar.isUp(bright, latitude, longitude) then
    return nil
  end
  while math.abs(bright - dark) > 0.5 do
    local middle = (dark + bright) / 2
    if solar.isUp(middle, latitude, longitude) then
      bright = middle
    else
      dark = middle
    end
  end
  return bright
end

-- The solar day whose noon is nearest to `reference`: `noon`, and `sunrise` and `sunset` where there are any.
-- `polar` is "day" when the sun does not set and "night" when it does not rise, else nil.
function solar.day(reference, latitude, longitude)
  local noon = solar.noon(reference, longitude)
  local day = {
    noon = noon,
    sunrise = crossing(noon - halfDay, noon, latitude, longitude),
    sunset = crossing(noon + halfDay, noon, latitude, longitude),
  }
  if not day.sunrise and not day.sunset then
    day.polar = solar.isUp(noon, latitude, longitude) and "day" or "night"
  end
  return day
end

return solar
