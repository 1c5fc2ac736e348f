-- The messages of one channel that wait: one is sent at a time, in order, not faster than the rate allows, and
-- again when the network or the server failed. Time, timers and the sending itself are given from outside.

local rate = require("rate")

local outbox = {}

-- Messages that may wait; a channel with more has been cut off for long, and old news is no help.
outbox.most = 100
-- A message is tried so often; the pauses (s) double, and no server may ask for a longer one than this.
outbox.attempts = 4
local pause = 2
local longestPause = 300

-- `options`: perMinute; now() in seconds; after(seconds, run); send(message, finish), where finish gets what
-- `channels.outcome` answers.
function outbox.new(options)
  local self = { waiting = {} }
  local bucket = rate.new(options.perMinute, options.now())
  local busy = false
  local work

  local function finish(entry, ok, reason)
    table.remove(self.waiting, 1)
    busy = false
    entry.done(ok, reason)
    work()
  end

  local function attempt(entry)
    entry.attempts = entry.attempts + 1
    options.send(entry.message, function(outcome, wait, reason)
      if outcome == "again" and entry.attempts < outbox.attempts then
        local own = pause * 2 ^ (entry.attempts - 1)
        options.after(math.min(longestPause, math.max(own, wait or 0)), function()
          attempt(entry)
        end)
      else
        finish(entry, outcome == "sent", reason)
      end
    end)
  end

  function work()
    local entry = self.waiting[1]
    if busy or entry == nil then
      return
    end
    busy = true
    local allowed, seconds = rate.take(bucket, options.now())
    if allowed then
      attempt(entry)
      return
    end
    options.after(seconds, function()
      busy = false
      work()
    end)
  end

  -- done(ok, reason) comes once. False when too many wait already.
  function self.add(message, done)
    if #self.waiting >= outbox.most then
      return false
    end
    table.insert(self.waiting, { message = message, done = done, attempts = 0 })
    work()
    return true
  end

  return self
end

return outbox
