-- Whether Zigbee2MQTT announces its devices to Home Assistant itself, from `bridge/info`. Pure.

local announcing = {}

function announcing.read(info)
  local said = type(info) == "table" and type(info.config) == "table" and info.config.homeassistant
  if type(said) == "table" then
    -- Before Zigbee2MQTT 2 there were settings only where it was switched on.
    return said.enabled ~= false
  end
  return said == true
end

return announcing
