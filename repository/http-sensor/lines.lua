-- Reads texts of settings with one thing a line: `id = words option=value`. "…" keeps blanks together.

local lines = {}

-- Words of a line, or nil and a message when a quotation mark is left open. `name="two words"` is one word.
local function split(line)
  local words, word, position = {}, nil, 1
  while position <= #line do
    local character = line:sub(position, position)
    if character == '"' then
      local last = line:find('"', position + 1, true)
      if last == nil then
        return nil, 'a closing " is missing'
      end
      word = (word or "") .. line:sub(position + 1, last - 1)
      position = last + 1
    elseif character:match("%s") then
      words[#words + 1] = word
      word = nil
      position = position + 1
    else
      local plain = line:match('^[^%s"]+', position)
      word = (word or "") .. plain
      position = position + #plain
    end
  end
  words[#words + 1] = word
  return words
end

local function number(text)
  return tonumber(text), "is not a number"
end

local function digits(text)
  local value = tonumber(text)
  if value and value % 1 == 0 and value >= 0 and value <= 10 then
    return value
  end
  return nil, "is not a whole number from 0 to 10"
end

local function text(value)
  if value == "" then
    return nil, "is empty"
  end
  return value
end

-- What both kinds of lines can say of a value. Each reads its text, or answers nil and what is wrong with it.
local common = { scale = number, offset = number, round = digits, unit = text, name = text, class = text }

-- Reads the words from `first` on into `entry`: options by `more` and the common ones, and `flags` alone. Answers
-- what is wrong, or nil.
function lines.readOptions(entry, words, first, more, flags)
  for position = first, #words do
    local word = words[position]
    local key, value = word:match("^(%a+)=(.*)$")
    local read = key and (more[key] or common[key])
    if flags[word] then
      entry[word] = true
    elseif read then
      local result, problem = read(value)
      if result == nil then
        return word .. " " .. problem
      end
      entry[key] = result
    else
      return "'" .. word .. "' is not an option"
    end
  end
  return nil
end

-- The entries of a text, and the lines that are none as { line, message }. `read(words)` makes an entry of the words
-- behind `id =`, or answers nil and what is wrong.
function lines.parse(whole, read)
  -- A form with one-line fields has no line breaks: there `;` and a blank take their place.
  if not whole:find("\n", 1, true) then
    whole = whole:gsub(";%s", "\n")
  end
  local found, refused, known = {}, {}, {}
  local count = 0
  local function add(line)
    local id, rest = line:match("^([%w_-]+)%s*=%s*(.+)$")
    if id == nil then
      return "expected: id = …, the id of letters, digits, _ and -"
    end
    if known[id] then
      return "the id '" .. id .. "' is there twice"
    end
    local words, problem = split(rest)
    local entry
    if words then
      entry, problem = read(words)
    end
    if entry == nil then
      return problem
    end
    entry.id = id
    known[id] = true
    found[#found + 1] = entry
    return nil
  end
  for line in (whole .. "\n"):gmatch("([^\n]*)\n") do
    count = count + 1
    local trimmed = line:match("^%s*(.-)%s*;?%s*$")
    if trimmed ~= "" and trimmed:sub(1, 1) ~= "#" then
      local problem = add(trimmed)
      if problem then
        refused[#refused + 1] = { line = count, message = problem }
      end
    end
  end
  return found, refused
end

-- A number as the line wants it; what is no number stays as it is.
function lines.calculate(entry, value)
  local scaled = tonumber(value)
  if scaled == nil or not (entry.scale or entry.offset or entry.round) then
    return value
  end
  scaled = scaled * (entry.scale or 1) + (entry.offset or 0)
  if entry.round then
    local factor = 10 ^ entry.round
    scaled = math.floor(scaled * factor + 0.5) / factor
  end
  return scaled
end

return lines
