-- A limit with a memory: a value that trembles around it does not make the state tremble.

local hysteresis = {}

-- The next state ("above" or "below") after `state` (nil at first), for a value, a limit and the width of the
-- band under the limit in which the state stays what it was.
function hysteresis.next(state, value, limit, width)
  if value >= limit then
    return "above"
  end
  if value < limit - width then
    return "below"
  end
  -- Within the band. Without a past the limit alone decides, and the value is under it.
  return state or "below"
end

return hysteresis
