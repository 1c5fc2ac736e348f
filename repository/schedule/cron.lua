-- Cron expressions: `minute hour day-of-month month weekday`. Nothing in here waits, so it can be tested with any
-- time.

local cron = {}

local months = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12 }
local weekdays = { sun = 0, mon = 1, tue = 2, wed = 3, thu = 4, fri = 5, sat = 6 }

local fields = {
  { name = "minute", least = 0, most = 59 },
  { name = "hour", least = 0, most = 23 },
  { name = "day", least = 1, most = 31 },
  { name = "month", least = 1, most = 12, words = months },
  -- 7 is Sunday too.
  { name = "weekday", least = 0, most = 7, words = weekdays },
}

local shorthands = {
  ["@hourly"] = "0 * * * *",
  ["@daily"] = "0 0 * * *",
  ["@midnight"] = "0 0 * * *",
  ["@weekly"] = "0 0 * * 0",
  ["@monthly"] = "0 0 1 * *",
  ["@yearly"] = "0 0 1 1 *",
  ["@annually"] = "0 0 1 1 *",
}

-- The 29th of February comes again after eight years at most (days).
local farthest = 8 * 366

local function readNumber(field, text)
  local number = field.words and field.words[text:lower()]
  if number == nil and text:match("^%d+$") then
    number = tonumber(text)
  end
  if number == nil or number < field.least or number > field.most then
    return nil
  end
  return number
end

-- `*`, `5`, `1-5`, each also with `/2`: first, last and step, or nil.
local function readPart(field, part)
  local range, step = part:match("^(.-)/(%d+)$")
  range = range or part
  local every = tonumber(step or 1)
  if every < 1 then
    return nil
  end
  if range == "*" then
    return field.least, field.most, every
  end
  local from, to = range:match("^(%w+)-(%w+)$")
  if from then
    local first, last = readNumber(field, from), readNumber(field, to)
    if first and last and first <= last then
      return first, last, every
    end
    return nil
  end
  local only = readNumber(field, range)
  -- `5/15` is every 15 from 5 on.
  return only, step and field.most or only, every
end

-- The set of numbers that a field stands for; nil and a message when it cannot be read.
local function readField(field, text)
  local set = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local first, last, every = readPart(field, part)
    if first == nil then
      return nil, field.name .. " '" .. text .. "' cannot be read"
    end
    for number = first, last, every do
      set[number] = true
    end
  end
  return set
end

-- Reads an expression. Answers nil and what is wrong with it.
function cron.parse(expression)
  local text = shorthands[expression:lower()] or expression
  local words = {}
  for word in text:gmatch("%S+") do
    words[#words + 1] = word
  end
  if #words ~= #fields then
    return nil, "'" .. expression .. "' has " .. #words .. " parts instead of minute, hour, day, month and weekday"
  end
  local schedule = {}
  for index, field in ipairs(fields) do
    local set, problem = readField(field, words[index])
    if set == nil then
      return nil, problem
    end
    schedule[field.name] = set
  end
  schedule.weekday[0] = schedule.weekday[0] or schedule.weekday[7]
  -- A star leaves the choice to the other one; when both are named either will do.
  schedule.anyDay = words[3]:sub(1, 1) == "*"
  schedule.anyWeekday = words[5]:sub(1, 1) == "*"
  return schedule
end

local function matchesDay(schedule, parts)
  if not schedule.month[parts.month] then
    return false
  end
  local day = schedule.day[parts.day] == true
  local weekday = schedule.weekday[parts.wday - 1] == true
  if schedule.anyDay or schedule.anyWeekday then
    return day and weekday
  end
  return day or weekday
end

-- Seconds since the epoch of a local time. One that is left out as summer time begins is when the clock jumps over it.
local function localTime(day, hour, minute)
  local time = os.time({ year = day.year, month = day.month, day = day.day, hour = hour, min = minute, sec = 0 })
  local parts = os.date("*t", time)
  if parts.hour == hour and parts.min == minute then
    return time
  end
  -- What `os.time` makes of it is as much later as the clock jumps.
  repeat
    time = time - 60
    parts = os.date("*t", time)
  until parts.day ~= day.day or parts.hour * 60 + parts.min < hour * 60 + minute
  return time + 60
end

-- The first time of that day, from an hour on, which is later than `now`, or nil.
local function firstOfDay(schedule, day, fromHour, now)
  for hour = fromHour, 23 do
    if schedule.hour[hour] then
      for minute = 0, 59 do
        local time = schedule.minute[minute] and localTime(day, hour, minute)
        if time and time > now then
          return time
        end
      end
    end
  end
  return nil
end

-- The next time (Unix, seconds) after `now`, host time; nil when it never comes, as the 31st of February.
function cron.next(schedule, now)
  local today = os.date("*t", now)
  for ahead = 0, farthest do
    -- Noon is there on every day, whatever summer time does.
    local noon = os.time({ year = today.year, month = today.month, day = today.day + ahead, hour = 12 })
    local day = os.date("*t", noon)
    local time = matchesDay(schedule, day) and firstOfDay(schedule, day, ahead == 0 and today.hour or 0, now)
    if time then
      return time
    end
  end
  return nil
end

return cron
