-- Lights, covers, locks, thermostats and fans, as `expose` takes them: each answers the value of a feature from the
-- state of its device, and what is sent to set one. Pure; what cannot be set raises why not.

local values = require("values")

local things = {}

local function round(number)
  return math.floor(number + 0.5)
end

local function within(point, number)
  if point.min and number < point.min then
    return point.min
  elseif point.max and number > point.max then
    return point.max
  end
  return number
end

local function listOf(point, known)
  local list = {}
  for _, value in ipairs(point and point.values or {}) do
    if known == nil or known[value] then
      list[#list + 1] = tostring(value)
    end
  end
  return #list > 0 and list or nil
end

-- A thing under construction: `feature(name, point, get, set)` adds what it can do.
local function builder(type)
  local thing = { type = type, features = {}, properties = {}, options = {}, getters = {}, setters = {} }
  function thing.feature(name, point, get, set)
    thing.features[#thing.features + 1] = name
    thing.properties[point.property] = true
    thing.getters[name] = point.readable and get or nil
    thing.setters[name] = point.settable and set or nil
  end
  -- As the point itself has it.
  function thing.plain(name, point)
    if point then
      thing.feature(name, point, function(state)
        return values.decode(point, state[point.property])
      end, function(value)
        return { [point.property] = values.encode(point, value) }
      end)
    end
  end
  return thing
end

-- Red, green and blue, 0 to 255, of a hue in degrees and a saturation in percent, at full brightness.
local function rgbOf(hue, saturation)
  local parts, full = {}, saturation / 100
  for index, offset in ipairs({ 5, 3, 1 }) do
    local k = (offset + hue / 60) % 6
    parts[index] = string.format("%d", round(255 * (1 - full * math.max(0, math.min(k, 4 - k, 1)))))
  end
  return table.concat(parts, ",")
end

local function numbersIn(text, count)
  local numbers = {}
  for part in tostring(text):gmatch("[^,]+") do
    numbers[#numbers + 1] = tonumber(part)
  end
  if #numbers ~= count then
    error("'" .. tostring(text) .. "' are not " .. count .. " numbers with commas between them", 0)
  end
  return numbers
end

local make = {}

function make.light(read, effect)
  local features = read.features
  local thing = builder("light")
  thing.plain("state", features.state)
  local brightness, warmth, colour = features.brightness, features.color_temp, features[read.colour or ""]
  if brightness then
    thing.options.max = brightness.max or 254
    thing.feature("brightness", brightness, function(state)
      return tonumber(state[brightness.property])
    end, function(value)
      return { [brightness.property] = within(brightness, round(value)) }
    end)
  end
  -- Of two ways to say a colour only the one that counts is told.
  local modeProperty = "color_mode" .. (read.endpoint and "_" .. read.endpoint or "")
  local function shows(state, mode)
    local present = state[modeProperty]
    return present == nil or (present == "color_temp") == (mode == "color_temp")
  end
  if warmth then
    thing.feature("color_temp", warmth, function(state)
      return shows(state, "color_temp") and tonumber(state[warmth.property]) or nil
    end, function(value)
      return { [warmth.property] = within(warmth, round(value)) }
    end)
  end
  if colour and colour.name == "color_xy" then
    thing.feature("xy", colour, function(state)
      local present = state[colour.property]
      if type(present) == "table" and present.x and present.y and shows(state, "xy") then
        return tostring(present.x) .. "," .. tostring(present.y)
      end
      return nil
    end, function(value)
      local numbers = numbersIn(value, 2)
      return { [colour.property] = { x = numbers[1], y = numbers[2] } }
    end)
  elseif colour then
    thing.feature("color", colour, function(state)
      local present = state[colour.property]
      if type(present) == "table" and present.hue and present.saturation and shows(state, "hs") then
        return rgbOf(present.hue, present.saturation)
      end
      return nil
    end, function(value)
      local numbers = numbersIn(value, 3)
      return { [colour.property] = { r = numbers[1], g = numbers[2], b = numbers[3] } }
    end)
  end
  if effect and effect.settable then
    thing.options.effects = listOf(effect)
    thing.plain("effect", effect)
  end
  return thing
end

function make.cover(read)
  local state, position, tilt = read.features.state, read.features.position, read.features.tilt
  local thing = builder("cover")
  if state then
    local words = { open = state.on or "OPEN", close = state.off or "CLOSE", stop = "STOP" }
    thing.feature("state", state, function(present)
      local raw = present[state.property]
      if raw == words.open then
        return "open"
      end
      return raw == words.close and "closed" or nil
    end, function(value)
      if words[value] == nil then
        error("a cover can open, close and stop", 0)
      end
      return { [state.property] = words[value] }
    end)
  end
  thing.plain("position", position)
  thing.plain("tilt", tilt)
  return thing
end

function make.lock(read)
  local state, told = read.features.state, read.features.lock_state
  local thing = builder("lock")
  if state == nil then
    return thing
  end
  local states = { locked = "locked", unlocked = "unlocked", not_fully_locked = "jammed" }
  thing.feature("state", state, function(present)
    local known = told and states[present[told.property]]
    if known then
      return known
    end
    local locked = values.decode(state, present[state.property])
    if locked == nil then
      return nil
    end
    return locked and "locked" or "unlocked"
  end, function(value)
    if value == "open" then
      error("this lock cannot be opened, only unlocked", 0)
    end
    if value == "lock" then
      return { [state.property] = state.on }
    end
    return { [state.property] = state.off }
  end)
  if told then
    thing.properties[told.property] = true
  end
  return thing
end

local climateModes = { off = true, heat = true, cool = true, auto = true, dry = true, fan_only = true, heat_cool = true }
local climateActions =
  { idle = "idle", heat = "heating", cool = "cooling", fan_only = "fan", dry = "drying", off = "off" }

function make.climate(read)
  local features = read.features
  local thing = builder("climate")
  local heating = features.occupied_heating_setpoint or features.current_heating_setpoint
  local cooling = features.occupied_cooling_setpoint
  local target = heating or cooling
  if target then
    thing.options.min, thing.options.max, thing.options.step = target.min, target.max, target.step
    thing.options.unit = target.unit
  end
  if heating and cooling then
    thing.plain("target_temperature_low", heating)
    thing.plain("target_temperature_high", cooling)
  elseif target then
    thing.plain("target_temperature", target)
  end
  thing.plain("current_temperature", features.local_temperature)
  local mode = features.system_mode
  thing.options.modes = listOf(mode, climateModes)
  if thing.options.modes then
    thing.plain("mode", mode)
  end
  local action = features.running_state
  if action then
    thing.feature("action", action, function(state)
      return climateActions[state[action.property]]
    end)
  end
  local fan = features.fan_mode or features.mode
  thing.options.fanModes = listOf(fan)
  thing.plain("fan_mode", fan)
  thing.options.presets = listOf(features.preset)
  thing.plain("preset_mode", features.preset)
  thing.options.swingModes = listOf(features.swing_mode)
  thing.plain("swing_mode", features.swing_mode)
  return thing
end

function make.fan(read)
  local state, mode, speed = read.features.state, read.features.mode, read.features.speed
  local thing = builder("fan")
  if state then
    thing.plain("state", state)
  elseif mode then
    -- It is off in one of its modes.
    thing.feature("state", mode, function(present)
      local raw = present[mode.property]
      if raw == nil then
        return nil
      end
      return raw ~= "off"
    end, function(on)
      return { [mode.property] = values.encode(mode, on and "on" or "off") }
    end)
  end
  if speed then
    thing.options.max = speed.max
    thing.plain("speed", speed)
  end
  if mode then
    thing.options.options = listOf(mode)
    thing.plain("preset_mode", mode)
  end
  return thing
end

-- A thing, or nil for what has no form of its own: its points are shown each for itself then.
function things.make(read, effect)
  local maker = make[read.type]
  local thing = maker and maker(read, effect)
  return thing and #thing.features > 0 and thing or nil
end

return things
