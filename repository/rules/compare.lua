-- Compares what others tell with the text of a setting.

local compare = {}

local words = {
  ["true"] = true, on = true, yes = true, ["1"] = true,
  ["false"] = false, off = false, no = false, ["0"] = false,
}

-- Decimal only: to a setting 0x10 is a text.
local function numberOf(value)
  if type(value) == "string" and value:find("[xX]") then
    return nil
  end
  return (type(value) == "number" or type(value) == "string") and tonumber(value) or nil
end

local function isEqual(value, wanted)
  if type(value) == "boolean" then
    return words[wanted:lower()] == value
  end
  local number = numberOf(wanted)
  if number ~= nil and numberOf(value) ~= nil then
    return numberOf(value) == number
  end
  return type(value) ~= "table" and tostring(value) == wanted
end

local function contains(value, wanted)
  if type(value) ~= "table" then
    return tostring(value):find(wanted, 1, true) ~= nil
  end
  for _, element in ipairs(value) do
    if isEqual(element, wanted) then
      return true
    end
  end
  return false
end

local tests = {
  changes = function()
    return true
  end,
  equal = isEqual,
  ["not equal"] = function(value, wanted)
    return not isEqual(value, wanted)
  end,
  above = function(value, wanted)
    local number = numberOf(value)
    return number ~= nil and number > numberOf(wanted)
  end,
  below = function(value, wanted)
    local number = numberOf(value)
    return number ~= nil and number < numberOf(wanted)
  end,
  contains = contains,
}

-- What is wrong with a comparison, or nil.
function compare.problem(is, wanted)
  if tests[is] == nil then
    return "'" .. tostring(is) .. "' is no comparison"
  end
  if (is == "above" or is == "below") and numberOf(wanted) == nil then
    return is .. " needs a number, not '" .. wanted .. "'"
  end
  if is == "contains" and wanted == "" then
    return "contains needs a value"
  end
  return nil
end

-- Whether a value (nil: there is none) is as the comparison wants it.
function compare.holds(is, value, wanted)
  return value ~= nil and tests[is](value, wanted)
end

-- Whether two values are the same, tables by what they hold.
function compare.same(one, other)
  if type(one) ~= "table" or type(other) ~= "table" then
    return one == other
  end
  for key, value in pairs(one) do
    if not compare.same(value, other[key]) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

-- The text of a setting as the type of what a control holds now.
function compare.like(present, text)
  if type(present) == "boolean" then
    return words[text:lower()]
  end
  if type(present) == "number" then
    return numberOf(text)
  end
  if present == nil and (text == "true" or text == "false") then
    return text == "true"
  end
  return present == nil and numberOf(text) or text
end

return compare
