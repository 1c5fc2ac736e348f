-- Reads the rows of the setting `rules` (README.md tells what they mean).

local compare = require("compare")

local rules = {}

local function textOf(value)
  return value ~= nil and value ~= "" and value or nil
end

-- Only what the row names may be reached, so the plugin must be named; behind it `*` is possible in what sets off a rule.
local forms = {
  sensor = { pattern = "^@[^/*]+/[^/*]+/(.+)$", example = "@house/climate/temperature" },
  object = { pattern = "^plugins%.[^.*]+%.[^.*]+%.(.+)$", example = "plugins.house.climate.now" },
  event = { pattern = "^(.+)$", example = "door:opened" },
  topic = { pattern = "^(.+)$", example = "hall/button" },
}

local function readSource(kind, row, exact)
  local form, name = forms[kind], textOf(row[kind])
  if form == nil then
    return nil, "'" .. tostring(kind) .. "' is nothing that can be watched"
  elseif name == nil then
    return nil, "the " .. kind .. " is missing"
  end
  local rest = name:match(form.pattern)
  if rest == nil then
    return nil, "'" .. name .. "' names no " .. kind .. " of a plugin: expected one such as " .. form.example
  elseif exact and rest:find("*", 1, true) then
    return nil, "'" .. name .. "' must name one " .. kind .. ", without *"
  end
  local path = textOf(row.path)
  local _, problem = jsonpath.get({}, path or "")
  if problem then
    return nil, problem
  end
  local wildcard = kind == "topic" and "[+#]" or "%*"
  return { kind = kind, name = name, path = path, wildcard = rest:find(wildcard) ~= nil }
end

local function readComparison(row, usual)
  local comparison = { is = row.is or usual, value = row.value or "" }
  local problem = compare.problem(comparison.is, comparison.value)
  if problem then
    return nil, problem
  end
  return comparison
end

local function readCondition(row)
  local source, problem = readSource(row.of or "sensor", row, true)
  if source == nil then
    return nil, problem
  end
  local comparison
  comparison, problem = readComparison(row, "equal")
  return comparison and { source = source, comparison = comparison }, problem
end

local actions = {}

function actions.publish(row)
  if row.topic:find("[+#]") then
    return nil, "the topic '" .. row.topic .. "' has a wildcard; nothing can be published there"
  end
  return { topic = row.topic, text = row.payload or "", retain = row.retain or false }
end

function actions.control(row)
  local plugin, id = row.control:match("^(@[^/*]+/[^/*]+)/([^/*]+)$")
  if plugin == nil then
    return nil, "'" .. row.control .. "' names no control: expected one such as @house/lamp/level"
  end
  return { plugin = plugin, id = id, text = row.to or "" }
end

function actions.event(row)
  return { name = row.event, text = row.data or "" }
end

function actions.notify(row)
  return { plugin = row.plugin, text = row.message or "" }
end

local needed = { publish = "topic", control = "control", event = "event", notify = "plugin" }

local function readAction(row)
  local kind = row["do"] or "publish"
  local read = actions[kind]
  if read == nil then
    return nil, "'" .. tostring(kind) .. "' is nothing that can be done"
  elseif textOf(row[needed[kind]]) == nil then
    return nil, "the " .. needed[kind] .. " is missing"
  end
  local action, problem = read(row)
  if action == nil then
    return nil, problem
  end
  action.kind = kind
  local _, fault = template.render(action.text, {})
  if fault then
    return nil, fault
  end
  return action
end

local function readEach(rows, what, read)
  local list = {}
  for number, row in ipairs(rows or {}) do
    local one, problem = read(row)
    if one == nil then
      return nil, what .. " " .. number .. ": " .. problem
    end
    list[number] = one
  end
  return list
end

local separators = { event = ":", topic = "/" }
local wildcards = { event = "*", topic = "+" }

local function partsOf(name, separator)
  local parts = {}
  for part in (name .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    parts[#parts + 1] = part
  end
  return parts
end

-- Whether an event, or a topic, is one that the pattern means.
local function isMeant(kind, name, pattern)
  local parts, wanted = partsOf(name, separators[kind]), partsOf(pattern, separators[kind])
  for index, part in ipairs(wanted) do
    if kind == "topic" and part == "#" then
      return #parts >= index - 1
    elseif parts[index] == nil or (part ~= wildcards[kind] and part ~= parts[index]) then
      return false
    end
  end
  return #parts == #wanted
end

-- What an action itself brings about, if it is of the kind that a rule waits for.
local function effectOf(kind, action)
  if kind == "event" and action.kind == "event" then
    return action.name
  end
  return kind == "topic" and action.kind == "publish" and action.topic or nil
end

-- One rule, or nil and what is wrong with the row.
function rules.readRow(row)
  local source, problem = readSource(row.when or "sensor", row, false)
  if source == nil then
    return nil, problem
  end
  local rule = { name = row.name, source = source, pause = row.pause or 0, perMinute = row.perMinute or 60 }
  -- The form hides it where an event is waited for, which has no duration.
  rule.seconds = source.kind ~= "event" and row["for"] or 0
  -- An event is a moment by itself, and so is a message; or it is the value of its topic.
  rule.each = source.kind == "event" or (source.kind == "topic" and not row.begins and rule.seconds == 0)
  rule.comparison, problem = readComparison(row, "changes")
  if problem then
    return nil, problem
  end
  rule.conditions, problem = readEach(row.conditions, "condition", readCondition)
  if problem then
    return nil, problem
  end
  rule.actions, problem = readEach(row.actions, "action", readAction)
  if problem then
    return nil, problem
  elseif #rule.actions == 0 then
    return nil, "there is no action"
  end
  for number, action in ipairs(rule.actions) do
    local effect = effectOf(source.kind, action)
    if effect and isMeant(source.kind, effect, source.name) then
      return nil, "action " .. number .. ": the " .. source.kind .. " '" .. effect .. "' would set off the rule itself"
    end
  end
  return rule
end

-- All rules, each with the number of its row, and the rows that are none as { row, message }.
function rules.read(rows)
  local found, refused = {}, {}
  for number, row in ipairs(rows) do
    local rule, message = rules.readRow(row)
    if rule then
      rule.row = number
      found[#found + 1] = rule
    else
      refused[#refused + 1] = { row = number, message = message }
    end
  end
  return found, refused
end

-- Why another plugin cannot be asked. `host`: the one of a fleet that this plugin runs on.
function rules.absence(id, host)
  return id .. " is not running" .. (host and " on " .. host .. ", the host of this plugin" or "")
end

return rules
