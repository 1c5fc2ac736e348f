-- Asks devices for what is not known of them, one after the other: all at once would keep the network busy.

local reading = {}

local pause = 250

-- What is sent to `/get` for these points, or nil when there is nothing to ask for.
function reading.question(points, state)
  local question
  for _, point in ipairs(points) do
    local isWanted = point.gettable and point.category == nil
    if isWanted and (state == nil or state[point.property] == nil) then
      question = question or {}
      if point.fields then
        local parts = {}
        for name in pairs(point.fields) do
          parts[name] = ""
        end
        question[point.property] = parts
      else
        question[point.property] = ""
      end
    end
  end
  return question
end

-- `timers` has after(milliseconds, run); `send(record, question)` asks.
function reading.queue(timers, send)
  local waiting, running = {}, false
  local function next()
    local entry = table.remove(waiting, 1)
    if entry == nil then
      running = false
      return
    end
    send(entry.record, entry.question)
    timers.after(pause, next)
  end
  return function(record, question)
    waiting[#waiting + 1] = { record = record, question = question }
    if not running then
      running = true
      next()
    end
  end
end

return reading
