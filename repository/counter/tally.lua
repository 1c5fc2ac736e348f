-- The arithmetic of the counter.

local tally = {}

-- The range of the control `count` in plugin.json.
tally.least = 0
tally.most = 1000000000

-- The nearest count within the range.
function tally.clamp(count)
  return math.max(tally.least, math.min(tally.most, count))
end

function tally.add(count, step)
  return tally.clamp(count + step)
end

-- Whether a count that was kept on one date starts over on another. A count without a date is new.
function tally.isStale(keptOn, today, daily)
  return daily and keptOn ~= nil and keptOn ~= today
end

return tally
