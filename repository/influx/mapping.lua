-- Reads the mapping as the user wrote it (README.md has the syntax).

local mapping = {}

local types = { number = true, integer = true, boolean = true, text = true }

-- `name:value,name:value` as a list of pairs; a name alone stands for itself as value, where that is allowed.
local function readPairs(text, mayStandAlone)
  local list = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local name, value = part:match("^([^:]+):(.+)$")
    if name == nil and mayStandAlone and part ~= "" and not part:find(":", 1, true) then
      name, value = part, part
    end
    if name == nil then
      return nil
    end
    list[#list + 1] = { name, value }
  end
  return list
end

local function readTags(text)
  local list = readPairs(text, false)
  if list == nil then
    return nil, "is not a list such as room:$1,kind:power"
  end
  return list
end

-- A path into the payload; the empty one is all of it.
local function readPath(text)
  local _, problem = jsonpath.get({}, text)
  if problem then
    return nil, problem
  end
  return text == "$" and "" or text
end

-- Each field has a path into the payload.
local function readFields(text)
  local list = readPairs(text, true)
  if list == nil then
    return nil, "is not a list such as temperature,humidity or path:field"
  end
  local fields = {}
  for position, pair in ipairs(list) do
    local path, problem = readPath(pair[1])
    if path == nil then
      return nil, ": " .. problem
    end
    fields[position] = { path = path, name = pair[2] }
  end
  return fields
end

local function readName(text)
  if text == "" then
    return nil, "is empty"
  end
  return text
end

local function readType(text)
  if types[text] then
    return text
  end
  return nil, "is not number, integer, boolean or text"
end

-- Each option reads its text, or answers nil and what is wrong with it.
local options = { tags = readTags, fields = readFields, field = readName, path = readPath, type = readType }

local function readOption(rule, word)
  local name, text = word:match("^(%a+)=(.*)$")
  local read = name and options[name]
  if not read then
    return "'" .. word .. "' is not an option; there are tags= field= path= fields= and type="
  end
  local value, problem = read(text)
  if value == nil then
    return name .. "=" .. text .. " " .. problem
  end
  rule[name] = value
  return nil
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

-- One rule { filter, measurement, tags, fields }, or nil and what is wrong with the line. Without `fields=` there is
-- one field, at `path`; without either the whole payload.
function mapping.parseLine(line)
  local words = {}
  for word in line:gmatch("%S+") do
    words[#words + 1] = word
  end
  if #words < 3 or words[2] ~= "->" then
    return nil, "expected: topic/filter -> measurement [options]"
  end
  local rule = { filter = words[1], measurement = words[3], tags = {}, type = "number" }
  local problem = filterProblem(rule.filter)
  for position = 4, #words do
    problem = problem or readOption(rule, words[position])
  end
  if not problem and rule.fields and (rule.field or rule.path) then
    problem = "fields= stands alone: it has paths and names of its own"
  end
  if problem then
    return nil, problem
  end
  rule.fields = rule.fields or { { path = rule.path or "", name = rule.field or "value" } }
  rule.path, rule.field = nil, nil
  return rule
end

-- All rules of a text, and the lines that are none as { line, text, message }.
function mapping.parse(text)
  -- A form with one-line fields has no line breaks: there `;` takes their place.
  local separator = text:find("\n", 1, true) and "\n" or ";"
  local rules, refused = {}, {}
  local number = 0
  for line in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    number = number + 1
    local trimmed = line:match("^%s*(.-)%s*$")
    if trimmed ~= "" and trimmed:sub(1, 1) ~= "#" then
      local rule, message = mapping.parseLine(trimmed)
      if rule then
        rule.line = number
        rules[#rules + 1] = rule
      else
        refused[#refused + 1] = { line = number, text = trimmed, message = message }
      end
    end
  end
  return rules, refused
end

return mapping
