---@meta

-- The plugin API of Lupine for the Lua language server. It only describes; `plugin-api.md` explains.

---A value that JSON can say: nil, boolean, number, string, or a table of such values.
---@alias lupine.Json nil|boolean|number|string|table

---@alias lupine.LogLevel "debug"|"info"|"warn"|"error"

---Ends what it was returned for. Further calls do nothing.
---@alias lupine.Unsubscribe fun()

--------------------------------------------------------------------------------------------------------------------
-- The plugin

---An instance of a plugin. Your own fields and methods may be added.
---@class lupine.Plugin
---@field id string Full id, `@namespace/short`.
---@field shortId string
---@field name string
---@field version string
---@field description string?
---@field host string? The host of the fleet that it runs on; nil without a fleet.
---@field epoch integer? Goes up each time that a host of the fleet takes it; nil without a fleet.
---@field meta table What was given to `Plugin:new`.
---@field config table<string, any> The configuration; the table that `onInit` gets.
---@field [string] any
Plugin = {}

---Makes the instance. `id` must be the manifest's, short or full.
---@param id string
---@param meta? table
---@return lupine.Plugin
function Plugin:new(id, meta) end

---Stores the function that is called after `init.lua` has run.
---@param callback fun(config: table<string, any>)
function Plugin:onInit(callback) end

---Stores the function that is called before unloading. It has 5 seconds.
---@param callback fun()
function Plugin:onCleanup(callback) end

---The sensor or control of this id (`plugin:get(id)`); or the running plugin of this id (`Plugin.get(id)`).
---@param id string
---@return lupine.Control?
---@overload fun(id: string): lupine.Plugin?
function Plugin:get(id) end

---The running plugin of this id, full or short; nil when there is none.
---@param id string
---@return lupine.Plugin?
function Plugin.getPlugin(id) end

---@class lupine.ListedPlugin
---@field id string Full id.
---@field shortId string
---@field name string
---@field version string
---@field description string?
---@field enabled boolean

---All installed plugins.
---@return lupine.ListedPlugin[]
function Plugin.list() end

--------------------------------------------------------------------------------------------------------------------
-- Logging

---Writes a line into the plugin's log.
---@param level lupine.LogLevel|string
---@param message any
function Plugin:log(level, message) end

---The same with a flat table of details; values with names such as `token` are hidden.
---@param level lupine.LogLevel|string
---@param message any
---@param fields? table<string, any>
---@param redact? boolean Default true.
function Plugin:logSafe(level, message, fields, redact) end

---@class lupine.Logger
Logger = {}

---@param message any
function Logger:debug(message) end

---@param message any
function Logger:info(message) end

---@param message any
function Logger:warn(message) end

---@param message any
function Logger:error(message) end

--------------------------------------------------------------------------------------------------------------------
-- Timers and pollers

---Calls the function once.
---@param milliseconds number
---@param callback fun()
---@return integer id
function Plugin:setTimeout(milliseconds, callback) end

---Calls the function again and again.
---@param milliseconds number
---@param callback fun()
---@return integer id
function Plugin:setInterval(milliseconds, callback) end

---Ends a timeout, an interval or a schedule.
---@param id integer?
function Plugin:clearTimer(id) end

---@alias lupine.Day "mon"|"tue"|"wed"|"thu"|"fri"|"sat"|"sun"

---@class lupine.ScheduleOptions
---@field timezone? string Such as `Europe/Berlin`; default the host's.
---@field days? lupine.Day[] Of `at`.
---@field latitude? number Degrees, for sunrise and sunset.
---@field longitude? number Degrees.
---@field catchUp? number Milliseconds; default 60000.

---Calls the function every day at a time: `07:30`, `sunset-00:30`.
---@param time string
---@param callback fun()
---@param options? lupine.ScheduleOptions
---@return integer? id
---@return string? problem
function Plugin:at(time, callback, options) end

---Calls the function at the times of a cron expression of five fields.
---@param expression string
---@param callback fun()
---@param options? lupine.ScheduleOptions
---@return integer? id
---@return string? problem
function Plugin:cron(expression, callback, options) end

---@class lupine.WatchOptions
---@field now? boolean False: only changes.
---@field stays? number Milliseconds.
---@field debounce? number Milliseconds.

---Calls the function with objects, by full path, now and when they change; nil when one is gone.
---@param pattern string
---@param callback fun(value: any, previous: any, path: string)
---@param options? lupine.WatchOptions
---@return lupine.Unsubscribe
function Plugin:onObject(pattern, callback, options) end

---Calls the function with sensors and controls, by `<full id>/<id>`, now and when they change; nil when one is gone.
---@param pattern string
---@param callback fun(value: any, previous: any, id: string, plugin: string)
---@param options? lupine.WatchOptions
---@return lupine.Unsubscribe
function Plugin:onSensor(pattern, callback, options) end

---@class lupine.PollerRetry
---@field maxAttempts? integer Attempts of one round, default 1.
---@field attempts? integer The same.
---@field backoff? number Milliseconds before the second attempt, default 1000; doubles for each further one.

---@class lupine.PollerOptions
---@field interval? number Milliseconds; 0 or nil: no schedule.
---@field immediate? boolean A first round at `start()`.
---@field initialDelay? number Milliseconds until the first round.
---@field timeout? number Milliseconds for a round, default 30000.
---@field retry? lupine.PollerRetry
---@field onTick fun(done: fun(...: any)) `done()`, `done(err)` or `done(result, err)`.
---@field onError? fun(err: any, stats: lupine.PollerStats) After the last attempt.

---@class lupine.PollerStats
---@field running boolean
---@field inFlight boolean
---@field tickCount integer
---@field errorCount integer
---@field lastTick integer? Unix seconds.
---@field lastError string?

---@class lupine.Poller
---@field start fun()
---@field stop fun()
---@field poll fun()
---@field stats fun(): lupine.PollerStats

---Makes a poller; it begins with `start()`.
---@param name string
---@param options lupine.PollerOptions
---@return lupine.Poller
function Plugin:poller(name, options) end

--------------------------------------------------------------------------------------------------------------------
-- Events

---@class lupine.EmitOptions
---@field throttle? number Milliseconds for which the next events are held back.
---@field key? string The window's key; with `coalesce` the field that is collected.
---@field trailing? boolean Send the last one held back.
---@field coalesce? boolean Collect values of the field `key` and send them as one event.
---@field qos? 0|1|2
---@field retain? boolean

---Sends an event to every plugin and to MQTT. True when it was sent now.
---@param name string
---@param data? lupine.Json
---@param options? lupine.EmitOptions
---@return boolean sent
---@return string? problem
function Plugin:emit(name, data, options) end

---Calls the function for each event of this name, in which `*` stands for a part between colons.
---@param name string
---@param callback fun(data: any, name: string, from: string)
---@return lupine.Unsubscribe
function Plugin:on(name, callback) end

---@class lupine.EventBus
EventBus = {}

---@param name string
---@param callback fun(data: any, name: string, from: string)
---@return lupine.Unsubscribe
function EventBus:on(name, callback) end

---@param name string
---@param callback fun(data: any, name: string, from: string)
---@return lupine.Unsubscribe
function EventBus:subscribe(name, callback) end

--------------------------------------------------------------------------------------------------------------------
-- Objects

---Creates or replaces an object.
---@param path string
---@param data table
---@return boolean stored
---@return string? problem
function Plugin:upsertObject(path, data) end

---Replaces fields that the object has.
---@param path string
---@param patch table<string, lupine.Json>
---@return boolean stored
---@return string? problem
function Plugin:updateObject(path, patch) end

---Takes an object of your own away.
---@param path string
---@return boolean existed
function Plugin:removeObject(path) end

---A copy of an object: of your own by its path, of any plugin by its full path.
---@param path string
---@return any
function Plugin:getObject(path) end

---@deprecated Use `upsertObject`.
---@param path string
---@param data? table
---@return table|false object Reads and writes through, at every level.
---@return string? problem
function Plugin:createObject(path, data) end

--------------------------------------------------------------------------------------------------------------------
-- Sensors, controls, Home Assistant

---@class lupine.Sensor
---@field _id string
---@field _type "sensor"|"control"
local Sensor = {}

---What the getter gives.
---@param feature? string
---@return any
function Sensor:get(feature) end

---Reads the getter, and tells the value when it is another.
function Sensor:notify() end

---Reads the getter, and tells the value when it is another.
function Sensor:_notify() end

---@param callback fun(value: any)
---@return lupine.Unsubscribe
function Sensor:onChange(callback) end

---@param event "OnChange"
---@param callback fun(value: any)
---@return lupine.Unsubscribe
function Sensor:on(event, callback) end

---Tells this value.
---@param event "OnChange"
---@param value lupine.Json
function Sensor:emit(event, value) end

---@class lupine.Control: lupine.Sensor
local Control = {}

---Calls the setter.
---@param value any
---@overload fun(self: lupine.Control, feature: string, value: any)
function Control:set(value) end

---Creates or replaces a sensor.
---@param id string
---@param getter fun(feature?: string): any
---@return lupine.Sensor
function Plugin:sensor(id, getter) end

---Creates or replaces a control.
---@param id string
---@param getter fun(feature?: string): any
---@param setter fun(value: any, feature?: string)
---@return lupine.Control
function Plugin:control(id, getter, setter) end

---Takes a sensor away, and its exposure with it.
---@param id string
---@return boolean existed
function Plugin:removeSensor(id) end

---Takes a control away, and its exposure with it.
---@param id string
---@return boolean existed
function Plugin:removeControl(id) end

---@alias lupine.ExposedType "switch"|"number"|"sensor"|"binary_sensor"|"boolean"|"temperature"|"humidity"|"fan"|"light"|"climate"|"cover"|"select"|"button"|"text"|"event"|"lock"|"valve"|"alarm"|"vacuum"|"siren"|"humidifier"|"water_heater"|"lawn_mower"|"device_tracker"|"image"|"update"|"date"|"time"|"datetime"|"notify"

---@class lupine.ExposedDevice
---@field id string Letters, digits, `_` and `-`.
---@field name? string
---@field model? string
---@field manufacturer? string
---@field serial? string
---@field version? string
---@field area? string
---@field via? string Id of another device of this plugin, or an identifier that Home Assistant knows.

---@class lupine.ExposeOptions
---@field device? lupine.ExposedDevice
---@field features? string[] Those that it has though it knows no value yet.
---@field id? string Identity; else `getId()`, `_id`, or from the name.
---@field name? string
---@field area? string
---@field unit? string
---@field min? number
---@field max? number
---@field step? number
---@field icon? string
---@field device_class? string
---@field state_class? string
---@field options? string[]
---@field modes? string[]
---@field presets? string[]
---@field fanModes? string[]
---@field swingModes? string[]
---@field effects? string[]
---@field tones? string[]
---@field fanSpeeds? string[]

---Shows an object to Home Assistant, and gives it `setAvailable(available)`. It has `get(feature)`, and `set(feature, value)` if it can be operated.
---@generic T: table
---@param object T
---@param type? lupine.ExposedType
---@param options? lupine.ExposeOptions
---@return T
function expose(object, type, options) end

---Takes back what `expose` has shown of this object.
---@param object table
---@return boolean existed
function unexpose(object) end

--------------------------------------------------------------------------------------------------------------------
-- MQTT

---@class lupine.PublishOptions
---@field retain? boolean
---@field qos? 0|1|2

---Publishes a message: a string as it is, a number or boolean as text, a table as JSON. False and why when it may not.
---@param topic string
---@param payload? string|number|boolean|table
---@param options? lupine.PublishOptions
---@return boolean sent
---@return string? problem
function Plugin:mqttPublish(topic, payload, options) end

---Calls the function for each message on a matching topic.
---@param filter string
---@param callback fun(topic: string, payload: string)
---@return lupine.Unsubscribe
function Plugin:mqttSubscribe(filter, callback) end

--------------------------------------------------------------------------------------------------------------------
-- Stored values

---@class lupine.StoreOptions
---@field ttl? number Seconds; 0: it stays.
---@field secure? boolean Hide it in logs, pages and exports.

---@param key string
---@param default? any
---@return any
function Plugin:kvGet(key, default) end

---Stores a value; nil deletes.
---@param key string
---@param value lupine.Json
---@param options? lupine.StoreOptions
---@return boolean stored
---@return string? problem
function Plugin:kvSet(key, value, options) end

---@param key string
---@return boolean existed
function Plugin:kvDelete(key) end

---@param key string
---@return boolean
function Plugin:kvHas(key) end

---Keys that begin with the prefix, sorted.
---@param prefix? string
---@return string[]
function Plugin:kvList(prefix) end

---@return table<string, any>
function Plugin:kvGetAll() end

--------------------------------------------------------------------------------------------------------------------
-- HTTP and JSON

---@class lupine.Part
---@field name string
---@field value? string|number|boolean
---@field data? string
---@field filename? string
---@field type? string

---@class lupine.HttpAuth
---@field type "basic"|"bearer"|"digest"
---@field user? string
---@field password? string
---@field token? string Of type bearer.

---@class lupine.HttpOptions
---@field url string
---@field method? "GET"|"POST"|"PUT"|"PATCH"|"DELETE"|"HEAD"
---@field headers? table<string, string|number|string[]>
---@field timeout? number Milliseconds for all of it, default 30000.
---@field body? string
---@field json? table
---@field form? table<string, any>
---@field multipart? lupine.Part[]
---@field query? table<string, any> Added to the url.
---@field auth? lupine.HttpAuth
---@field saveCookies? boolean With the cookies of the plugin's jar.
---@field maxBody? integer Bytes of the answer, default 5 MiB, at most 16 MiB.
---@field parseJson? "success"|"always"|"never"|boolean Default "never".
---@field insecureSkipVerify? boolean
---@field verifySSL? boolean
---@field log? false|{ redact: boolean }

---@class lupine.HttpResponse
---@field status integer 0 without an answer.
---@field code integer The same.
---@field ok boolean 2xx.
---@field body string
---@field headers table<string, string|string[]> Found in any case; `set-cookie` is an array.
---@field cookies table<string, string> Those that the answer sets.
---@field json any
---@field err string?
---@field errCode "timeout"|"network"|"http_4xx"|"http_5xx"|"too_large"|"parse"|nil
---@field elapsed number Milliseconds.

---Makes a request. The callback comes once, later, and always with a response.
---@param options lupine.HttpOptions|string
---@param callback? fun(response: lupine.HttpResponse, err: string?)
---@return true
function Plugin:httpRequest(options, callback) end

---A request from outside.
---@class lupine.HookRequest
---@field method string
---@field path string The path of the handler, as it was given.
---@field query table<string, string> Of equal names the last.
---@field headers table<string, string> Found in any case.
---@field body string
---@field json any nil when the body does not parse.
---@field form table<string, string>? Only of urlencoded bodies.
---@field remote string Address of whoever asks.

---@class lupine.HookAnswer
---@field status? integer Default 200 with a body, 204 without.
---@field json? any
---@field body? string
---@field headers? table<string, string|number|string[]>

---Answers a request: a status, a body and headers, or a table of these. False when it has been answered before.
---@alias lupine.Respond fun(status?: integer|string|lupine.HookAnswer, body?: string|table, headers?: table): boolean

---@class lupine.HookOptions
---@field auth? "secret"|"token"|"none" Default "secret".
---@field methods? string[] Default all.

---Answers requests from outside at `<base>/hooks/<namespace>/<shortId>/…`.
---@param path string
---@param handler fun(request: lupine.HookRequest, respond: lupine.Respond): integer|string|lupine.HookAnswer|nil, string|table|nil, table|nil
---@param options? lupine.HookOptions
---@return lupine.Unsubscribe
function Plugin:httpHandler(path, handler, options) end

---The whole address of a handler.
---@param path string
---@return string
function Plugin:hookUrl(path) end

---@deprecated Use `httpRequest`.
---@param url string
---@param callback? fun(response: lupine.HttpResponse, err: string?)
---@return true
function Plugin:httpGet(url, callback) end

---@deprecated Use `httpRequest`.
---@param url string
---@param data string|table
---@param callback? fun(response: lupine.HttpResponse, err: string?)
---@return true
function Plugin:httpPost(url, data, callback) end

---The address with parameters.
---@param base string
---@param params? table<string, any>
---@return string
function Plugin:url(base, params) end

---The value of an `Authorization` header.
---@param user string
---@param password string
---@return string
function Plugin:basicAuth(user, password) end

---The value of an `Authorization` header.
---@param token string
---@return string
function Plugin:bearerAuth(token) end

---@param text string
---@return any value
---@return string? problem
function Plugin:jsonDecode(text) end

---@param value lupine.Json
---@return string? text
---@return string? problem
function Plugin:jsonEncode(value) end

---@class lupine.JsonLibrary
JSON = {}

---@param text string
---@return any value
---@return string? problem
function JSON:decode(text) end

---@param value lupine.Json
---@return string? text
---@return string? problem
function JSON:encode(value) end

--------------------------------------------------------------------------------------------------------------------
-- Connections

---@class lupine.Reconnect
---@field min? number Milliseconds; default 1000.
---@field max? number Milliseconds; default 60000.

---@class lupine.StreamEvent
---@field event string `message` without a name.
---@field data string
---@field id string? The last that the stream has named.

---@class lupine.HttpStreamOptions: lupine.HttpOptions
---@field reconnect? lupine.Reconnect|false

---@class lupine.HttpStreamCallbacks
---@field onEvent? fun(event: lupine.StreamEvent)
---@field onLine? fun(line: string)
---@field onClose? fun(err: string?)

---@class lupine.HttpStream
---@field onEvent fun(self: lupine.HttpStream, callback?: fun(event: lupine.StreamEvent)): lupine.HttpStream
---@field onLine fun(self: lupine.HttpStream, callback?: fun(line: string)): lupine.HttpStream
---@field onClose fun(self: lupine.HttpStream, callback?: fun(err: string?)): lupine.HttpStream
---@field isOpen fun(self: lupine.HttpStream): boolean
---@field close fun(self: lupine.HttpStream): lupine.HttpStream

---An answer over HTTP that goes on: events, or lines.
---@param options lupine.HttpStreamOptions
---@param callbacks? lupine.HttpStreamCallbacks
---@return lupine.HttpStream
function Plugin:httpStream(options, callbacks) end

---@class lupine.WebSocketOptions
---@field headers? table<string, any>
---@field protocols? string|string[]
---@field ping? number|false Milliseconds; default 30000.
---@field reconnect? lupine.Reconnect|false
---@field insecureSkipVerify? boolean

---@class lupine.WebSocket
---@field onOpen fun(self: lupine.WebSocket, callback?: fun()): lupine.WebSocket
---@field onMessage fun(self: lupine.WebSocket, callback?: fun(data: string, isBinary: boolean)): lupine.WebSocket
---@field onClose fun(self: lupine.WebSocket, callback?: fun(code: integer?, reason: string?)): lupine.WebSocket
---@field send fun(self: lupine.WebSocket, data: string, binary?: boolean): lupine.WebSocket|false, string?
---@field sendJson fun(self: lupine.WebSocket, value: lupine.Json): lupine.WebSocket|false, string?
---@field isOpen fun(self: lupine.WebSocket): boolean
---@field close fun(self: lupine.WebSocket): lupine.WebSocket

---@param url string
---@param options? lupine.WebSocketOptions
---@return lupine.WebSocket
function Plugin:webSocket(url, options) end

---@alias lupine.Framing "line"|{ length: 2|4 }|{ delimiter: string }|{ silence: number }

---@class lupine.TcpOptions
---@field tls? true|{ insecureSkipVerify?: boolean, serverName?: string, ca?: string }
---@field timeout? number Milliseconds to connect; default 10000.
---@field framing? lupine.Framing
---@field reconnect? lupine.Reconnect|false

---@class lupine.Stream
---@field onConnect fun(self: lupine.Stream, callback?: fun()): lupine.Stream
---@field onData fun(self: lupine.Stream, callback?: fun(data: string)): lupine.Stream
---@field onClose fun(self: lupine.Stream, callback?: fun(err: string?)): lupine.Stream
---@field write fun(self: lupine.Stream, data: string): lupine.Stream|false, string?
---@field isConnected fun(self: lupine.Stream): boolean
---@field close fun(self: lupine.Stream): lupine.Stream

---@param host string
---@param port integer
---@param options? lupine.TcpOptions
---@return lupine.Stream
function Plugin:tcpConnect(host, port, options) end

---@class lupine.UdpOptions
---@field port? integer Default: any that is free.
---@field multicast? string|string[]
---@field broadcast? boolean
---@field reconnect? lupine.Reconnect|false

---@class lupine.UdpSocket
---@field onMessage fun(self: lupine.UdpSocket, callback?: fun(data: string, host: string, port: integer)): lupine.UdpSocket
---@field onClose fun(self: lupine.UdpSocket, callback?: fun(reason: string?)): lupine.UdpSocket
---@field send fun(self: lupine.UdpSocket, host: string, port: integer, data: string): lupine.UdpSocket|false, string?
---@field port fun(self: lupine.UdpSocket): integer?
---@field close fun(self: lupine.UdpSocket): lupine.UdpSocket

---@param options? lupine.UdpOptions
---@return lupine.UdpSocket
function Plugin:udpSocket(options) end

---@class lupine.SerialOptions
---@field baudRate? integer Default 9600.
---@field dataBits? 8|7|6|5
---@field parity? "none"|"even"|"odd"|"mark"|"space"
---@field stopBits? 1|1.5|2
---@field framing? lupine.Framing
---@field reconnect? lupine.Reconnect|false

---@param path string
---@param options? lupine.SerialOptions
---@return lupine.Stream
function Plugin:serialPort(path, options) end

---@class lupine.SerialPortInfo
---@field path string
---@field manufacturer? string
---@field serialNumber? string
---@field vendorId? string
---@field productId? string

---@param callback fun(ports: lupine.SerialPortInfo[], err: string?)
---@return true
function Plugin:serialPorts(callback) end

---@class lupine.DiscoveryOptions
---@field seconds? number How long; without it as long as the plugin runs.
---@field reconnect? lupine.Reconnect|false

---@class lupine.Finding
---@field name string Of the service, or the unique service name.
---@field host string
---@field addresses string[]
---@field port integer?
---@field txt table<string, string> What it tells of itself.
---@field gone boolean It is not there any more.

---@class lupine.Discovery
---@field onClose fun(self: lupine.Discovery, callback?: fun(reason: string?)): lupine.Discovery
---@field close fun(self: lupine.Discovery): lupine.Discovery

---Looks for services of DNS-SD, such as `_http._tcp`.
---@param service string
---@param callback fun(found: lupine.Finding)
---@param options? lupine.DiscoveryOptions
---@return lupine.Discovery
function Plugin:discover(service, callback, options) end

---Looks for devices and services of UPnP, such as `ssdp:all`.
---@param target string
---@param callback fun(found: lupine.Finding)
---@param options? lupine.DiscoveryOptions
---@return lupine.Discovery
function Plugin:discoverSsdp(target, callback, options) end

--------------------------------------------------------------------------------------------------------------------
-- Formats: what cannot be read gives nil and a message

---@class lupine.Base64
base64 = {}

---@param data string
---@param options? { url?: boolean }
---@return string? text
---@return string? problem
function base64.encode(data, options) end

---@param text string
---@param options? { url?: boolean }
---@return string? data
---@return string? problem
function base64.decode(text, options) end

---@class lupine.Hex
hex = {}

---@param data string
---@return string? text
---@return string? problem
function hex.encode(data) end

---@param text string
---@return string? data
---@return string? problem
function hex.decode(text) end

---@class lupine.UrlParts
---@field scheme? string
---@field user? string
---@field password? string
---@field host? string
---@field port? integer
---@field path? string
---@field query? string
---@field fragment? string

---@class lupine.Url
url = {}

---@param text string
---@return string? encoded
---@return string? problem
function url.encode(text) end

---@param text string
---@return string? decoded
---@return string? problem
function url.decode(text) end

---@param text string
---@return lupine.UrlParts? parts
---@return string? problem
function url.parse(text) end

---@param parts lupine.UrlParts
---@return string? text
---@return string? problem
function url.build(parts) end

---@alias lupine.Digest "md5"|"sha1"|"sha256"|"sha512"
---@alias lupine.Cipher "aes-128-cbc"|"aes-256-cbc"|"aes-128-ctr"|"aes-256-ctr"|"aes-128-gcm"|"aes-256-gcm"

---@class lupine.Crypto
crypto = {}

---@param data string
---@return string? digest Bytes.
---@return string? problem
function crypto.md5(data) end

---@param data string
---@return string? digest Bytes.
---@return string? problem
function crypto.sha1(data) end

---@param data string
---@return string? digest Bytes.
---@return string? problem
function crypto.sha256(data) end

---@param data string
---@return string? digest Bytes.
---@return string? problem
function crypto.sha512(data) end

---@param algorithm lupine.Digest
---@param key string
---@param data string
---@return string? digest Bytes.
---@return string? problem
function crypto.hmac(algorithm, key, data) end

---@param data string
---@return integer? checksum
---@return string? problem
function crypto.crc16(data) end

---@param data string
---@return integer? checksum
---@return string? problem
function crypto.crc32(data) end

---@param count integer
---@return string? data
---@return string? problem
function crypto.randomBytes(count) end

---@return string
function crypto.uuid() end

---@param a string
---@param b string
---@return boolean? same
---@return string? problem
function crypto.equal(a, b) end

---@param algorithm lupine.Cipher
---@param key string
---@param iv string
---@param data string
---@param options? { aad?: string }
---@return string? encrypted
---@return string? tag With gcm; without it the problem, if any.
function crypto.encrypt(algorithm, key, iv, data, options) end

---@param algorithm lupine.Cipher
---@param key string
---@param iv string
---@param data string
---@param options? { aad?: string, tag?: string }
---@return string? data
---@return string? problem
function crypto.decrypt(algorithm, key, iv, data, options) end

---@class lupine.XmlElement
---@field name string
---@field attributes table<string, string>
---@field children lupine.XmlElement[]
---@field text string

---@class lupine.Xml
xml = {}

---@param text string
---@return lupine.XmlElement? root
---@return string? problem
function xml.decode(text) end

---@class lupine.Csv
csv = {}

---@param text string
---@param options? { header?: boolean, separator?: string }
---@return (string[]|table<string, string>)[]? rows
---@return string? problem
function csv.decode(text, options) end

---@param rows table[]
---@param options? { header?: boolean|string[], separator?: string }
---@return string? text
---@return string? problem
function csv.encode(rows, options) end

---@class lupine.JsonPath
jsonpath = {}

---@param value any
---@param path string
---@return any value
---@return string? problem
function jsonpath.get(value, path) end

---@class lupine.Template
template = {}

---@param text string
---@param values any
---@return string? text
---@return string? problem
function template.render(text, values) end

---@class lupine.Scaling
---@field scale? number
---@field offset? number
---@field round? integer Decimals, 0 to 15.

---@class lupine.Numbers
numbers = {}

---With so many decimals, half away from zero; what is no number is given back as it is.
---@param value any
---@param digits? integer Default 0.
---@return any value
---@return string? problem
function numbers.round(value, digits) end

---`value * scale + offset`, rounded; what is no number is given back as it is.
---@param value any
---@param how lupine.Scaling
---@return any value
---@return string? problem
function numbers.scale(value, how) end

--------------------------------------------------------------------------------------------------------------------
-- Modbus

---@class lupine.ModbusOptions
---@field host? string
---@field port? integer|{ serial: string, baudRate?: integer, dataBits?: integer, parity?: string, stopBits?: number } Default 502.
---@field framing? "rtu"
---@field unit? integer Default 1.
---@field fc? integer In `request`.
---@field addr integer From 0.
---@field qty? integer Default 1.
---@field value? integer|boolean
---@field values? (integer|boolean)[]
---@field timeout? number Milliseconds for one attempt.

---@class lupine.ModbusStats
---@field requests integer
---@field errors integer
---@field pending integer

---@class lupine.Modbus
---@field READ_COILS 1
---@field READ_DISCRETE 2
---@field READ_HOLDING 3
---@field READ_INPUT 4
---@field WRITE_COIL 5
---@field WRITE_SINGLE 6
---@field WRITE_COILS 15
---@field WRITE_MULTIPLE 16
Modbus = {}

---@alias lupine.ModbusCallback fun(registers: integer[]?, err: string?)

---@param options lupine.ModbusOptions
---@param callback? lupine.ModbusCallback
---@return true
function Modbus.request(options, callback) end

---@param options lupine.ModbusOptions
---@param callback? lupine.ModbusCallback
---@return true
function Modbus.readHolding(options, callback) end

---@param options lupine.ModbusOptions
---@param callback? lupine.ModbusCallback
---@return true
function Modbus.readInput(options, callback) end

---@param options lupine.ModbusOptions
---@param callback? lupine.ModbusCallback
---@return true
function Modbus.writeSingle(options, callback) end

---@param options lupine.ModbusOptions
---@param callback? lupine.ModbusCallback
---@return true
function Modbus.writeMultiple(options, callback) end

---@return boolean
function Modbus.isAvailable() end

---@return lupine.ModbusStats
function Modbus.stats() end

---@param high integer
---@param low integer
---@return number
function Modbus.toFloat32(high, low) end

---@param high integer
---@param low integer
---@return integer
function Modbus.toInt32(high, low) end

---@param high integer
---@param low integer
---@return integer
function Modbus.toUint32(high, low) end

---@param register integer
---@return integer
function Modbus.toInt16(register) end

---@param registers integer[]
---@param index integer
---@return number?
function Modbus.floatAt(registers, index) end

--------------------------------------------------------------------------------------------------------------------
-- Conversions and settings

---A number, or the number that a text writes; else the default.
---@param value any
---@param default? any
---@return any
function Plugin:coerceNumber(value, default) end

---A text; numbers and booleans as text; else the default.
---@param value any
---@param default? any
---@return any
function Plugin:coerceString(value, default) end

---A boolean, or what says one; else the default.
---@param value any
---@param default? any
---@return any
function Plugin:coerceBool(value, default) end

---@deprecated Use `plugin.config[key]`.
---@param key string
---@param default? any
---@return any
function Plugin:getConfig(key, default) end

--------------------------------------------------------------------------------------------------------------------
-- What differs from Lua 5.3

---Runs another file of the plugin, once; else gives the library of Lua of this name, or the running plugin of this id.
---@param name string
---@return any
function require(name) end

---@class lupine.os
os = {}

---Seconds with fractions, on a clock that runs smoothly.
---@return number
function os.clock() end

---@param format? string
---@param time? number
---@return string|table
function os.date(format, time) end

---@param later number
---@param earlier? number
---@return number
function os.difftime(later, earlier) end

---Unix time in seconds.
---@param date? table
---@return integer
function os.time(date) end

---@generic T
---@param list T[]
---@param first? integer
---@param last? integer
---@return T ...
function unpack(list, first, last) end

---@param list table
---@return number
function table.maxn(list) end

---@param base number
---@param exponent number
---@return number
function math.pow(base, exponent) end

---@param value number
---@return number
function math.log10(value) end

---@param value number
---@return number fraction from 0.5 to below 1, of the same sign
---@return integer exponent
function math.frexp(value) end

---@param fraction number
---@param exponent integer
---@return number value fraction × 2^exponent
function math.ldexp(fraction, exponent) end
