-- The lines of the setting `values`: which value of which document is a sensor (README.md has the syntax).

local lines = require("lines")

local values = {}

-- What is at a path, where `.` is the whole document; nil and a message for what is no path.
local function find(document, path)
  return jsonpath.get(document, path == "." and "" or path)
end

local function readLine(words)
  local url, path = words[1], words[2]
  if path == nil or not url:lower():match("^https?://[^/]") then
    return nil, "expected: id = http://address path [options]; the path . is the whole document"
  end
  local _, problem = find({}, path)
  if problem then
    return nil, problem
  end
  local entry = { url = url, path = path }
  problem = lines.readOptions(entry, words, 3, {}, { auth = true })
  if problem then
    return nil, problem .. "; there are scale= offset= round= unit= name= class= and auth"
  end
  return entry
end

-- The values of a text, and the lines that are none as { line, message }.
function values.parse(text)
  return lines.parse(text, readLine)
end

-- Documents to ask for, in the order of the lines: { url, auth, place, entries }. One address is asked for once, but
-- with and without the token are two.
function values.sources(entries)
  local found, byKey = {}, {}
  for _, entry in ipairs(entries) do
    local key = (entry.auth and "auth " or "") .. entry.url
    if byKey[key] == nil then
      byKey[key] = { url = entry.url, auth = entry.auth, place = values.place(entry.url), entries = {} }
      found[#found + 1] = byKey[key]
    end
    table.insert(byKey[key].entries, entry)
  end
  return found
end

-- The address as it may be shown: without password and query.
function values.place(url)
  return (url:gsub("[?#].*$", ""):gsub("//[^/]*@", "//"))
end

-- The value of an entry in a document, or nil and why there is none.
function values.find(entry, document)
  local value = find(document, entry.path)
  if value == nil then
    return nil, "there is nothing at '" .. entry.path .. "'"
  end
  if type(value) == "table" then
    return nil, "there is no single value at '" .. entry.path .. "'"
  end
  return lines.calculate(entry, value)
end

return values
