-- Finds a value in decoded JSON by a path such as `climate.temperature` or `rooms[0].power`. A leading `$` or
-- `$.` is allowed. Indexes count from 0, as in JSONPath; Lua's tables count from 1.

local jsonpath = {}

-- The steps of a path, or nil and what is wrong with it. The empty path has no steps: the whole value.
function jsonpath.parse(path)
  local rest = path:gsub("^%$%.?", "")
  local steps = {}
  while rest ~= "" do
    local name, afterName = rest:match("^([^.%[%]]+)(.*)$")
    local index, afterIndex = rest:match("^%[(%d+)%](.*)$")
    if name then
      steps[#steps + 1] = name
      rest = afterName
    elseif index then
      steps[#steps + 1] = tonumber(index) + 1
      rest = afterIndex
    else
      return nil, "cannot read the path '" .. path .. "' from '" .. rest .. "' on"
    end
    -- A dot only separates: it must have something behind it.
    if rest:sub(1, 1) == "." and #rest > 1 then
      rest = rest:sub(2)
    elseif rest:match("^[^%[]") then
      return nil, "cannot read the path '" .. path .. "' from '" .. rest .. "' on"
    end
  end
  return steps
end

-- The value at the end of the steps, or nil when the way there is missing.
function jsonpath.find(value, steps)
  for _, step in ipairs(steps) do
    if type(value) ~= "table" then
      return nil
    end
    value = value[step]
  end
  return value
end

return jsonpath
