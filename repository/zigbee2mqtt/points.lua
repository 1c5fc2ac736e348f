-- Reads `definition.exposes`: what a device can do, as points with a value each, and as things made of several.
-- A point has: property, label, kind, readable, settable, gettable, category, and what its kind needs. Pure.

local points = {}

local generic = { binary = true, numeric = true, enum = true, text = true, composite = true, list = true }

-- The three bits of `access`: published, can be set, can be asked for.
local function rights(access)
  local bits = type(access) == "number" and math.floor(access) or 0
  return bits % 2 == 1, math.floor(bits / 2) % 2 == 1, math.floor(bits / 4) % 2 == 1
end

local function readPresets(presets)
  if type(presets) ~= "table" then
    return nil
  end
  -- One alone is written without a list, too.
  local list = presets.name and { presets } or presets
  local read = {}
  for _, preset in ipairs(list) do
    if type(preset) == "table" and preset.name and preset.value ~= nil then
      read[#read + 1] = { name = tostring(preset.name), value = preset.value }
    end
  end
  return #read > 0 and read or nil
end

local function labelOf(expose, endpoint)
  local label = expose.label or expose.name or expose.property or expose.type
  label = tostring(label):gsub("_", " ")
  if expose.label == nil then
    label = label:sub(1, 1):upper() .. label:sub(2)
  end
  if endpoint and not label:lower():find(endpoint:lower(), 1, true) then
    label = label .. " " .. endpoint
  end
  return label
end

-- A point, or nil for what is none. `endpoint` is that of what it stands in.
function points.readPoint(expose, endpoint)
  if type(expose) ~= "table" or not generic[expose.type] then
    return nil
  end
  endpoint = expose.endpoint or endpoint
  local readable, settable, gettable = rights(expose.access)
  local point = {
    name = expose.name,
    property = expose.property or expose.name,
    label = labelOf(expose, endpoint),
    kind = expose.type,
    endpoint = endpoint,
    category = expose.category,
    readable = readable,
    settable = settable,
    gettable = gettable,
    unit = expose.unit ~= "" and expose.unit or nil,
    min = tonumber(expose.value_min),
    max = tonumber(expose.value_max),
    step = tonumber(expose.value_step),
    presets = readPresets(expose.presets),
    toggle = expose.value_toggle,
    fewest = tonumber(expose.length_min),
    most = tonumber(expose.length_max),
  }
  if point.property == nil then
    return nil
  end
  if expose.type == "binary" then
    point.on, point.off = expose.value_on, expose.value_off
    if point.on == nil and point.off == nil then
      point.on, point.off = true, false
    end
  elseif expose.type == "enum" then
    point.values = type(expose.values) == "table" and expose.values or {}
  elseif expose.type == "list" then
    local item = type(expose.item_type) == "table" and expose.item_type or nil
    if item then
      local named = {}
      for key, value in pairs(item) do
        named[key] = value
      end
      named.property = item.property or point.property
      point.item = points.readPoint(named, endpoint)
    end
  elseif expose.type == "composite" then
    point.fields, point.order = {}, {}
    for _, feature in ipairs(expose.features or {}) do
      local field = points.readPoint(feature, endpoint)
      if field then
        point.fields[field.property] = field
        point.order[#point.order + 1] = field
        -- A composite that says nothing can do what its parts can.
        if expose.access == nil then
          point.readable = point.readable or field.readable
          point.settable = point.settable or field.settable
          point.gettable = point.gettable or field.gettable
        end
      end
    end
  end
  return point
end

-- Two composites may share a property: a colour is written as x and y, or as hue and saturation.
local function add(list, byProperty, point)
  local present = byProperty[point.property]
  if present == nil then
    byProperty[point.property] = point
    list[#list + 1] = point
  elseif present.fields and point.fields then
    for _, field in ipairs(point.order) do
      if present.fields[field.property] == nil then
        present.order[#present.order + 1] = field
      end
      present.fields[field.property] = present.fields[field.property] or field
    end
    present.readable = present.readable or point.readable
    present.settable = present.settable or point.settable
  end
end

-- All points in their order, and the things as { type, endpoint, features = { name = point }, first = name of the
-- first feature for a colour }.
function points.read(exposes)
  local list, things, byProperty = {}, {}, {}
  for _, expose in ipairs(type(exposes) == "table" and exposes or {}) do
    if generic[expose.type] then
      local point = points.readPoint(expose)
      if point then
        add(list, byProperty, point)
      end
    elseif type(expose.features) == "table" then
      local thing = { type = expose.type, endpoint = expose.endpoint, features = {} }
      for _, feature in ipairs(expose.features) do
        local point = points.readPoint(feature, expose.endpoint)
        if point then
          point.within = expose.type
          thing.features[point.name or point.property] = point
          if point.name == "color_hs" or point.name == "color_xy" then
            thing.colour = thing.colour or point.name
          end
          -- The colours of a thing stay apart; the list has one point of both.
          local shared = point
          if point.fields then
            shared = points.readPoint(feature, expose.endpoint)
            shared.within = expose.type
          end
          add(list, byProperty, shared)
        end
      end
      things[#things + 1] = thing
    end
  end
  return list, things
end

return points
