-- Topic filters: reading, matching, and filling the wildcards of a target.

local topics = {}

function topics.split(topic)
  local levels = {}
  for level in (topic .. "/"):gmatch("([^/]*)/") do
    levels[#levels + 1] = level
  end
  return levels
end

-- What is wrong with a topic filter, or nil. `+` and `#` fill a whole level, and `#` is the last one.
function topics.problem(filter)
  local levels = topics.split(filter)
  for position, level in ipairs(levels) do
    if level ~= "+" and level ~= "#" and level:find("[+#]") then
      return "'" .. level .. "' in '" .. filter .. "': + and # stand alone between slashes"
    end
    if level == "#" and position < #levels then
      return "in '" .. filter .. "' something follows #, which must be the last level"
    end
  end
  return nil
end

-- Whether some topic matches both filters. A topic without wildcards is a filter, too.
function topics.overlap(first, second)
  local left, right = topics.split(first), topics.split(second)
  for position = 1, math.max(#left, #right) do
    local a, b = left[position], right[position]
    -- `#` takes what follows and also nothing: a/# matches a.
    if a == "#" or b == "#" then
      return true
    end
    if a == nil or b == nil then
      return false
    end
    if a ~= b and a ~= "+" and b ~= "+" then
      return false
    end
  end
  return true
end

-- How many `+` a filter has, and whether it ends in `#`.
function topics.wildcards(filter)
  local plus, hash = 0, false
  for _, level in ipairs(topics.split(filter)) do
    if level == "+" then
      plus = plus + 1
    elseif level == "#" then
      hash = true
    end
  end
  return plus, hash
end

-- The target of a topic that matches `from`: its first `+` is what the first `+` of `from` stood for, and so
-- on; its `#` is the rest of the topic.
function topics.rename(topic, from, to)
  local levels = topics.split(topic)
  local single, rest = {}, {}
  for position, level in ipairs(topics.split(from)) do
    if level == "+" then
      single[#single + 1] = levels[position]
    elseif level == "#" then
      rest = { table.unpack(levels, position) }
    end
  end

  local result, used = {}, 0
  for _, level in ipairs(topics.split(to)) do
    if level == "+" then
      used = used + 1
      result[#result + 1] = single[used]
    elseif level == "#" then
      for _, remaining in ipairs(rest) do
        result[#result + 1] = remaining
      end
    else
      result[#result + 1] = level
    end
  end
  return table.concat(result, "/")
end

return topics
