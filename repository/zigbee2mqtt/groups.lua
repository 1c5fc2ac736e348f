-- What a group can do: what all of its members can. Zigbee2MQTT does not say it. Pure.

local groups = {}

local shared = { light = true, switch = true, cover = true, lock = true, fan = true }

-- The first thing of this type among the exposes of a member.
local function thingOf(exposes, type)
  for _, expose in ipairs(exposes or {}) do
    if expose.type == type and expose.features then
      return expose
    end
  end
  return nil
end

local function hasFeature(expose, name)
  for _, feature in ipairs(expose.features) do
    if feature.name == name then
      return true
    end
  end
  return false
end

-- The exposes of a group from those of its members. A group knows no endpoints: its properties have the plain names.
function groups.exposes(members)
  local result = {}
  for _, first in ipairs(members[1] or {}) do
    if shared[first.type] and first.features and thingOf(result, first.type) == nil then
      local others = {}
      for _, exposes in ipairs(members) do
        others[#others + 1] = thingOf(exposes, first.type)
      end
      if #others == #members then
        local features = {}
        for _, feature in ipairs(first.features) do
          local everywhere = true
          for _, other in ipairs(others) do
            everywhere = everywhere and hasFeature(other, feature.name)
          end
          if everywhere then
            local plain = {}
            for key, value in pairs(feature) do
              plain[key] = value
            end
            if plain.endpoint or first.endpoint then
              local suffix = "_" .. (plain.endpoint or first.endpoint)
              if plain.property and plain.property:sub(-#suffix) == suffix then
                plain.property = plain.property:sub(1, -#suffix - 1)
              end
              plain.endpoint = nil
            end
            features[#features + 1] = plain
          end
        end
        if #features > 0 then
          result[#result + 1] = { type = first.type, features = features }
        end
      end
    end
  end
  return result
end

return groups
