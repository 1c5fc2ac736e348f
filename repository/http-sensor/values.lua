-- The rows of the setting `values`: which value of which document is a sensor.

local values = {}

-- What is at a path, where `.` is the whole document; nil and a message for what is no path.
local function find(document, path)
  return jsonpath.get(document, path == "." and "" or path)
end

local function problemOf(row, known)
  if not row.id:match("^[%w_-]+$") then
    return "the id '" .. row.id .. "' has something else than letters, digits, _ and -"
  end
  if known[row.id] then
    return "the id '" .. row.id .. "' is there twice"
  end
  if not row.url:lower():match("^https?://[^/]") then
    return "'" .. row.url .. "' is no http or https address"
  end
  local _, problem = find({}, row.path)
  return problem
end

-- The rows that can be used, and the others as { row, message }.
function values.read(rows)
  local found, refused, known = {}, {}, {}
  for number, row in ipairs(rows) do
    local problem = problemOf(row, known)
    if problem then
      refused[#refused + 1] = { row = number, message = problem }
    else
      known[row.id] = true
      found[#found + 1] = row
    end
  end
  return found, refused
end

-- Documents to ask for, in the order of the rows: { url, auth, place, entries }. One address is asked for once, but
-- with and without the token are two. No two have one place: some differ in the query alone, which is not shown.
function values.sources(entries)
  local found, byKey, places = {}, {}, {}
  for _, entry in ipairs(entries) do
    local key = (entry.auth and "auth " or "") .. entry.url
    if byKey[key] == nil then
      local place = values.place(entry.url)
      if places[place] then
        place = place .. " (" .. entry.id .. ")"
      end
      places[place] = true
      byKey[key] = { url = entry.url, auth = entry.auth, place = place, entries = {} }
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
  return numbers.scale(value, entry)
end

return values
