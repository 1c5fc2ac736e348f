-- What a rule makes of a payload.

local transform = {}

local function rename(object, names)
  local renamed = {}
  for key, value in pairs(object) do
    if names[key] == nil then
      renamed[key] = value
    end
  end
  -- After the others: when a new name is taken already, the renamed member wins.
  for old, new in pairs(names) do
    if object[old] ~= nil then
      renamed[new] = object[old]
    end
  end
  return renamed
end

-- The text that MQTT carries.
local function toText(value, json)
  if type(value) == "table" then
    return json.encode(value)
  end
  return tostring(value)
end

-- The new payload, or nil and why there is none. `json` has `decode(text)` and `encode(value)`.
function transform.apply(rule, payload, json)
  local isNumeric = rule.scale ~= 1 or rule.offset ~= 0 or rule.round ~= nil
  -- An empty payload deletes a retained message; that is passed on whatever the rule does with values.
  if payload == "" or not (rule.path or rule.rename or isNumeric) then
    return payload
  end

  local value = payload
  if rule.path or rule.rename then
    local document, problem = json.decode(payload)
    if document == nil then
      return nil, "the payload is not JSON: " .. (problem or "null")
    end
    value = jsonpath.get(document, rule.path or "")
    if value == nil then
      return nil, "the payload has nothing at this path"
    end
  end
  if rule.rename then
    if type(value) ~= "table" then
      return nil, "rename needs a JSON object"
    end
    value = rename(value, rule.rename)
  end
  if isNumeric then
    if tonumber(value) == nil then
      return nil, "scale, offset and round need a number"
    end
    value = numbers.scale(value, rule)
  end
  return toText(value, json)
end

return transform
