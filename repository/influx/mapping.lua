-- Reads the rows of the setting `mapping` (README.md tells what they mean).

local mapping = {}

local function isSet(text)
  return text ~= nil and text ~= ""
end

-- What is wrong with a path into the payload, or nil.
local function pathProblem(path)
  local _, problem = jsonpath.get({}, path)
  return problem
end

-- The empty path is the whole payload.
local function pathOf(path)
  return (path == nil or path == "$") and "" or path
end

-- What is wrong with a topic filter, or nil. `+` and `#` fill a whole level, and `#` is the last one.
local function filterProblem(filter)
  local afterHash = false
  for level in (filter .. "/"):gmatch("([^/]*)/") do
    if afterHash or (level ~= "+" and level ~= "#" and level:find("[+#]")) then
      return "'" .. filter .. "' is not a topic filter: + and # stand for whole levels, # for the last ones"
    end
    afterHash = level == "#"
  end
  return nil
end

local function tagsOf(list)
  local tags = {}
  for position, tag in ipairs(list or {}) do
    tags[position] = { tag.name, tag.value }
  end
  return tags
end

-- The fields of a row, or nil and what is wrong with them.
local function fieldsOf(row)
  local list = row.fields or {}
  if #list > 0 and (isSet(row.field) or isSet(row.path)) then
    return nil, "fields stand alone: each has a path and a name of its own"
  end
  if #list == 0 then
    list = { { path = row.path or "", name = isSet(row.field) and row.field or "value" } }
  end
  local fields = {}
  for position, field in ipairs(list) do
    local problem = pathProblem(field.path)
    if problem then
      return nil, problem
    end
    fields[position] = { path = pathOf(field.path), name = isSet(field.name) and field.name or field.path }
  end
  return fields
end

-- One rule { filter, measurement, tags, fields, type }, or nil and what is wrong with the row.
function mapping.readRow(row)
  local problem = filterProblem(row.filter)
  if problem then
    return nil, problem
  end
  local fields
  fields, problem = fieldsOf(row)
  if fields == nil then
    return nil, problem
  end
  return {
    filter = row.filter,
    measurement = row.measurement,
    tags = tagsOf(row.tags),
    fields = fields,
    type = row.type or "number",
  }
end

-- All rules, each with the number of its row, and the rows that are none as { row, message }.
function mapping.read(rows)
  local rules, refused = {}, {}
  for number, row in ipairs(rows) do
    local rule, message = mapping.readRow(row)
    if rule then
      rule.row = number
      rules[#rules + 1] = rule
    else
      refused[#refused + 1] = { row = number, message = message }
    end
  end
  return rules, refused
end

return mapping
