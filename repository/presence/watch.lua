-- Who is home, by when they were seen last. Nothing in here waits or publishes, so it can be tested with any time.
--
-- `now` is the time of day (Unix, seconds), to be shown and kept over a restart. How long nobody was seen goes by `clock`
-- (seconds), which only moves forward: a clock that is set makes nobody leave.

local watch = {}

local away = { away = true, not_home = true, offline = true, disconnected = true, off = true, ["false"] = true, ["0"] = true }

local Watch = {}
Watch.__index = Watch

-- `timeout`: seconds without a sign of life after which somebody has left.
function watch.new(timeout)
  return setmetatable({ timeout = timeout, people = {}, order = {} }, Watch)
end

-- `lastSeen`: from before a restart (Unix, seconds), or nil.
function Watch:add(id, name, lastSeen, now, clock)
  -- A host that does not know the time yet may be behind what it wrote down.
  local age = lastSeen and math.max(0, now - lastSeen)
  local home = age ~= nil and age < self.timeout
  self.people[id] = {
    id = id,
    name = name,
    home = home,
    lastSeen = lastSeen,
    since = home and lastSeen or nil,
    heardAt = home and clock - age or nil,
  }
  self.order[#self.order + 1] = id
end

-- A sign of life. Answers whether somebody has arrived by it.
function Watch:seen(id, now, clock)
  local person = self.people[id]
  person.lastSeen, person.heardAt = now, clock
  if person.home then
    return false
  end
  person.home, person.since = true, now
  return true
end

-- Somebody says to be gone. Answers whether that is new.
function Watch:gone(id, now)
  local person = self.people[id]
  if not person.home then
    return false
  end
  person.home, person.since = false, now
  return true
end

-- Nobody could be heard for so many seconds until now, as where the host was paused: they do not count.
function Watch:excuse(seconds, clock)
  for _, person in pairs(self.people) do
    if person.heardAt then
      person.heardAt = math.min(clock, person.heardAt + seconds)
    end
  end
end

-- Who has not been seen for too long, by id, in the order in which they were added. They are gone then.
function Watch:expire(now, clock)
  local left = {}
  for _, id in ipairs(self.order) do
    local person = self.people[id]
    if person.home and clock - person.heardAt >= self.timeout and self:gone(id, now) then
      left[#left + 1] = id
    end
  end
  return left
end

-- How many are home.
function Watch:count()
  local count = 0
  for _, person in pairs(self.people) do
    if person.home then
      count = count + 1
    end
  end
  return count
end

-- What a message says: true for home, false for away, nil for nothing (an empty payload deletes a retained one).
function watch.meaning(payload)
  if payload == "" then
    return nil
  end
  return not away[payload:lower():gsub("^%s+", ""):gsub("%s+$", "")]
end

return watch
