-- The calls of a Shelly over its WebSocket (its RPC, with the login of SHA-256).

local rpc = {}

local patience = 10000

local function digest(...)
  return hex.encode(crypto.sha256(table.concat({ ... }, ":")))
end

-- What a call carries, from what the device has asked for.
function rpc.login(challenge, password, cnonce)
  local nonce = tostring(challenge.nonce)
  local own = digest("admin", challenge.realm, password)
  local other = digest("dummy_method", "dummy_uri")
  return {
    realm = challenge.realm,
    username = "admin",
    nonce = challenge.nonce,
    cnonce = cnonce,
    response = digest(own, nonce, tostring(challenge.nc or 1), cnonce, "auth", other),
    algorithm = "SHA-256",
  }
end

-- `handlers`: `ready()`, `told(method, params)`, `lost(reason)`.
function rpc.open(plugin, host, password, handlers)
  -- An address of IPv6 has more than one colon.
  local isBare = host:find(":.*:") and not host:find("^%[")
  local place = isBare and "[" .. host .. "]" or host
  local socket = plugin:webSocket("ws://" .. place .. "/rpc")
  local waiting, last, challenge = {}, 0, nil
  local self = {}

  local function settle(id, result, problem)
    local call = waiting[id]
    if call then
      waiting[id] = nil
      plugin:clearTimer(call.timer)
      call.done(result, problem)
    end
  end

  local function send(method, params, done, isSecond)
    last = last + 1
    local id = last
    local frame = { id = id, src = "lupine", method = method, params = params }
    if challenge then
      frame.auth = rpc.login(challenge, password, hex.encode(crypto.randomBytes(8)))
    end
    local timer = plugin:setTimeout(patience, function()
      settle(id, nil, method .. " was not answered within 10 s")
    end)
    waiting[id] = { method = method, params = params, done = done, timer = timer, isSecond = isSecond }
    local sent, problem = socket:sendJson(frame)
    if not sent then
      settle(id, nil, problem)
    end
  end

  -- `done(result, problem)`, once.
  function self.call(method, params, done)
    send(method, params, done or function() end)
  end

  function self.close()
    socket:close()
  end

  local function answered(frame)
    local call = waiting[frame.id]
    if not call then
      return
    end
    local fault = frame.error
    if not fault then
      settle(frame.id, frame.result or {})
    elseif fault.code == 401 and not call.isSecond and password ~= "" then
      challenge = plugin:jsonDecode(tostring(fault.message))
      waiting[frame.id] = nil
      plugin:clearTimer(call.timer)
      send(call.method, call.params, call.done, true)
    elseif fault.code == 401 then
      settle(frame.id, nil, password == "" and "the device wants a password" or "the password is wrong")
    else
      settle(frame.id, nil, tostring(fault.message or fault.code))
    end
  end

  socket:onOpen(function()
    challenge = nil
    handlers.ready()
  end)
  socket:onMessage(function(data)
    local frame = plugin:jsonDecode(data)
    if type(frame) ~= "table" then
      return
    elseif frame.method then
      handlers.told(frame.method, type(frame.params) == "table" and frame.params or {})
    elseif frame.id then
      answered(frame)
    end
  end)
  socket:onClose(function(_, reason)
    for id in pairs(waiting) do
      settle(id, nil, "the connection is lost")
    end
    handlers.lost(reason or "the device has closed the connection")
  end)
  return self
end

return rpc
