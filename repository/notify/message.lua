-- What somebody wants to send, checked.

local message = {}

-- As ntfy counts them; the others only tell loud from silent.
message.priorities = { min = 1, low = 2, normal = 3, high = 4, urgent = 5 }

local function readPriority(value)
  if value == nil then
    return message.priorities.normal
  end
  local number = tonumber(value)
  if number and number % 1 == 0 and number >= 1 and number <= 5 then
    return number
  end
  return message.priorities[tostring(value):lower()]
end

-- A list of words, from a list or from one text with commas; nil stays nil.
local function readWords(value)
  if value == nil then
    return {}
  end
  local words = {}
  local function add(word)
    local trimmed = tostring(word):match("^%s*(.-)%s*$")
    if trimmed ~= "" then
      words[#words + 1] = trimmed
    end
  end
  if type(value) == "table" then
    for _, word in ipairs(value) do
      add(word)
    end
  else
    for word in tostring(value):gmatch("[^,]+") do
      add(word)
    end
  end
  return words
end

local function isText(value)
  return type(value) == "string" or type(value) == "number"
end

-- A message from a text or from { text, title, priority, tags, link, channel }, or nil and what is wrong with it.
function message.read(value)
  local fields = isText(value) and { text = value } or value
  if type(fields) ~= "table" then
    return nil, "a message is a text or a table, not a " .. type(value)
  end
  if not isText(fields.text) or tostring(fields.text) == "" then
    return nil, "the message has no text"
  end
  local priority = readPriority(fields.priority)
  if priority == nil then
    return nil, "the priority must be min, low, normal, high or urgent, or 1 to 5"
  end
  return {
    text = tostring(fields.text),
    title = isText(fields.title) and tostring(fields.title) or nil,
    link = isText(fields.link) and tostring(fields.link) or nil,
    priority = priority,
    tags = readWords(fields.tags),
    channels = readWords(fields.channel),
  }
end

return message
