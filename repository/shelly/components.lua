-- What the components of a Shelly are to Home Assistant. Pure: status in, descriptions and calls out.

local components = {}

-- Measures by the path in a component's status.
local measures = {
  { path = "apower", id = "power", name = "Power", unit = "W", class = "power", state = "measurement" },
  { path = "aenergy.total", id = "energy", name = "Energy", unit = "Wh", class = "energy", state = "total_increasing" },
  { path = "voltage", id = "voltage", name = "Voltage", unit = "V", class = "voltage", state = "measurement" },
  { path = "current", id = "current", name = "Current", unit = "A", class = "current", state = "measurement" },
  { path = "temperature.tC", id = "temperature", name = "Temperature", unit = "°C", class = "temperature", state = "measurement" },
  { path = "tC", id = "temperature", name = "Temperature", unit = "°C", class = "temperature", state = "measurement" },
  { path = "rh", id = "humidity", name = "Humidity", unit = "%", class = "humidity", state = "measurement" },
  { path = "total_act_power", id = "power", name = "Power", unit = "W", class = "power", state = "measurement" },
  { path = "battery.percent", id = "battery", name = "Battery", unit = "%", class = "battery", state = "measurement" },
}

components.events = { "btn_down", "btn_up", "single_push", "double_push", "triple_push", "long_push" }

local words = { switch = "Switch", light = "Light", cover = "Cover", input = "Input" }

-- `"switch:0"` gives `"switch", 0`; nil for what is no component with a number.
function components.split(key)
  local kind, number = key:match("^([a-z0-9_]+):(%d+)$")
  return kind, tonumber(number)
end

function components.read(status, path)
  return (jsonpath.get(status, path))
end

-- The measures that this status has, as `{ id, name, unit, class, state, path }`.
function components.measures(status)
  local found = {}
  for _, measure in ipairs(measures) do
    if type(components.read(status, measure.path)) == "number" then
      found[#found + 1] = measure
    end
  end
  return found
end

-- How it is shown, as `type, options`; nil: it is measured only.
function components.shown(kind, status)
  if kind == "switch" then
    return "switch", {}
  elseif kind == "light" then
    local features = status.brightness and { "state", "brightness" } or { "state" }
    return "light", { max = 100, features = features }
  elseif kind == "cover" then
    local features = status.current_pos and { "state", "position" } or { "state" }
    return "cover", { features = features }
  elseif kind == "input" and type(status.state) == "boolean" then
    return "binary_sensor", {}
  elseif kind == "input" then
    return "event", { options = components.events, device_class = "button" }
  end
end

function components.name(kind, number, configured)
  if type(configured) == "string" and configured ~= "" then
    return configured
  end
  return (words[kind] or kind) .. " " .. (number + 1)
end

function components.value(kind, status, feature)
  if kind == "light" and feature == "brightness" then
    return status.brightness
  elseif kind == "cover" and feature == "position" then
    return status.current_pos
  elseif feature ~= nil and feature ~= "state" then
    return nil
  elseif kind == "switch" or kind == "light" then
    return status.output
  end
  return status.state
end

-- The call that sets it, as `method, params`.
function components.command(kind, number, feature, value)
  if kind == "switch" then
    return "Switch.Set", { id = number, on = value == true }
  elseif kind == "light" and feature == "brightness" then
    return "Light.Set", { id = number, on = value > 0, brightness = value > 0 and math.floor(value + 0.5) or nil }
  elseif kind == "light" then
    return "Light.Set", { id = number, on = value == true }
  elseif kind == "cover" and feature == "position" then
    return "Cover.GoToPosition", { id = number, pos = math.floor(value + 0.5) }
  elseif kind == "cover" then
    local verb = value == "stop" and "Stop" or (value == true or value == "open") and "Open" or "Close"
    return "Cover." .. verb, { id = number }
  end
end

-- Puts what a notification says into what is known: tables member by member.
function components.merge(known, changes)
  for key, value in pairs(changes) do
    if type(value) == "table" and type(known[key]) == "table" and #value == 0 then
      components.merge(known[key], value)
    else
      known[key] = value
    end
  end
end

return components
