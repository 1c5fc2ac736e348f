-- Points as InfluxDB's line protocol: `measurement,tag=x field=1 1700000000000`.

local lineprotocol = {}

-- Names and tags are one line, and their delimiters are escaped. A backslash at the end would escape the delimiter
-- that follows, and there is no way to write it: it is left out.
local function escapeWith(delimiters)
  return function(text)
    local oneLine = text:gsub("[\r\n]+", " "):gsub("\\+$", "")
    local escaped = oneLine:gsub("[" .. delimiters .. "]", "\\%0")
    return escaped
  end
end

local escapeMeasurement = escapeWith(", ")
-- Keys of tags and fields, and values of tags.
local escapeKey = escapeWith(",= ")

local function quote(text)
  local escaped = text:gsub('[\\"]', "\\%0")
  return '"' .. escaped .. '"'
end

-- A field's value as it is written: numbers, booleans, strings, and { integer = n }. Nil for what has no place in
-- a point: NaN, infinities, tables.
function lineprotocol.value(value)
  if type(value) == "table" and type(value.integer) == "number" then
    return string.format("%d", value.integer) .. "i"
  end
  if type(value) == "number" then
    local isFinite = value == value and value ~= math.huge and value ~= -math.huge
    return isFinite and tostring(value) or nil
  end
  if type(value) == "string" then
    return quote(value)
  end
  return type(value) == "boolean" and tostring(value) or nil
end

local function sortedKeys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- One line without its line break, or nil when no field has a value. `milliseconds` is Unix time.
function lineprotocol.line(measurement, tags, fields, milliseconds)
  local name = escapeMeasurement(measurement)
  -- A line that begins with # is a comment.
  local parts = { name:sub(1, 1) == "#" and "\\" .. name or name }
  -- Sorted tags are what the database sorts them into anyway. An empty tag cannot be written.
  for _, key in ipairs(sortedKeys(tags)) do
    local value = escapeKey(tostring(tags[key]))
    if value ~= "" then
      parts[#parts + 1] = escapeKey(key) .. "=" .. value
    end
  end
  local written = {}
  for _, key in ipairs(sortedKeys(fields)) do
    local value = lineprotocol.value(fields[key])
    if value then
      written[#written + 1] = escapeKey(key) .. "=" .. value
    end
  end
  if #written == 0 then
    return nil
  end
  return table.concat(parts, ",") .. " " .. table.concat(written, ",") .. " " .. string.format("%d", milliseconds)
end

return lineprotocol
