-- Reads who is watched, and by what (README.md has the syntax).

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

local function readSource(text)
  if text:match("^https?://[^/%s]") then
    return { url = text }
  end
  if text:match("^%a[%w+.-]*://") then
    return nil, "'" .. text .. "' is no http or https address"
  end
  if text:find("%s") then
    return nil, "the topic '" .. text .. "' has a blank; separate several by commas"
  end
  return { topic = text }
end

local function readPerson(line)
  local name, rest = line:match("^([^:]+):%s*(.+)$")
  if name == nil or idOf(name) == "" then
    return nil, "it is not name: topic or address"
  end
  local person = { id = idOf(name), name = trim(name), sources = {} }
  for part in (rest .. ","):gmatch("([^,]*),") do
    local text = trim(part)
    local source, problem = readSource(text)
    if text == "" or source == nil then
      return nil, problem or "a topic or an address is missing"
    end
    person.sources[#person.sources + 1] = source
  end
  return person
end

-- Everybody who can be read, and what is wrong with the other lines: `{ "line 2: …" }`.
function people.read(text)
  local list, problems, known = {}, {}, { anyone = true }
  local separator = text:find("\n") and "\n" or ";"
  local number = 0
  for line in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    number = number + 1
    local content = trim(line)
    if content ~= "" and content:sub(1, 1) ~= "#" then
      local person, problem = readPerson(content)
      if person and known[person.id] then
        person, problem = nil, "the name '" .. person.name .. "' is taken"
      elseif person and #list >= people.limit then
        person, problem = nil, "there may be " .. people.limit .. " people at most"
      end
      if person then
        known[person.id] = true
        list[#list + 1] = person
      else
        problems[#problems + 1] = "line " .. number .. ": " .. problem
      end
    end
  end
  return list, problems
end

return people
