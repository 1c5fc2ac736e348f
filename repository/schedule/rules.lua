-- Reads the schedules as the user wrote them (README.md has the syntax).

local cron = require("cron")

local rules = {}

-- Schedules; more are a mistake, and each takes time.
rules.limit = 100

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- `topic payload`: the payload is the rest, and may be missing.
local function readMessage(text)
  local topic, payload = text:match('^"([^"]+)"%s*(.*)$')
  if topic == nil then
    topic, payload = text:match("^(%S+)%s*(.*)$")
  end
  if topic == nil then
    return nil, "a topic is missing after ->"
  end
  if topic:find("[+#]") then
    return nil, "the topic '" .. topic .. "' has a wildcard; nothing can be published there"
  end
  return { topic = topic, payload = payload }
end

-- `name: expression`, then `-> topic payload` if wanted. Answers nil and what is wrong.
local function readRule(line)
  local name, rest = line:match("^([%w_%-]+)%s*:%s*(.+)$")
  if name == nil then
    return nil, "it is not name: minute hour day month weekday"
  end
  local expression, message = rest:match("^(.-)%s*%->%s*(.*)$")
  local schedule, problem = cron.parse(trim(expression or rest))
  if schedule == nil then
    return nil, problem
  end
  local rule = { name = name, expression = trim(expression or rest), schedule = schedule }
  if message then
    rule.message, problem = readMessage(message)
    if rule.message == nil then
      return nil, problem
    end
  end
  return rule
end

-- All rules that can be read, and what is wrong with the others: `{ "line 2: …" }`.
function rules.read(text)
  local list, problems, names = {}, {}, {}
  local separator = text:find("\n") and "\n" or ";"
  local number = 0
  for line in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    number = number + 1
    local content = trim(line)
    if content ~= "" and content:sub(1, 1) ~= "#" then
      local rule, problem = readRule(content)
      if rule and names[rule.name] then
        rule, problem = nil, "the name '" .. rule.name .. "' is there twice"
      elseif rule and #list >= rules.limit then
        rule, problem = nil, "there may be " .. rules.limit .. " schedules at most"
      end
      if rule then
        names[rule.name] = true
        list[#list + 1] = rule
      else
        problems[#problems + 1] = "line " .. number .. ": " .. problem
      end
    end
  end
  return list, problems
end

return rules
