-- Knows the bridge's own messages when they come back. With two rules in opposite directions the broker returns
-- what the bridge has just sent, and passing that on would go round for ever.

local echoes = {}

-- After this many seconds a message that did not come back is given up, so that it does not swallow a later one.
local patience = 10

function echoes.new()
  return { pending = {} }
end

local function keyOf(topic, payload)
  -- A topic never contains NUL, so no two pairs share a key.
  return topic .. "\0" .. payload
end

-- Notes a message that is about to be sent. `now` is in seconds, on a clock that only moves forward.
function echoes.expect(self, topic, payload, now)
  for key, entry in pairs(self.pending) do
    if entry.deadline < now then
      self.pending[key] = nil
    end
  end
  local key = keyOf(topic, payload)
  local entry = self.pending[key] or { count = 0 }
  entry.count = entry.count + 1
  entry.deadline = now + patience
  self.pending[key] = entry
end

-- Whether a message that came in is one of those, each of which comes back once.
function echoes.take(self, topic, payload, now)
  local key = keyOf(topic, payload)
  local entry = self.pending[key]
  if entry == nil then
    return false
  end
  entry.count = entry.count - 1
  if entry.count == 0 then
    self.pending[key] = nil
  end
  return entry.deadline >= now
end

return echoes
