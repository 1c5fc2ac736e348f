-- Weather codes of the WMO (table 4677, as far as forecasts use it) as a word for programs and words for people.

local conditions = {}

-- Each: the code, the word, the text.
local known = {
  { 0, "clear", "Clear" },
  { 1, "partly-cloudy", "Mainly clear" },
  { 2, "partly-cloudy", "Partly cloudy" },
  { 3, "cloudy", "Overcast" },
  { 45, "fog", "Fog" },
  { 48, "fog", "Fog with rime" },
  { 51, "drizzle", "Light drizzle" },
  { 53, "drizzle", "Drizzle" },
  { 55, "drizzle", "Heavy drizzle" },
  { 56, "freezing-rain", "Light freezing drizzle" },
  { 57, "freezing-rain", "Freezing drizzle" },
  { 61, "rain", "Light rain" },
  { 63, "rain", "Rain" },
  { 65, "rain", "Heavy rain" },
  { 66, "freezing-rain", "Light freezing rain" },
  { 67, "freezing-rain", "Freezing rain" },
  { 71, "snow", "Light snow" },
  { 73, "snow", "Snow" },
  { 75, "snow", "Heavy snow" },
  { 77, "snow", "Snow grains" },
  { 80, "showers", "Light showers" },
  { 81, "showers", "Showers" },
  { 82, "showers", "Violent showers" },
  { 85, "snow-showers", "Light snow showers" },
  { 86, "snow-showers", "Snow showers" },
  { 95, "thunderstorm", "Thunderstorm" },
  { 96, "thunderstorm", "Thunderstorm with light hail" },
  { 99, "thunderstorm", "Thunderstorm with hail" },
}

local byCode = {}
for _, entry in ipairs(known) do
  byCode[entry[1]] = entry
end

-- The word and the text of a code; a code that nobody knows is "unknown".
function conditions.of(code)
  local entry = byCode[code]
  if entry == nil then
    return "unknown", "Unknown weather"
  end
  return entry[2], entry[3]
end

return conditions
