-- A stage for a plugin that lives by the clock: time stands still until `advance` moves it, `jump` sets the time of day
-- alone, and what the plugin emits is written down. It stands in for the few methods that such a plugin uses.

local stage = {
  now = 0,
  -- How far the time of day was set on.
  setOn = 0,
  events = {},
  objects = {},
  points = {},
  handles = {},
  kept = {},
  timers = {},
  -- Whether the callback that emits next is stopped there.
  isStopping = false,
  subscriptions = {},
}
local nativeTime, nativeDate = os.time, os.date
local instance, init

os.time = function(parts)
  if parts then
    return nativeTime(parts)
  end
  return math.floor(stage.now)
end

os.date = function(format, time)
  return nativeDate(format, time or math.floor(stage.now))
end

os.clock = function()
  return stage.now - stage.setOn
end

local methods = {}
methods.__index = methods

function methods.log() end

function methods.onInit(_, callback)
  init = callback
end

function methods.setTimeout(_, milliseconds, callback)
  local timer = { due = stage.now + milliseconds / 1000, callback = callback }
  table.insert(stage.timers, timer)
  return timer
end

function methods.clearTimer(_, timer)
  for index, each in ipairs(stage.timers) do
    if each == timer then
      table.remove(stage.timers, index)
      return
    end
  end
end

function methods.setInterval(self, milliseconds, callback)
  local function run()
    self:setTimeout(milliseconds, run)
    callback()
  end
  self:setTimeout(milliseconds, run)
end

function methods.upsertObject(_, path, data)
  stage.objects[path] = data
end

function methods.emit(_, name, data)
  if stage.isStopping then
    stage.isStopping = false
    -- For good: nobody goes on with it. No pcall of the plugin sees that either.
    coroutine.yield()
  end
  table.insert(stage.events, { name = name, at = math.floor(stage.now), data = data })
end

local function point(id, getter, setter)
  stage.points[id] = getter
  stage.handles[id] = {
    notify = function() getter() end,
    emit = function() end,
    set = function(_, value) setter(value) end,
  }
  return stage.handles[id]
end

function methods.sensor(_, id, getter)
  return point(id, getter)
end

function methods.control(_, id, getter, setter)
  return point(id, getter, setter)
end

function methods.get(_, id)
  return stage.handles[id]
end

function methods.mqttPublish(_, topic, payload)
  table.insert(stage.events, { name = topic, at = math.floor(stage.now), data = { payload = payload } })
end

function methods.mqttSubscribe(_, filter, callback)
  table.insert(stage.subscriptions, { filter = filter, callback = callback })
end

function methods.kvGet(_, key, default)
  local value = stage.kept[key]
  if value == nil then
    return default
  end
  return value
end

function methods.kvSet(_, key, value)
  stage.kept[key] = value
end

-- A test configures the plugin with values of the right type.
function methods.coerceString(_, value, default)
  return value == nil and default or value
end

function methods.coerceNumber(_, value, default)
  return value == nil and default or value
end

function methods.coerceBool(_, value, default)
  if value == nil then
    return default
  end
  return value
end

function expose(object)
  return object
end

Plugin = {
  new = function()
    instance = setmetatable({}, methods)
    return instance
  end,
}

function stage.start(now, config)
  stage.now = now
  require("init")
  instance.config = config
  init(config)
end

function stage.read(id)
  return stage.points[id]()
end

function stage.set(id, value)
  stage.handles[id]:set(value)
end

function stage.object(path)
  return stage.objects[path]
end

-- A message of the broker. Answers the events that come of it.
function stage.receive(topic, payload)
  stage.events = {}
  for _, subscription in ipairs(stage.subscriptions) do
    if subscription.filter == topic then
      subscription.callback(topic, payload)
    end
  end
  return stage.events
end

-- As where the machine has no time for the plugin: its callback is stopped where it emits something.
function stage.stopNext()
  stage.isStopping = true
end

-- Moves the time on, and runs every timer that falls due on the way. Answers the events of that span.
function stage.advance(seconds)
  stage.events = {}
  local goal = stage.now + seconds
  while true do
    table.sort(stage.timers, function(a, b)
      return a.due < b.due
    end)
    local first = stage.timers[1]
    if not first or first.due > goal then
      stage.now = goal
      return stage.events
    end
    table.remove(stage.timers, 1)
    stage.now = first.due
    coroutine.wrap(first.callback)()
  end
end

-- As where the host is paused: time goes by, and what fell due meanwhile is called late, once.
function stage.pause(seconds)
  stage.events = {}
  stage.now = stage.now + seconds
  local timers = stage.timers
  stage.timers = {}
  for _, timer in ipairs(timers) do
    if timer.due > stage.now then
      table.insert(stage.timers, timer)
    else
      timer.callback()
    end
  end
  return stage.events
end

-- As after a sleep of the computer: the time is suddenly another, and one timer fires, if there is one.
function stage.jump(seconds)
  stage.events = {}
  stage.now = stage.now + seconds
  stage.setOn = stage.setOn + seconds
  for _, timer in ipairs(stage.timers) do
    timer.due = timer.due + seconds
  end
  local first = table.remove(stage.timers, 1)
  if first then
    first.callback()
  end
  return stage.events
end

return stage
