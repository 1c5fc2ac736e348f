-- Makes the sensors, controls, exposures and the object of one device or group, and takes them away again.
-- A record is: key, kind, name, slug, friendlyName, description, model, vendor, power, version, area, points, things,
-- shown, available, state.

local classes = require("classes")
local naming = require("naming")
local things = require("things")
local values = require("values")

local device = {}

local scalar = { binary = true, numeric = true, enum = true, text = true }
-- Of what is a setting or a diagnosis these are wanted all the same.
local always = { battery = true, battery_low = true }

local function same(one, other)
  if type(one) ~= "table" or type(other) ~= "table" then
    return one == other
  end
  for key, value in pairs(one) do
    if not same(value, other[key]) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

-- `host` has plugin, command(record, payload), details and cramped(problem).
function device.maker(host)
  local plugin = host.plugin

  local function deviceOf(record)
    local made = record.made
    local id = record.key:gsub("[^%w_-]", "_")
    if made.said then
      return { id = id }
    end
    made.said = true
    return {
      id = id,
      name = record.name,
      model = record.model,
      manufacturer = record.vendor,
      version = record.version,
      area = record.area,
      via = "bridge",
    }
  end

  local function show(record, object, type, suffix, options)
    local id = record.key .. "_" .. suffix
    options.id = id
    options.device = deviceOf(record)
    local done, problem = pcall(expose, object, type, options)
    if not done then
      host.cramped(tostring(problem))
      return
    end
    record.made.exposed[id] = object
    object:setAvailable(record.available)
  end

  -- Who is told when a property has changed.
  local function follow(record, property, tell)
    local list = record.made.followers[property] or {}
    record.made.followers[property] = list
    list[#list + 1] = tell
  end

  -- Whose a sensor, control or object is: two devices may exchange their names.
  local owners = { sensors = {}, controls = {}, objects = {} }

  local function own(record, kind, id)
    owners[kind][id] = record
    record.made[kind][id] = true
  end

  local function addPoint(record, id, point, read, write)
    if point.settable then
      own(record, "controls", id)
      return plugin:control(id, read, write)
    end
    own(record, "sensors", id)
    return plugin:sensor(id, read)
  end

  local function isShown(record, point, covered)
    return record.shown
      and scalar[point.kind]
      and not covered[point.property]
      and (host.details or point.category == nil or always[point.name])
  end

  local function typeOf(point)
    if point.name == "action" then
      return "event"
    elseif point.kind == "binary" then
      return point.settable and "switch" or "binary_sensor"
    elseif point.kind == "numeric" then
      return point.settable and "number" or "sensor"
    elseif point.kind == "enum" and point.settable and not point.readable and #point.values == 1 then
      return "button"
    end
    return point.kind == "enum" and "select" or (point.settable and "text" or "sensor")
  end

  local function exposeOptions(point)
    local class, state = classes.of(point)
    local options = { name = point.label, device_class = class, state_class = state }
    if point.kind == "numeric" then
      options.unit = point.unit
      if point.settable then
        options.min, options.max, options.step = point.min, point.max, point.step
        options.state_class = nil
      end
    elseif point.kind == "enum" then
      options.options = {}
      for index, value in ipairs(point.values) do
        options.options[index] = tostring(value)
      end
    end
    return options
  end

  -- Names for special values of a number: a choice of its own.
  local function addPresets(record, id, point, isOpen)
    if not point.presets or not point.settable then
      return
    end
    local options = {}
    for index, preset in ipairs(point.presets) do
      options[index] = preset.name
    end
    local control = addPoint(record, id .. "_preset", point, function()
      return point.readable and values.presetOf(point, record.state[point.property]) or nil
    end, function(value)
      host.command(record, { [point.property] = values.encode(point, value) })
    end)
    follow(record, point.property, control.notify)
    if isOpen then
      local suffix = point.property .. "_preset"
      show(record, control, "select", suffix, { name = point.label .. " preset", options = options })
    end
  end

  local function addAction(record, point, sensor)
    record.made.actions[point.property] = function(raw)
      sensor:emit("OnChange", raw)
      plugin:emit("zigbee2mqtt:action", {
        device = record.name,
        address = record.key,
        action = raw,
        endpoint = point.endpoint,
      })
    end
  end

  local function addProperty(record, point, covered)
    local id = record.slug .. "_" .. naming.slug(point.property)
    local function read()
      local raw = record.state[point.property]
      if raw == nil or not point.readable then
        return nil
      end
      -- A preset beyond the range is no number of the range.
      if point.kind == "numeric" and point.settable and values.presetOf(point, raw) then
        local number = tonumber(raw)
        if number and ((point.min and number < point.min) or (point.max and number > point.max)) then
          return nil
        end
      end
      return values.decode(point, raw)
    end
    local function write(value, feature)
      local wanted = feature == "press" and point.values and point.values[1] or value
      host.command(record, { [point.property] = values.encode(point, wanted) })
    end
    local object = addPoint(record, id, point, read, write)
    local isOpen = isShown(record, point, covered)
    if point.name == "action" and point.readable then
      addAction(record, point, object)
    else
      follow(record, point.property, object.notify)
    end
    if isOpen then
      show(record, object, typeOf(point), point.property, exposeOptions(point))
    end
    if point.kind == "numeric" then
      addPresets(record, id, point, isOpen)
    end
    return id
  end

  -- What a composite tells, each part for itself; it is set as a whole.
  local function addFields(record, id, composite)
    for _, field in ipairs(composite.order) do
      if field.readable and scalar[field.kind] then
        local part = {}
        for key, value in pairs(field) do
          part[key] = value
        end
        part.settable = false
        part.label = composite.label .. ": " .. field.label
        part.category = field.category or composite.category
        part.property = composite.property .. "." .. field.property
        local sensor = addPoint(record, id .. "_" .. naming.slug(field.property), part, function()
          local whole = record.state[composite.property]
          if type(whole) ~= "table" then
            return nil
          end
          return values.decode(field, whole[field.property])
        end)
        follow(record, composite.property, sensor.notify)
        if isShown(record, part, {}) then
          show(record, sensor, typeOf(part), composite.property .. "_" .. field.property, exposeOptions(part))
        end
      end
    end
  end

  local function addThing(record, thing, read)
    local listeners = {}
    local object = {}
    function object:get(feature)
      local getter = thing.getters[feature]
      return getter and getter(record.state)
    end
    function object:set(feature, value)
      local setter = thing.setters[feature]
      if setter == nil then
        error("this cannot be set", 0)
      end
      host.command(record, setter(value))
    end
    function object:onChange(callback)
      listeners[callback] = true
      return function()
        listeners[callback] = nil
      end
    end
    if next(thing.setters) == nil then
      object.set = nil
    end
    local function tell()
      for callback in pairs(listeners) do
        callback()
      end
    end
    for property in pairs(thing.properties) do
      follow(record, property, tell)
    end
    if thing.type == "light" then
      follow(record, "color_mode" .. (read.endpoint and "_" .. read.endpoint or ""), tell)
    end
    local options = thing.options
    options.name = thing.type:sub(1, 1):upper() .. thing.type:sub(2) .. (read.endpoint and " " .. read.endpoint or "")
    options.features = thing.features
    show(record, object, thing.type, thing.type .. (read.endpoint and "_" .. read.endpoint or ""), options)
  end

  local function tellObject(record)
    plugin:upsertObject("devices." .. record.slug, {
      name = record.name,
      friendlyName = record.friendlyName,
      address = record.key,
      kind = record.kind,
      description = record.description,
      model = record.model,
      vendor = record.vendor,
      power = record.power,
      version = record.version,
      supported = record.supported,
      available = record.available,
      state = record.state,
    })
  end

  local self = { tell = tellObject }

  -- Makes all of a record; what `previous`, the record that it replaces, has beyond that is taken away. First the
  -- new and then the old: what only gets another name is never gone.
  function self.build(record, previous)
    record.made = { sensors = {}, controls = {}, objects = {}, exposed = {}, followers = {}, actions = {} }
    own(record, "objects", record.slug)
    local effect
    local lights = 0
    for _, read in ipairs(record.things) do
      lights = lights + (read.type == "light" and 1 or 0)
    end
    for _, point in ipairs(record.points) do
      if lights == 1 and point.name == "effect" and point.kind == "enum" then
        effect = point
      end
    end
    local covered = {}
    if record.shown then
      for _, read in ipairs(record.things) do
        local thing = things.make(read, effect)
        if thing then
          addThing(record, thing, read)
          for property in pairs(thing.properties) do
            covered[property] = true
          end
        end
      end
    end
    for _, point in ipairs(record.points) do
      local id = addProperty(record, point, covered)
      if point.fields and not point.within then
        addFields(record, id, point)
      end
    end
    tellObject(record)
    if previous then
      self.remove(previous, record)
    end
  end

  local removals = {
    sensors = function(id)
      plugin:removeSensor(id)
    end,
    controls = function(id)
      plugin:removeControl(id)
    end,
    objects = function(slug)
      plugin:removeObject("devices." .. slug)
    end,
  }

  -- Takes away what a record has made, but for what `kept`, the record in its place, has now.
  function self.remove(record, kept)
    for id, object in pairs(record.made.exposed) do
      if kept == nil or not kept.made.exposed[id] then
        unexpose(object)
      end
    end
    for kind, remove in pairs(removals) do
      for id in pairs(record.made[kind]) do
        if owners[kind][id] == record then
          owners[kind][id] = nil
          remove(id)
        end
      end
    end
  end

  -- Takes in what a device has said. All of it is known before anybody is told: a light has several properties.
  function self.take(record, changes)
    local tellers, seen, actions = {}, {}, {}
    for property, raw in pairs(changes) do
      local isOther = not same(record.state[property], raw)
      record.state[property] = raw
      record.dirty = record.dirty or isOther
      if record.made.actions[property] and raw ~= "" then
        actions[#actions + 1] = property
      end
      for _, tell in ipairs(isOther and record.made.followers[property] or {}) do
        if not seen[tell] then
          seen[tell] = true
          tellers[#tellers + 1] = tell
        end
      end
    end
    for _, tell in ipairs(tellers) do
      tell()
    end
    for _, property in ipairs(actions) do
      record.made.actions[property](changes[property])
    end
    tellObject(record)
  end

  function self.setAvailable(record, available)
    record.available = available
    for _, object in pairs(record.made.exposed) do
      object:setAvailable(available)
    end
    tellObject(record)
  end

  return self
end

return device
