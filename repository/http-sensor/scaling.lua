-- A number as a row of the settings wants it; what is no number stays as it is.

local scaling = {}

function scaling.apply(row, value)
  local number = tonumber(value)
  if number == nil or not (row.scale or row.offset or row.round) then
    return value
  end
  local scaled = number * (row.scale or 1) + (row.offset or 0)
  if row.round then
    local factor = 10 ^ row.round
    scaled = math.floor(scaled * factor + 0.5) / factor
  end
  return scaled
end

return scaling
