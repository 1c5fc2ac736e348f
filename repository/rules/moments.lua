-- Finds the moments at which a rule is set off, in the values that it is told.

local compare = require("compare")

local moments = {}

-- `timers` has `after(milliseconds, run)` and `cancel(id)`; `occur(facts)` is called at each moment.
function moments.new(rule, timers, occur)
  -- What is known of each sensor or object, by its name.
  local states = {}
  local comparison = rule.comparison

  local function stopWaiting(state)
    timers.cancel(state.timer)
    state.timer = nil
  end

  local function begin(state)
    if rule.seconds == 0 then
      state.told = true
      occur(state.facts)
    elseif state.timer == nil then
      state.timer = timers.after(rule.seconds * 1000, function()
        state.timer = nil
        state.told = true
        occur(state.facts)
      end)
    end
  end

  -- Each other value is a moment; with a duration it has to last.
  local function change(state, isFirst)
    if not isFirst then
      stopWaiting(state)
      begin(state)
    end
  end

  -- A moment is when it begins to hold, or has held for long enough; not each value for which it holds.
  local function hold(state, isFirst, value)
    if not compare.holds(comparison.is, value, comparison.value) then
      stopWaiting(state)
      state.told = false
    elseif isFirst and rule.seconds == 0 then
      -- It has held before anybody looked.
      state.told = true
    elseif not state.told then
      begin(state)
    end
  end

  local self = {}

  -- A value of a sensor or object; `value` nil when there is none any more.
  function self.value(name, value, facts)
    local state = states[name]
    if value == nil then
      if state then
        stopWaiting(state)
      end
      -- One that is loaded anew goes on where it was. Of a `*` there may be ever others.
      if rule.source.wildcard then
        states[name] = nil
      end
      return
    end
    local isFirst = state == nil
    state = state or {}
    states[name] = state
    local isOther = isFirst or not compare.same(value, state.value)
    facts.previous = state.value
    if isOther then
      state.facts = facts
      state.value = value
    end
    if comparison.is ~= "changes" then
      hold(state, isFirst, value)
    elseif isOther then
      change(state, isFirst)
    end
  end

  -- An event is a moment by itself.
  function self.event(value, facts)
    if comparison.is == "changes" or compare.holds(comparison.is, value, comparison.value) then
      occur(facts)
    end
  end

  return self
end

return moments
