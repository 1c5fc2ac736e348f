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

-- Whether a count that was kept on one date starts over on another. A count without a date is new. `lookedOn`: the date at
-- the last look, nil for the first one. A clock that goes back (a host without a battery begins in 1970) makes no new day, and
-- neither does one that comes back to the date of the count.
function tally.isStale(keptOn, today, daily, lookedOn)
  return daily and keptOn ~= nil and keptOn ~= today and today > (lookedOn or keptOn)
end

return tally
