-- Reads the rows of the setting `people` (README.md tells what they mean).

local people = {}

-- People; each may have several devices.
people.limit = 100

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- A name as an id for topics: letters, digits and underscores in lower case.
local function idOf(name)
  local id = name:lower():gsub("[^%w\128-\255]+", "_"):gsub("^_+", ""):gsub("_+$", "")
  return id
end

local function readAddress(url)
  if url:match("^https?://[^/%s]") then
    return { url = url }
  end
  return nil, "'" .. url .. "' is no http or https address"
end

local function readTopic(topic)
  if topic:find("%s") then
    return nil, "the topic '" .. topic .. "' has a blank"
  end
  return { topic = topic }
end

-- One person, or nil and what is wrong with the row.
local function readPerson(row)
  if idOf(row.name) == "" then
    return nil, "the name '" .. row.name .. "' has no letter and no digit"
  end
  local person = { id = idOf(row.name), name = trim(row.name), sources = {} }
  local function add(values, read)
    for _, value in ipairs(values or {}) do
      local source, problem = read(trim(value))
      if source == nil then
        return problem
      end
      person.sources[#person.sources + 1] = source
    end
  end
  local problem = add(row.topics, readTopic) or add(row.addresses, readAddress)
  if problem == nil and #person.sources == 0 then
    problem = "a topic or an address is missing"
  end
  if problem then
    return nil, problem
  end
  return person
end

-- Everybody who can be read, and what is wrong with the other rows: `{ "row 2: …" }`.
function people.read(rows)
  local list, problems, known = {}, {}, { anyone = true }
  for number, row in ipairs(rows) do
    local person, problem = readPerson(row)
    if person and known[person.id] then
      person, problem = nil, "the name '" .. person.name .. "' is taken"
    elseif person and #list >= people.limit then
      person, problem = nil, "there may be " .. people.limit .. " people at most"
    end
    if person then
      known[person.id] = true
      list[#list + 1] = person
    else
      problems[#problems + 1] = "row " .. number .. ": " .. problem
    end
  end
  return list, problems
end

return people
