-- Who is home, by the messages and the answers of their devices.

local people = require("people")
local watch = require("watch")

local plugin = Plugin:new("presence")

-- How often it is looked who has not been seen for too long (ms).
local lookInterval = 1000
-- A look that comes so much later tells that the host stood still (seconds): what came meanwhile was not heard yet.
local standstill = 1
-- Who is home is written down this often at most (seconds): a device may be heard of many times a second.
local keepInterval = 30

local watched
-- When it was written down last, by a clock that only moves forward.
local kept = {}

local function keep(person)
  if kept[person.id] == nil or person.heardAt - kept[person.id] >= keepInterval then
    kept[person.id] = person.heardAt
    plugin:kvSet("seen:" .. person.id, person.lastSeen)
  end
end

local function show(person)
  plugin:upsertObject(person.id, {
    name = person.name,
    home = person.home,
    lastSeen = person.lastSeen,
    since = person.since,
  })
end

-- Somebody has come or gone.
local function tell(id)
  local person = watched.people[id]
  local count = watched:count()
  show(person)
  plugin:get(id):notify()
  plugin:get("anyone"):notify()
  plugin:emit(person.home and "presence:arrived" or "presence:left", {
    id = id,
    name = person.name,
    at = person.since,
    home = count,
  })
end

local function seen(id)
  local arrived = watched:seen(id, os.time(), os.clock())
  keep(watched.people[id])
  if arrived then
    tell(id)
  end
end

local function gone(id)
  if watched:gone(id, os.time()) then
    plugin:kvSet("seen:" .. id, nil)
    kept[id] = nil
    tell(id)
  end
end

local function follow(id, topic)
  plugin:mqttSubscribe(topic, function(_, payload)
    local home = watch.meaning(payload)
    if home then
      seen(id)
    elseif home == false then
      gone(id)
    end
  end)
end

local function ask(id, url, config)
  local poller = plugin:poller(id, {
    interval = config.interval * 1000,
    immediate = true,
    timeout = config.interval * 1000,
    onTick = function(done)
      plugin:httpRequest({
        url = url,
        method = "HEAD",
        timeout = math.min(10, config.interval) * 1000,
        insecureSkipVerify = true,
        log = false,
      }, function(response)
        -- A device that refuses to answer the question is there all the same.
        if response.status > 0 then
          seen(id)
        end
        done()
      end)
    end,
  })
  poller:start()
end

local function createSensors(list)
  local anyone = plugin:sensor("anyone", function()
    return watched:count() > 0
  end)
  expose(anyone, "binary_sensor", { name = "Anyone", device_class = "occupancy" })
  for _, person in ipairs(list) do
    local sensor = plugin:sensor(person.id, function()
      return watched.people[person.id].home
    end)
    expose(sensor, "binary_sensor", { name = person.name, device_class = "presence" })
  end
end

plugin:onInit(function(config)
  local list, problems = people.read(config.people)
  for _, problem in ipairs(problems) do
    plugin:log("error", problem)
  end
  watched = watch.new(config.timeout)
  for _, person in ipairs(list) do
    watched:add(person.id, person.name, plugin:kvGet("seen:" .. person.id), os.time(), os.clock())
    show(watched.people[person.id])
  end
  createSensors(list)
  for _, person in ipairs(list) do
    for _, source in ipairs(person.sources) do
      if source.topic then
        follow(person.id, source.topic)
      else
        ask(person.id, source.url, config)
      end
    end
  end
  local lookedAt = os.clock()
  plugin:setInterval(lookInterval, function()
    local clock = os.clock()
    local late = clock - lookedAt - lookInterval / 1000
    lookedAt = clock
    if late >= standstill then
      watched:excuse(late, clock)
    end
    for _, id in ipairs(watched:expire(os.time(), clock)) do
      plugin:kvSet("seen:" .. id, nil)
      kept[id] = nil
      tell(id)
    end
  end)
end)

return plugin
