-- The topics of Zigbee2MQTT. Pure.

local topics = {}

-- What is wrong with a base topic, or nil.
function topics.problem(base)
  if base == "" or base:find("[+#]") or base:sub(1, 1) == "/" or base:sub(-1) == "/" then
    return "the base topic '" .. base .. "' must be a topic without + and #, and without / at its ends"
  end
  return nil
end

-- The levels above a name, "" for one without any: `kitchen/` of `kitchen/lamp`.
local function folderOf(name)
  return name:match("^(.*/)[^/]*$") or ""
end

-- All that has to be subscribed to for these names: two filters a folder, not two a device, of which there may be
-- hundreds. What the bridge itself says stands elsewhere.
function topics.filters(base, names)
  local filters, seen = {}, {}
  for _, name in ipairs(names) do
    local folder = folderOf(name)
    if not seen[folder] then
      seen[folder] = true
      filters[#filters + 1] = base .. "/" .. folder .. "+"
      filters[#filters + 1] = base .. "/" .. folder .. "+/availability"
    end
  end
  return filters
end

-- The name that a topic is of, and whether it tells the availability.
function topics.read(base, topic)
  local rest = topic:sub(#base + 2)
  local name = rest:match("^(.*)/availability$")
  return name or rest, name ~= nil
end

-- `online` and `offline`, alone or in an object; nil for anything else.
function topics.isOnline(payload, decode)
  local text = payload
  if payload:find("^%s*{") then
    local value = decode(payload)
    text = type(value) == "table" and value.state or nil
  end
  if text == "online" then
    return true
  elseif text == "offline" then
    return false
  end
  return nil
end

-- Names of more levels cannot be commanded: the permissions end there.
topics.deepest = 4

function topics.depth(name)
  local _, slashes = name:gsub("/", "")
  return slashes + 1
end

return topics
