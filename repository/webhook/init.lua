-- Takes requests from outside, and makes events and MQTT messages of them.

local plugin = Plugin:new("webhook")

local total = 0

-- What a template can name.
local function valuesOf(request)
  return {
    method = request.method,
    path = request.path,
    query = request.query,
    headers = request.headers,
    json = request.json,
    form = request.form,
    body = request.body,
    remote = request.remote,
  }
end

-- All that is worth telling of a request; the body as it is only where nothing has been read from it.
local function dataOf(request)
  local body = nil
  if request.json == nil and request.form == nil and request.body ~= "" then body = request.body end
  return {
    method = request.method,
    query = request.query,
    json = request.json,
    form = request.form,
    body = body,
    remote = request.remote,
  }
end

local function payloadOf(request, text)
  if text then return text end
  if request.json ~= nil then return plugin:jsonEncode(request.json) end
  if request.form then return plugin:jsonEncode(request.form) end
  return request.body
end

local function take(row, request)
  local text = nil
  if row.text then text = template.render(row.text, valuesOf(request)) end
  plugin:emit(row.event or ("webhook:" .. row.path), text and { text = text } or dataOf(request))
  if row.topic then plugin:mqttPublish(row.topic, payloadOf(request, text), { retain = row.retain }) end
  total = total + 1
  plugin:get("requests"):notify()
  plugin:upsertObject("last." .. row.path, { at = os.time(), method = request.method, from = request.remote })
  return 200, template.render(row.answer, valuesOf(request))
end

-- Why a row cannot be used; nil when it can.
local function faultOf(row)
  for _, name in ipairs({ "text", "answer" }) do
    if row[name] then
      local _, problem = template.render(row[name], {})
      if problem then return name .. ": " .. problem end
    end
  end
end

local function open(row)
  local options = { auth = row.locked and "token" or "secret" }
  if row.method ~= "any" then options.methods = { row.method } end
  plugin:httpHandler(row.path, function(request) return take(row, request) end, options)
end

plugin:onInit(function(config)
  expose(plugin:sensor("requests", function() return total end), "sensor", { name = "Requests", icon = "mdi:webhook" })
  for index, row in ipairs(config.requests) do
    local fault = faultOf(row)
    local opened, problem = true, fault
    if not fault then opened, problem = pcall(open, row) end
    if fault or not opened then
      plugin:log("error", "Request " .. index .. " (" .. row.path .. ") is left out: " .. tostring(problem))
    end
  end
end)

return plugin
