-- The lines of the setting `registers`: where each value is in the device (README.md has the syntax).

local lines = require("lines")

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

local function unitNumber(text)
  local number = tonumber(text)
  if number and number % 1 == 0 and number >= 0 and number <= 255 then
    return number
  end
  return nil, "is not a whole number from 0 to 255"
end

local function readLine(words)
  local kind, address = kinds[words[1]], tonumber(words[2])
  if kind == nil or address == nil or address % 1 ~= 0 or address < 0 or address > 65535 then
    return nil, "expected: id = holding|input|coil|discrete address [type] [options]; the address is 0 to 65535"
  end
  local entry = { kind = words[1], address = address, type = "uint16", size = 1 }
  local first = 3
  if kind.fc <= 2 then
    entry.type = "bit"
  elseif sizes[words[3]] then
    entry.type, entry.size, first = words[3], sizes[words[3]], 4
  end
  local problem = lines.readOptions(entry, words, first, { device = unitNumber }, { swap = true })
  if problem then
    return nil, problem .. "; there are the types uint16 int16 uint32 int32 float32 and the options"
      .. " scale= offset= round= unit= name= class= device= and swap"
  end
  return entry
end

-- The values of a text, and the lines that are none as { line, message }.
function registers.parse(text)
  return lines.parse(text, readLine)
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

-- The value of an entry in the registers of its block. `numbers` are the functions of `Modbus`.
function registers.value(entry, block, words, numbers)
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
    value = numbers.toInt16(high)
  elseif entry.type == "uint32" then
    value = numbers.toUint32(high, low)
  elseif entry.type == "int32" then
    value = numbers.toInt32(high, low)
  elseif entry.type == "float32" then
    value = numbers.toFloat32(high, low)
  end
  -- What a meter without a value gives: not a number.
  if value ~= value then
    return nil
  end
  return lines.calculate(entry, value)
end

return registers
