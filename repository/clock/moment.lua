-- What the clock knows about a moment. Nothing in here waits or publishes, so it can be tested with any time.

local moment = {}

-- A clock that was ahead by less than this (seconds) is corrected: what was told is not told again.
local correction = 60
-- In the last second of a minute the clock looks this often (ms).
local closeLook = 100

-- os.date writes the offset as +0200; ISO 8601 with a colon is what other programs read.
local function isoText(now, utc)
  if utc then
    return os.date("!%Y-%m-%dT%H:%M:%SZ", now)
  end
  return (os.date("%Y-%m-%dT%H:%M:%S%z", now):gsub("(%d%d)(%d%d)$", "%1:%2"))
end

-- The parts of a Unix time (seconds), as the object and the events show them.
function moment.describe(now, utc)
  local mode = utc and "!" or ""
  local parts = os.date(mode .. "*t", now)
  return {
    timestamp = now,
    iso = isoText(now, utc),
    date = os.date(mode .. "%Y-%m-%d", now),
    time = os.date(mode .. "%H:%M", now),
    year = parts.year,
    month = parts.month,
    day = parts.day,
    hour = parts.hour,
    minute = parts.min,
    -- Monday is 1 and Sunday is 7, as in ISO 8601; Lua counts from Sunday.
    weekday = (parts.wday + 5) % 7 + 1,
  }
end

-- Which events lie between two descriptions, the finest first.
function moment.changes(before, after)
  local changes = {}
  local setBack = before.timestamp - after.timestamp
  if setBack > 0 and setBack < correction then
    return changes
  end
  local newDay = before.date ~= after.date
  -- When summer time ends an hour comes twice: its number stays, but the minutes start over. They go back, too, when the
  -- clock is set back, within the same hour.
  local startsOver = setBack <= 0 and after.minute < before.minute
  local newHour = newDay or before.hour ~= after.hour or startsOver
  if newHour or before.minute ~= after.minute then
    changes[#changes + 1] = "clock:minute"
  end
  if newHour then
    changes[#changes + 1] = "clock:hour"
  end
  if newDay then
    changes[#changes + 1] = "clock:day"
  end
  return changes
end

-- Milliseconds until the clock should look again. os.time() knows whole seconds only: a plain wait for the rest
-- of the minute would end up to a second late, so the last second is watched closely.
function moment.delay(now)
  local remaining = 60 - now % 60
  if remaining > 1 then
    return (remaining - 1) * 1000
  end
  return closeLook
end

return moment
