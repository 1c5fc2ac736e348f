-- Cuts what comes from a P1 port into telegrams: from "/" to "!" and, since DSMR 4, a check sum of four hex digits.

local telegrams = {}

-- Bytes; a meter sends 4 KB at most, and what goes on without an end is none.
local longest = 16384

-- Three letters of the maker and a digit. Where a telegram was cut in half the next begins in the midst of it, so the
-- last one before an end counts.
local lastHeader = ".*()/%a%a%a%d"

-- The CRC-16 of DSMR (ARC): begins with 0, while the one of Modbus begins with 0xFFFF.
local remainders = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = (crc & 1) == 1 and (crc >> 1) ~ 0xA001 or crc >> 1
  end
  remainders[byte] = crc
end

function telegrams.checkSum(text)
  local crc = 0
  for index = 1, #text do
    crc = (crc >> 8) ~ remainders[(crc ~ text:byte(index)) & 0xFF]
  end
  return crc
end

-- What is wrong with a telegram; nil when it can be used. Those before DSMR 4 name no version and have no check sum.
local function faultOf(text, crc, after)
  if crc then
    return telegrams.checkSum(text) ~= tonumber(crc, 16) and "the check sum is wrong" or nil
  end
  local due = after:find("^%x") or text:find("\n1-3:0.2.8(", 1, true)
  return due and "the check sum is missing" or nil
end

-- A function that takes bytes as they come, and gives an array of `{ text }` and `{ fault }`.
function telegrams.reader()
  local pending = ""
  return function(data)
    pending = pending .. data
    local found = {}
    while true do
      local last = pending:find("!", 1, true)
      local after = last and pending:sub(last + 1, last + 4)
      local crc = after and after:match("^%x%x%x%x$")
      if not last or not crc and after:find("^%x*$") then
        break
      end
      local text = pending:sub(1, last)
      local first = text:match(lastHeader)
      if first then
        text = text:sub(first)
        local fault = faultOf(text, crc, after)
        found[#found + 1] = fault and { fault = fault } or { text = text }
      end
      pending = pending:sub(last + 1 + (crc and 4 or 0))
    end
    if #pending > longest then
      pending = ""
      found[#found + 1] = { fault = "no telegram ends within " .. longest .. " bytes" }
    end
    return found
  end
end

return telegrams
