-- The rows of the setting `registers`: where each value is in the device.

local registers = {}

-- Function codes of what can be read, and the most that one request may ask for.
local kinds = {
  coil = { fc = 1, most = 2000 },
  discrete = { fc = 2, most = 2000 },
  holding = { fc = 3, most = 125 },
  input = { fc = 4, most = 125 },
}

-- Registers that a value takes.
local sizes = { uint16 = 1, int16 = 1, uint32 = 2, int32 = 2, float32 = 2 }

-- A row of the setting with what it comes to: its type and how many registers that takes.
local function entryOf(row)
  local entry = {}
  for key, value in pairs(row) do
    entry[key] = value
  end
  entry.type = kinds[row.kind].fc <= 2 and "bit" or row.type or "uint16"
  entry.size = sizes[entry.type] or 1
  return entry
end

-- The rows that can be used as entries, and the others as { row, message }.
function registers.read(rows)
  local found, refused, known = {}, {}, {}
  for number, row in ipairs(rows) do
    local problem
    if not row.id:match("^[%w_-]+$") then
      problem = "the id '" .. row.id .. "' has something else than letters, digits, _ and -"
    elseif known[row.id] then
      problem = "the id '" .. row.id .. "' is there twice"
    end
    if problem then
      refused[#refused + 1] = { row = number, message = problem }
    else
      known[row.id] = true
      found[#found + 1] = entryOf(row)
    end
  end
  return found, refused
end

local function before(a, b)
  if a.device ~= b.device then
    return (a.device or -1) < (b.device or -1)
  end
  if a.kind ~= b.kind then
    return a.kind < b.kind
  end
  if a.address ~= b.address then
    return a.address < b.address
  end
  return a.id < b.id
end

-- Requests that get all entries: { fc, device, address, count, entries }. Neighbours share one; gaps are not read,
-- because a device may refuse what it does not have.
function registers.plan(entries)
  local sorted = { table.unpack(entries) }
  table.sort(sorted, before)
  local blocks, block = {}, nil
  for _, entry in ipairs(sorted) do
    local kind = kinds[entry.kind]
    local last = entry.address + entry.size
    local fits = block and block.fc == kind.fc and block.device == entry.device
      and entry.address <= block.address + block.count and last - block.address <= kind.most
    if fits then
      block.count = math.max(block.count, last - block.address)
    else
      block = {
        fc = kind.fc,
        device = entry.device,
        address = entry.address,
        count = entry.size,
        entries = {},
      }
      blocks[#blocks + 1] = block
    end
    block.entries[#block.entries + 1] = entry
  end
  return blocks
end

-- The value of an entry in the registers of its block. `modbus` has the functions of `Modbus`.
function registers.value(entry, block, words, modbus)
  local index = entry.address - block.address + 1
  local high, low = words[index], words[index + 1]
  if entry.type == "bit" then
    return high ~= 0
  end
  -- Some devices put the low word first.
  if entry.swap and entry.size == 2 then
    high, low = low, high
  end
  local value = high
  if entry.type == "int16" then
    value = modbus.toInt16(high)
  elseif entry.type == "uint32" then
    value = modbus.toUint32(high, low)
  elseif entry.type == "int32" then
    value = modbus.toInt32(high, low)
  elseif entry.type == "float32" then
    value = modbus.toFloat32(high, low)
  end
  -- What a meter without a value gives: not a number.
  if value ~= value then
    return nil
  end
  return numbers.scale(value, entry)
end

return registers
