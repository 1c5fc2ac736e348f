-- Turns one message into the tags and fields of a point, as a rule says.


local points = {}

local words = { ["true"] = true, on = true, yes = true, ["false"] = false, off = false, no = false }

-- On or off of a value that says so; nil of any other.
local function asBoolean(value)
  local number = tonumber(value)
  if number then
    return number ~= 0
  end
  if type(value) == "string" then
    return words[value:lower()]
  end
  if type(value) == "boolean" then
    return value
  end
  return nil
end

local function asNumber(value)
  local number = tonumber(value)
  if number then
    return number
  end
  -- A switch is drawn as 0 and 1.
  local on = asBoolean(value)
  if on == nil then
    return nil
  end
  return on and 1 or 0
end

local converters = {
  number = asNumber,
  integer = function(value)
    local number = asNumber(value)
    return number and { integer = math.floor(number + 0.5) } or nil
  end,
  boolean = asBoolean,
  text = function(value)
    return type(value) ~= "table" and value ~= nil and tostring(value) or nil
  end,
}

-- What the wildcards of a filter stood for in a topic; `#` takes the rest.
function points.wildcards(filter, topic)
  local levels, found = {}, {}
  for level in (topic .. "/"):gmatch("([^/]*)/") do
    levels[#levels + 1] = level
  end
  local position = 0
  for level in (filter .. "/"):gmatch("([^/]*)/") do
    position = position + 1
    if level == "+" then
      found[#found + 1] = levels[position]
    elseif level == "#" then
      found[#found + 1] = table.concat(levels, "/", position)
    end
  end
  return found
end

-- The tags of a message: `$1` is what the first wildcard stood for, `$topic` the whole topic.
function points.tags(rule, topic)
  local found = points.wildcards(rule.filter, topic)
  local tags = {}
  for _, pair in ipairs(rule.tags) do
    tags[pair[1]] = pair[2]:gsub("%$(%w+)", function(name)
      if name == "topic" then
        return topic
      end
      local number = tonumber(name)
      return number and (found[number] or "") or nil
    end)
  end
  return tags
end

-- The fields of a payload, or nil and why there is none. `decode` is JSON's: nil and a message for what is none.
function points.fields(rule, payload, decode)
  local document
  local fields, any = {}, false
  for _, field in ipairs(rule.fields) do
    local value = payload
    if field.path ~= "" then
      if document == nil then
        document = decode(payload)
        if document == nil then
          return nil, "the payload is not JSON"
        end
      end
      value = jsonpath.get(document, field.path)
    end
    local converted = converters[rule.type](value)
    if converted ~= nil then
      fields[field.name], any = converted, true
    end
  end
  if not any then
    return nil, "the payload has no " .. rule.type .. " where the rule looks for one"
  end
  return fields
end

return points
