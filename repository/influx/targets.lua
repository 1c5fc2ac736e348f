-- Where and how each kind of database takes its lines.

local targets = {}

local function isSet(value)
  return value ~= nil and value ~= ""
end

local function orNil(value)
  return isSet(value) and value or nil
end

-- Each: the settings it cannot do without, and path and query of its write address.
local kinds = {
  influx2 = {
    needed = { "org", "bucket", "token" },
    path = "/api/v2/write",
    query = function(config)
      return { org = config.org, bucket = config.bucket }
    end,
  },
  influx1 = {
    needed = { "database" },
    path = "/write",
    query = function(config)
      return { db = config.database, rp = orNil(config.retention) }
    end,
  },
  -- Takes version 1's lines; the database is only a label.
  victoriametrics = {
    needed = {},
    path = "/write",
    query = function(config)
      return { db = orNil(config.database) }
    end,
  },
}

-- The names of the settings that are missing.
function targets.missing(config)
  local missing = {}
  for _, key in ipairs(kinds[config.kind].needed) do
    if not isSet(config[key]) then
      missing[#missing + 1] = key
    end
  end
  return missing
end

-- The base address without its parameters, and the parameters.
function targets.address(config)
  local kind = kinds[config.kind]
  local query = kind.query(config)
  query.precision = "ms"
  return (config.url:gsub("/+$", "")) .. kind.path, query
end

-- The Authorization header, or nil. `basic(user, password)` makes one from a user.
function targets.authorization(config, basic)
  if isSet(config.user) then
    return basic(config.user, config.password or "")
  end
  if isSet(config.token) then
    return (config.kind == "influx2" and "Token " or "Bearer ") .. config.token
  end
  return nil
end

-- What an answer means for the batch: "written"; "again" for what may pass; "smaller" when it was too large;
-- "refused" for what would be refused every time.
function targets.outcome(response)
  if response.ok then
    return "written"
  end
  local status = response.status
  -- A wrong token or a missing bucket can be put right while the points wait.
  if status < 400 or status >= 500 or status == 429 or status == 408 or (status >= 401 and status <= 404) then
    return "again"
  end
  return status == 413 and "smaller" or "refused"
end

return targets
