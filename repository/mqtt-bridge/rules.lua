-- Reads the rows of the setting `rules` (README.md tells what they mean).

local topics = require("topics")

local rules = {}

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

local function checkPath(path)
  local _, problem = jsonpath.get({}, path or "")
  return problem
end

-- What is renamed as a table from old to new; nil when nothing is.
local function namesOf(list)
  if list == nil or #list == 0 then
    return nil
  end
  local names = {}
  for _, pair in ipairs(list) do
    names[pair.old] = pair.new
  end
  return names
end

-- One rule, or nil and what is wrong with the row.
function rules.readRow(row)
  local problem = checkTopics(row.from, row.to) or checkPath(row.path)
  if problem then
    return nil, problem
  end
  return {
    from = row.from,
    to = row.to,
    path = row.path ~= "" and row.path or nil,
    rename = namesOf(row.rename),
    scale = row.scale or 1,
    offset = row.offset or 0,
    round = row.round,
    qos = row.qos or 0,
    retain = row.retain or false,
  }
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

return rules
