-- Milliseconds since the epoch, from a clock of whole seconds (`os.time`) and one that runs smoothly (`os.clock`).

local moments = {}

-- Where the smooth clock began, in Unix seconds: at or after every `seconds - smooth` that was seen, and less than a
-- second after it. So the highest one is the best, and soon exact to milliseconds.
function moments.new()
  local began
  return function(seconds, smooth)
    local least = seconds - smooth
    -- Further apart than that, the time of day was set anew.
    if began == nil or least > began or began - least > 1.5 then
      began = least
    end
    return math.floor((began + smooth) * 1000)
  end
end

return moments
