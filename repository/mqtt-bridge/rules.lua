-- Reads the rules as the user wrote them (README.md has the syntax).

local topics = require("topics")

local rules = {}

-- Words of a line; "…" keeps blanks together. Answers nil and a message when a quotation mark is left open.
local function split(line)
  local words, position = {}, 1
  while true do
    position = line:find("%S", position)
    if position == nil then
      return words
    end
    if line:sub(position, position) == '"' then
      local last = line:find('"', position + 1, true)
      if last == nil then
        return nil, 'a closing " is missing'
      end
      words[#words + 1] = line:sub(position + 1, last - 1)
      position = last + 1
    else
      local word = line:match("^%S+", position)
      words[#words + 1] = word
      position = position + #word
    end
  end
end

local function readNumber(text)
  return tonumber(text), "is not a number"
end

local function readDigits(text)
  local digits = tonumber(text)
  if digits and digits % 1 == 0 and digits >= 0 and digits <= 10 then
    return digits
  end
  return nil, "is not a whole number from 0 to 10"
end

local function readQos(text)
  if text == "0" or text == "1" or text == "2" then
    return tonumber(text)
  end
  return nil, "is not 0, 1 or 2"
end

-- `old:new,old:new` as a table from old to new.
local function readNames(text)
  local names = {}
  for pair in (text .. ","):gmatch("([^,]*),") do
    local old, new = pair:match("^([^:]+):([^:]+)$")
    if old == nil then
      return nil, "is not a list such as old:new,old:new"
    end
    names[old] = new
  end
  return names
end

local function readPath(text)
  local _, problem = jsonpath.get({}, text)
  if problem then
    return nil, problem
  end
  return text
end

-- Each option reads its text, or answers nil and what is wrong with it.
local options = {
  path = readPath,
  rename = readNames,
  scale = readNumber,
  offset = readNumber,
  round = readDigits,
  qos = readQos,
}

local function readOption(rule, word)
  if word == "retain" then
    rule.retain = true
    return nil
  end
  local name, text = word:match("^(%a+)=(.*)$")
  local read = name and options[name]
  if not read then
    return "'" .. word .. "' is not an option; there are path= rename= scale= offset= round= qos= and retain"
  end
  local value, problem = read(text)
  if value == nil then
    return name .. "=" .. text .. " " .. problem
  end
  rule[name] = value
  return nil
end

local function checkTopics(from, to)
  local problem = topics.problem(from) or topics.problem(to)
  if problem then
    return problem
  end
  local fromPlus, fromHash = topics.wildcards(from)
  local toPlus, toHash = topics.wildcards(to)
  if toPlus > fromPlus or (toHash and not fromHash) then
    return "'" .. to .. "' has a wildcard that '" .. from .. "' does not fill"
  end
  if topics.overlap(from, to) then
    return "'" .. to .. "' lies within '" .. from .. "': the bridge would feed itself"
  end
  return nil
end

-- One rule, or nil and what is wrong with the line.
function rules.parseLine(line)
  local words, problem = split(line)
  if words == nil then
    return nil, problem
  end
  if #words < 3 or words[2] ~= "->" or words[1] == "" or words[3] == "" then
    return nil, "expected: from/topic -> to/topic [options]"
  end
  local rule = { from = words[1], to = words[3], scale = 1, offset = 0, qos = 0, retain = false }
  problem = checkTopics(rule.from, rule.to)
  for position = 4, #words do
    problem = problem or readOption(rule, words[position])
  end
  if problem then
    return nil, problem
  end
  return rule
end

-- All rules of a text, and the lines that are none as { line, text, message }.
function rules.parse(text)
  -- A form with one-line fields has no line breaks: there `;` takes their place.
  local separator = text:find("\n", 1, true) and "\n" or ";"
  local found, refused = {}, {}
  local number = 0
  for line in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    number = number + 1
    local trimmed = line:match("^%s*(.-)%s*$")
    if trimmed ~= "" and trimmed:sub(1, 1) ~= "#" then
      local rule, message = rules.parseLine(trimmed)
      if rule then
        rule.line = number
        found[#found + 1] = rule
      else
        refused[#refused + 1] = { line = number, text = trimmed, message = message }
      end
    end
  end
  return found, refused
end

return rules
