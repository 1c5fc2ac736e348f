-- Reads the rows of the setting `schedules` (README.md tells what they mean).

local cron = require("cron")

local rules = {}

-- Schedules; more are a mistake, and each takes time.
rules.limit = 100

local function readMessage(row)
  if row.topic == nil or row.topic == "" then
    return nil
  end
  if row.topic:find("[+#]") then
    return nil, "the topic '" .. row.topic .. "' has a wildcard; nothing can be published there"
  end
  return { topic = row.topic, payload = row.payload or "" }
end

-- One rule, or nil and what is wrong with the row.
local function readRow(row)
  if not row.name:match("^[%w_%-]+$") then
    return nil, "the name '" .. row.name .. "' has something else than letters, digits, - and _"
  end
  local expression = row.when:gsub("^%s+", ""):gsub("%s+$", "")
  local schedule, problem = cron.parse(expression)
  if schedule == nil then
    return nil, problem
  end
  local message
  message, problem = readMessage(row)
  if problem then
    return nil, problem
  end
  return { name = row.name, expression = expression, schedule = schedule, message = message }
end

-- All rules that can be read, and what is wrong with the other rows: `{ "row 2: …" }`.
function rules.read(rows)
  local list, problems, names = {}, {}, {}
  for number, row in ipairs(rows) do
    local rule, problem = readRow(row)
    if rule and names[rule.name] then
      rule, problem = nil, "the name '" .. rule.name .. "' is there twice"
    elseif rule and #list >= rules.limit then
      rule, problem = nil, "there may be " .. rules.limit .. " schedules at most"
    end
    if rule then
      names[rule.name] = true
      list[#list + 1] = rule
    else
      problems[#problems + 1] = "row " .. number .. ": " .. problem
    end
  end
  return list, problems
end

return rules
