-- How often a rule may run: never within its pause, and so many times a minute.

local limit = {}

-- `now` answers seconds.
function limit.new(rule, now)
  local runs = {}
  local self = {}

  -- Whether it may run now, which then counts; else false, and "pause" or "perMinute".
  function self.take()
    local time = now()
    while runs[1] and time - runs[1] >= 60 do
      table.remove(runs, 1)
    end
    if self.last and time - self.last < rule.pause then
      return false, "pause"
    elseif #runs >= rule.perMinute then
      return false, "perMinute"
    end
    runs[#runs + 1] = time
    self.last = time
    return true
  end

  return self
end

return limit
