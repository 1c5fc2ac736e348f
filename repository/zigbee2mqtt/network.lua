-- Which devices and groups there are, from what Zigbee2MQTT says of them. Pure.

local groups = require("groups")
local naming = require("naming")
local points = require("points")

local network = {}

local function isInterviewing(raw)
  return raw.interviewing == true or raw.interview_state == "IN_PROGRESS"
end

-- The devices that are shown, as { key, name, friendlyName, … , exposes }, from `bridge/devices`.
function network.devices(list, rows)
  local entries = {}
  for _, raw in ipairs(list or {}) do
    local name, key = raw.friendly_name, raw.ieee_address
    if raw.type ~= "Coordinator" and type(name) == "string" and type(key) == "string" then
      local said = naming.overrides(rows, name, key)
      local definition = type(raw.definition) == "table" and raw.definition or {}
      if not raw.disabled and not said.leaveOut then
        entries[#entries + 1] = {
          key = key,
          kind = "device",
          name = said.name or name,
          area = said.area,
          friendlyName = name,
          description = raw.description or definition.description,
          model = definition.model or raw.model_id,
          vendor = definition.vendor or raw.manufacturer,
          version = raw.software_build_id,
          power = raw.power_source,
          supported = raw.supported ~= false,
          exposes = definition.exposes,
          interviewing = isInterviewing(raw) and definition.exposes == nil,
        }
      end
    end
  end
  return entries
end

-- The groups from `bridge/groups`; what they can do comes from `list`, which is `bridge/devices`.
function network.groups(groupList, list, rows)
  local exposesOf = {}
  for _, raw in ipairs(list or {}) do
    if raw.ieee_address and type(raw.definition) == "table" then
      exposesOf[raw.ieee_address] = raw.definition.exposes
    end
  end
  local entries = {}
  for _, raw in ipairs(groupList or {}) do
    local name, key = raw.friendly_name, "group-" .. tostring(raw.id)
    local said = naming.overrides(rows, tostring(name), key)
    if type(name) == "string" and not said.leaveOut then
      local members = {}
      for index, member in ipairs(raw.members or {}) do
        members[index] = exposesOf[member.ieee_address] or {}
      end
      entries[#entries + 1] = {
        key = key,
        kind = "group",
        name = said.name or name,
        area = said.area,
        friendlyName = name,
        description = raw.description,
        model = "Group",
        supported = true,
        exposes = groups.exposes(members),
      }
    end
  end
  return entries
end

-- A record of an entry, with what it can do, but for the properties that are left out.
function network.record(entry, leaveOut)
  local record = {}
  for key, value in pairs(entry) do
    record[key] = value
  end
  record.exposes = nil
  local list
  list, record.things = points.read(entry.exposes)
  record.points = {}
  for _, point in ipairs(list) do
    if not leaveOut[point.name] and not leaveOut[point.property] then
      record.points[#record.points + 1] = point
    end
  end
  return record
end

return network
