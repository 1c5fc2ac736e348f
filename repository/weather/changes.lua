-- What has changed between two sets of values.

local changes = {}

-- The names of the values that differ, sorted; names in `ignored` do not count. Values may be lists and tables.
function changes.between(before, after, ignored)
  local names = {}
  local function compare(name)
    if not (ignored and ignored[name]) and not changes.same(before[name], after[name]) then
      names[name] = true
    end
  end
  for name in pairs(before) do
    compare(name)
  end
  for name in pairs(after) do
    compare(name)
  end
  local list = {}
  for name in pairs(names) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

function changes.same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  return #changes.between(a, b) == 0
end

return changes
