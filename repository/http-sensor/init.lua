-- Values from JSON documents on web servers, as sensors.

local values = require("values")

local plugin = Plugin:new("http-sensor")

-- A document that does not come is asked for once more (ms).
local attempts = 2
local backoff = 2000

-- The last value by id, and what is wrong by what it is wrong with: a document's address or a value's id.
local known = {}
local complaints = {}

local function showStatus()
  local reasons = {}
  for what, reason in pairs(complaints) do
    reasons[#reasons + 1] = what .. ": " .. reason
  end
  table.sort(reasons)
  plugin:upsertObject("status", { ok = #reasons == 0, problems = #reasons, first = reasons[1] })
end

-- Says what is wrong once, and once that it is right again.
local function complain(what, reason)
  local before = complaints[what]
  complaints[what] = reason
  if reason and reason ~= before then
    plugin:log("warn", what .. ": " .. reason)
  elseif before and not reason then
    plugin:log("info", what .. " is there again")
  end
end

local function update(entry, document)
  local value, problem = values.find(entry, document)
  complain(entry.id, problem)
  if value == nil or value == known[entry.id] then
    return
  end
  local previous = known[entry.id]
  known[entry.id] = value
  plugin:get(entry.id):notify()
  plugin:emit("http-sensor:changed", { id = entry.id, value = value, previous = previous })
end

local function ask(source, config, done)
  local headers = {}
  if source.auth and config.token then
    headers.Authorization = plugin:bearerAuth(config.token)
  end
  plugin:httpRequest({
    url = source.url,
    headers = headers,
    timeout = config.timeout * 1000,
    parseJson = "success",
    insecureSkipVerify = config.insecure,
  }, function(response, err)
    if err or not response.ok then
      done(err or ("HTTP " .. response.status))
      return
    end
    complain(source.place, nil)
    for _, entry in ipairs(source.entries) do
      update(entry, response.json)
    end
    showStatus()
    done()
  end)
end

-- Device classes of what is counted up: Home Assistant wants another state class for them than for what is measured.
local counted = { energy = true, gas = true, volume = true, water = true }

local function show(entry)
  local sensor = plugin:sensor(entry.id, function()
    return known[entry.id]
  end)
  expose(sensor, "sensor", {
    name = entry.name or entry.id,
    unit = entry.unit,
    device_class = entry.class,
    state_class = counted[entry.class] and "total_increasing" or entry.unit and "measurement" or nil,
  })
end

plugin:onInit(function(config)
  local entries, refused = values.read(config.values)
  for _, problem in ipairs(refused) do
    plugin:log("error", "row " .. problem.row .. ": " .. problem.message)
    complaints["row " .. problem.row] = problem.message
  end
  for _, entry in ipairs(entries) do
    show(entry)
  end
  showStatus()

  local pollers = {}
  for index, source in ipairs(values.sources(entries)) do
    pollers[index] = plugin:poller(source.place, {
      interval = config.interval * 1000,
      immediate = true,
      timeout = (config.timeout * attempts) * 1000 + backoff * attempts,
      retry = { maxAttempts = attempts, backoff = backoff },
      onTick = function(done)
        ask(source, config, done)
      end,
      onError = function(problem)
        complain(source.place, tostring(problem))
        showStatus()
      end,
    })
    pollers[index].start()
  end

  -- A button has no value of its own: any value presses it.
  local refresh = plugin:control("refresh", function()
    return nil
  end, function()
    for _, poller in ipairs(pollers) do
      poller.poll()
    end
  end)
  expose(refresh, "button", { name = "Refresh" })
end)

return plugin
