-- Which devices are shown, and what they are called. Pure.

local naming = {}

-- Letters, digits, _ and - stay, and so does every other script; what topics and patterns are made of does not.
function naming.slug(name)
  local slug = name:gsub("[^%w_\128-\255-]+", "_"):gsub("^_+", ""):gsub("_+$", "")
  return slug ~= "" and slug or "device"
end

local function matches(pattern, text)
  local escaped = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", ".*")
  return text:find("^" .. escaped .. "$") ~= nil
end

-- What the rows say of a device: { leaveOut, name, area }. `*` stands for any characters.
function naming.overrides(rows, friendlyName, address)
  local found = {}
  for _, row in ipairs(rows or {}) do
    if matches(row.device, friendlyName) or row.device == address then
      found.leaveOut = found.leaveOut or row.leaveOut or false
      if not row.device:find("*", 1, true) then
        found.name = row.name ~= "" and row.name or found.name
      end
      found.area = row.area ~= "" and row.area or found.area
    end
  end
  return found
end

-- Gives each entry { name, key } a `slug` of its own: those that would have the same get the end of their key, too.
function naming.giveSlugs(entries)
  local count = {}
  for _, entry in ipairs(entries) do
    entry.slug = naming.slug(entry.name)
    count[entry.slug] = (count[entry.slug] or 0) + 1
  end
  for _, entry in ipairs(entries) do
    if count[entry.slug] > 1 then
      entry.slug = entry.slug .. "_" .. naming.slug(entry.key):sub(-4)
    end
  end
end

return naming
