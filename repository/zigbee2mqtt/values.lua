-- Values as Zigbee2MQTT writes them, and as sensors and controls have them. Pure; what cannot be set raises why not.

local values = {}

local words = { on = true, ["true"] = true, yes = true, ["1"] = true, off = false, ["false"] = false, no = false, ["0"] = false }

local function same(raw, word)
  return raw == word or (raw ~= nil and tostring(raw):lower() == tostring(word):lower())
end

local decode = {}

function decode.binary(point, raw)
  if raw == point.on then
    return true
  elseif raw == point.off then
    return false
  end
  return nil
end

function decode.numeric(_, raw)
  return tonumber(raw)
end

function decode.enum(_, raw)
  return type(raw) ~= "table" and raw ~= nil and tostring(raw) or nil
end

decode.text = decode.enum

-- The value of a point; nil when there is none that it understands.
function values.decode(point, raw)
  local read = decode[point.kind]
  if read then
    return read(point, raw)
  end
  return raw
end

local encode = {}

function encode.binary(point, value)
  if same(value, point.on) then
    return point.on
  elseif same(value, point.off) then
    return point.off
  elseif point.toggle ~= nil and same(value, point.toggle) then
    return point.toggle
  end
  local word = words[tostring(value):lower()]
  if word == nil then
    error(point.label .. " is on or off, not " .. tostring(value), 0)
  end
  if word then
    return point.on
  end
  return point.off
end

function encode.numeric(point, value)
  for _, preset in ipairs(point.presets or {}) do
    if preset.name == value then
      return preset.value
    end
  end
  local number = type(value) ~= "table" and tonumber(value) or nil
  if number == nil then
    error(point.label .. " is a number, not " .. tostring(value), 0)
  elseif (point.min and number < point.min) or (point.max and number > point.max) then
    -- A preset may lie outside.
    for _, preset in ipairs(point.presets or {}) do
      if preset.value == number then
        return number
      end
    end
    error(point.label .. " goes from " .. tostring(point.min or "any") .. " to " .. tostring(point.max or "any"), 0)
  end
  return number
end

function encode.enum(point, value)
  for _, known in ipairs(point.values) do
    if same(value, known) then
      return known
    end
  end
  error(point.label .. " has no '" .. tostring(value) .. "'", 0)
end

function encode.text(point, value)
  if type(value) == "table" then
    error(point.label .. " is a text", 0)
  end
  return tostring(value)
end

function encode.composite(point, value)
  if type(value) ~= "table" then
    error(point.label .. " is an object, as JSON", 0)
  end
  local result = {}
  for name, part in pairs(value) do
    local field = point.fields[name]
    if field == nil then
      error(point.label .. " has no '" .. tostring(name) .. "'", 0)
    end
    result[name] = values.encode(field, part)
  end
  return result
end

function encode.list(point, value)
  if type(value) ~= "table" then
    error(point.label .. " is a list, as JSON", 0)
  end
  local count = #value
  if count == 0 and not point.fewest then
    return value
  end
  if (point.fewest and count < point.fewest) or (point.most and count > point.most) then
    error(point.label .. " has " .. tostring(point.fewest or 0) .. " to " .. tostring(point.most or "any") .. " entries", 0)
  end
  local result = {}
  for index, item in ipairs(value) do
    result[index] = point.item and values.encode(point.item, item) or item
  end
  return result
end

-- What a point is set to, as Zigbee2MQTT takes it.
function values.encode(point, value)
  if value == nil then
    error(point.label .. " needs a value", 0)
  end
  local write = encode[point.kind]
  if write == nil then
    return value
  end
  return write(point, value)
end

-- The preset that a number is, by name.
function values.presetOf(point, raw)
  for _, preset in ipairs(point.presets or {}) do
    if preset.value == raw then
      return preset.name
    end
  end
  return nil
end

return values
