-- The lines that wait to be written: a bounded store, batches out of it, and when to try a batch again.

local batches = {}

-- Pauses (s) before a batch is tried again: they double from the first to the last.
local firstPause = 1
local lastPause = 300

-- options: size (lines of a batch), most (lines that may wait), attempts (of one batch).
function batches.new(options)
  local self = { dropped = 0 }
  local size = math.floor(options.size)
  -- Lines that wait are at first..last; those that have left for a batch stay in it until it is settled.
  local lines, first, last = {}, 1, 0
  local batch, sending, failures = {}, 0, 0

  local function waiting()
    return last - first + 1
  end

  local function shift()
    local line = lines[first]
    lines[first] = nil
    first = first + 1
    return line
  end

  function self.count()
    return #batch + waiting()
  end

  -- When the store is full, the oldest line goes that is in no batch.
  function self.add(line)
    if self.count() >= options.most then
      self.dropped = self.dropped + 1
      if waiting() == 0 then
        return
      end
      shift()
    end
    last = last + 1
    lines[last] = line
  end

  function self.isFull()
    return self.count() >= size
  end

  -- The next batch as one text and the number of its lines, or nil: there is none, or one is on its way.
  function self.take()
    if sending > 0 then
      return nil
    end
    if #batch == 0 then
      for position = 1, math.min(size, waiting()) do
        batch[position] = shift()
      end
    end
    sending = math.min(size, #batch)
    if sending == 0 then
      return nil
    end
    return table.concat(batch, "\n", 1, sending), sending
  end

  -- Says what came of the batch ("written", "again", "smaller" or "refused"). Answers the seconds to wait before the
  -- next one, how many lines were written, and how many given up.
  function self.settle(outcome)
    local count = sending
    sending = 0
    if outcome == "smaller" and count > 1 then
      size = math.ceil(count / 2)
      return 0, 0, 0
    end
    if outcome ~= "written" then
      failures = failures + 1
      if outcome == "again" and failures < options.attempts then
        return math.min(lastPause, firstPause * 2 ^ (failures - 1)), 0, 0
      end
    end
    failures = 0
    batch = table.move(batch, count + 1, #batch, 1, {})
    if outcome == "written" then
      return 0, count, 0
    end
    self.dropped = self.dropped + count
    return 0, 0, count
  end

  -- All lines, also those on their way, as at most so many texts; and how many lines did not fit.
  function self.rest(most)
    local texts = {}
    sending = 0
    while #texts < most do
      local text, count = self.take()
      if text == nil then
        return texts, 0
      end
      texts[#texts + 1] = text
      sending = 0
      batch = table.move(batch, count + 1, #batch, 1, {})
    end
    return texts, self.count()
  end

  return self
end

return batches
