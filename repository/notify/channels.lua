-- The ways out: what each needs, and the request that it makes of a message.

local text = require("text")

local channels = {}

-- All of them, in the order in which they are told of.
channels.names = { "telegram", "ntfy", "webhook" }

local telegramAddress = "https://api.telegram.org"
-- Characters of one Telegram message: 4096, the title and the tags around it included.
local telegramTitleLength = 250
local telegramTextLength = 3800
-- One of ntfy's may have 4096 bytes, and a character has up to four; a longer one becomes an attachment there.
local ntfyLength = 1000
-- From this priority on a message makes a sound.
local loud = 3

local function isSet(value)
  return value ~= nil and value ~= ""
end

-- The settings that each channel cannot do without.
local needed = {
  telegram = { "telegramToken", "telegramChat" },
  ntfy = { "ntfyTopic" },
  webhook = { "webhookUrl" },
}

-- The names of the channels that are set up, and a list of what is half set up.
function channels.configured(config)
  local names, problems = {}, {}
  for _, name in ipairs(channels.names) do
    local missing = {}
    for _, key in ipairs(needed[name]) do
      if not isSet(config[key]) then
        missing[#missing + 1] = key
      end
    end
    if #missing == 0 then
      names[#names + 1] = name
    elseif #missing < #needed[name] then
      problems[#problems + 1] = name .. " is left out: " .. table.concat(missing, ", ") .. " is not set"
    end
  end
  return names, problems
end

local function withLink(message)
  return message.link and (message.text .. "\n" .. message.link) or message.text
end

local requests = {}

function requests.telegram(config, message)
  local body = text.escape(text.cut(withLink(message), telegramTextLength))
  if message.title then
    body = "<b>" .. text.escape(text.cut(message.title, telegramTitleLength)) .. "</b>\n" .. body
  end
  return {
    url = telegramAddress .. "/bot" .. config.telegramToken .. "/sendMessage",
    json = {
      chat_id = config.telegramChat,
      text = body,
      parse_mode = "HTML",
      disable_notification = message.priority < loud,
    },
  }
end

function requests.ntfy(config, message)
  return {
    url = (config.ntfyServer:gsub("/+$", "")) .. "/",
    headers = isSet(config.ntfyToken) and { Authorization = "Bearer " .. config.ntfyToken } or nil,
    json = {
      topic = config.ntfyTopic,
      message = text.cut(message.text, ntfyLength),
      title = message.title,
      priority = message.priority,
      tags = #message.tags > 0 and message.tags or nil,
      click = message.link,
    },
  }
end

function requests.webhook(config, message)
  local body = {
    title = message.title,
    priority = message.priority,
    tags = #message.tags > 0 and message.tags or nil,
    link = message.link,
  }
  -- Chat services look for the whole message in one member; its name is theirs.
  body[config.webhookField] = message.title and (message.title .. "\n" .. withLink(message)) or withLink(message)
  return {
    url = config.webhookUrl,
    headers = isSet(config.webhookToken) and { Authorization = "Bearer " .. config.webhookToken } or nil,
    json = body,
  }
end

-- The options of an HTTP request that sends the message.
function channels.request(name, config, message)
  local options = requests[name](config, message)
  options.method = "POST"
  return options
end

-- Seconds that a server asks to wait for, in a header or, as Telegram does, in the body.
local function askedWait(response)
  local parameters = type(response.json) == "table" and response.json.parameters
  local seconds = type(parameters) == "table" and parameters.retry_after or response.headers["Retry-After"]
  return tonumber(seconds)
end

-- What came of a request: "sent"; "again" with the seconds that the server asked for, or nil; or "refused". The
-- last value is the reason of the latter two.
function channels.outcome(response)
  if response.ok then
    return "sent"
  end
  local reason = response.err or ("HTTP " .. response.status)
  if response.status == 0 or response.status == 429 or response.status >= 500 then
    return "again", askedWait(response), reason
  end
  return "refused", nil, reason
end

return channels
