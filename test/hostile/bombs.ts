import { test } from 'node:test'
import { slowdownWhileCollecting } from './measure.ts'
import { type Attack, type Isolation, startStage } from './stage.ts'

/** Plugins that want all the memory there is. */

interface Bomb extends Attack {
  title: string
  /** What the log says; without it the worker is ended. */
  logged?: RegExp
  /** Megabytes of memory that are set for it, where it needs more than the others to get so far. */
  memory?: number
  /** Which limit it meets, as the plugin shows it. */
  limit?: string
}

/** Makes things until it is refused, and says with which words and after how many. */
const untilRefused = (body: string, many = 1_000_000): string => `
  plugin:setTimeout(1, function()
    local count = 0
    local ok, message, more = pcall(function()
      for i = 1, ${many} do
        local stored, why = ${body}
        if stored == false then error(why, 0) end
        count = i
      end
    end)
    print("refused after " .. count .. ": " .. tostring(message))
  end)`

/** It is refused, or stopped before that, where there is little time. */
const tooMuchToRead = /refused\tmore than 250000 values\t|longer than 0\.5 s/

const bombs: Bomb[] = [
  {
    id: 'timers',
    title: 'a million timers',
    lua: untilRefused('plugin:setTimeout(1e9, print)'),
    logged: /refused after 10000: .*too many timers/,
    limit: 'timers',
  },
  {
    id: 'listeners',
    title: 'a million listeners',
    lua: untilRefused('plugin:on("e" .. i, print)'),
    logged: /refused after 10000: .*too many listeners/,
    limit: 'eventSubscriptions',
  },
  {
    id: 'watchers',
    title: 'a million watchers of everything',
    lua: untilRefused('plugin:onSensor("**", print)'),
    logged: /refused after 1000: .*too many watchers/,
    limit: 'watchers',
  },
  {
    id: 'schedules',
    title: 'a million schedules',
    lua: untilRefused('plugin:cron("* * * * *", print)'),
    logged: /refused after 1000: .*too many schedules/,
    limit: 'schedules',
  },
  {
    id: 'never',
    title: 'times that never come, thousands of them',
    lua: untilRefused('(plugin:cron("0 0 30 2 " .. i % 7, print)) or plugin:cron("0 0 30 2 *", print)', 900),
    logged: /refused after 900: nil/,
  },
  {
    id: 'subscriptions',
    title: 'a million subscriptions',
    lua: untilRefused('plugin:mqttSubscribe("a/" .. i .. "/#", print)'),
    logged: /refused after 200: .*too many subscriptions/,
    limit: 'mqttSubscriptions',
  },
  {
    id: 'objects',
    title: 'a million objects',
    lua: untilRefused('plugin:upsertObject("o" .. i, { value = i })'),
    logged: /refused after 10000: .*objects/,
    limit: 'objects',
  },
  {
    id: 'sensors',
    memory: 128,
    title: 'a million sensors',
    lua: untilRefused('plugin:sensor("s" .. i, function() return 1 end)'),
    logged: /refused after 10000: .*too many sensors/,
    limit: 'sensors',
  },
  {
    id: 'keys',
    title: 'a million keys',
    lua: untilRefused('plugin:kvSet("key" .. i, ("x"):rep(1000))'),
    logged: /refused after 10\d\d: key-value store is full/,
    limit: 'keyValueBytes',
  },
  {
    id: 'large-objects',
    title: 'objects of a megabyte',
    lua: untilRefused('plugin:upsertObject("o" .. i, ("x"):rep(900000))'),
    logged: /refused after 9: .*bytes at most/,
  },
  {
    id: 'large-object',
    title: 'an object of ten megabytes',
    lua: untilRefused('plugin:upsertObject("o" .. i, ("x"):rep(10000000))'),
    logged: /refused after 0: an object may take 1048576 bytes/,
  },
  {
    id: 'names',
    title: 'names of a megabyte',
    lua: untilRefused('plugin:sensor(("x"):rep(1000000) .. i, function() return 1 end)'),
    logged: /refused after 0: .*more than 1024 characters/,
  },
  {
    id: 'large-values',
    title: 'sensors with values of a megabyte',
    lua: `for i = 1, 30 do
      local value = ("x"):rep(900000) .. i
      plugin:sensor("s" .. i, function() return value end)
    end`,
    logged: /values were not taken over/,
  },
  {
    id: 'strings',
    title: 'strings',
    lua: untilRefused('nil; local s = "x"; while true do s = s .. s end'),
    logged: /refused after 0: .*string too long/,
    limit: 'stringBytes',
  },
  {
    id: 'repeated',
    title: 'string.rep, string.format and table.concat',
    lua: `plugin:setTimeout(1, function()
      local parts = {}
      for i = 1, 40 do parts[i] = ("x"):rep(1000000) end
      print("refused", pcall(string.rep, "x", 1e12), pcall(table.concat, parts), pcall(string.format, "%99999999d", 1))
    end)`,
    logged: /refused\tfalse\t/,
  },
  {
    id: 'xml-entities',
    title: 'an XML document of which each entity is ten of the one before',
    lua: `plugin:setTimeout(1, function()
      local lines = { '<!DOCTYPE a [<!ENTITY e0 "ha">' }
      for i = 1, 12 do lines[#lines + 1] = ('<!ENTITY e%d "%s">'):format(i, ("&e" .. i - 1 .. ";"):rep(10)) end
      print("refused", xml.decode(table.concat(lines) .. ']><a>&e12;</a>'))
    end)`,
    logged: /refused\tnil\tline 1: a document type that defines entities is not read/,
  },
  {
    id: 'xml-elements',
    memory: 128,
    title: 'an XML document of four million elements, and one of a million levels',
    lua: `plugin:setTimeout(1, function()
      local _, wide = xml.decode("<a>" .. ("<b/>"):rep(4e6) .. "</a>")
      local _, deep = xml.decode(("<a>"):rep(1e6))
      print("refused", wide, deep)
    end)`,
    logged: tooMuchToRead,
  },
  {
    id: 'csv-fields',
    memory: 128,
    title: 'comma-separated values, sixteen million of them',
    lua: `plugin:setTimeout(1, function()
      local _, wide = csv.decode((","):rep(16e6))
      local _, long = csv.decode(("\\n"):rep(16e6))
      print("refused", wide, long)
    end)`,
    logged: tooMuchToRead,
  },
  {
    id: 'recursion',
    title: 'deep recursion',
    lua: `plugin:setTimeout(1, function()
      local function deeper(n) return 1 + deeper(n + 1) end
      print("refused", pcall(deeper, 1))
      print("refused", pcall(string.rep, setmetatable({}, { __tostring = function(t) return tostring(t) end })))
    end)`,
    logged: /refused\tfalse\t.*(stack overflow|longer than)/,
  },
  {
    id: 'nesting',
    title: 'JSON a million levels deep',
    lua: `plugin:setTimeout(1, function()
      local t = {} for i = 1, 10000 do t = { t } end
      print("refused", select(2, plugin:jsonDecode(("["):rep(1000000))), select(2, plugin:jsonEncode(t)))
    end)`,
    logged:
      /refused\tnot valid JSON: more than 100 levels deep\tthe table is nested more than 100 levels deep$/,
  },
  {
    id: 'tables',
    title: 'tables',
    lua: 'plugin:setTimeout(1, function() local all = {} while true do all[#all + 1] = { {}, {}, {} } end end)',
    limit: 'memory',
  },
  {
    id: 'string-leak',
    title: 'strings that it keeps, a few at a time',
    lua: `local kept = {}
      plugin:setInterval(20, function()
        for i = 1, 4 do kept[#kept + 1] = ("x"):rep(1000000) .. #kept end
      end)`,
    logged: /kept more than 96 MB of strings, twice its 48 MB of memory \(limit memory\), and was ended/,
    limit: 'memory',
  },
  {
    id: 'hoard',
    title: 'all that a plugin may have, at once, and then a crash',
    lua: `plugin:setTimeout(1, function()
        pcall(function() for i = 1, 10000 do plugin:setTimeout(1e9, print) end end)
        pcall(function() for i = 1, 10000 do plugin:on("e" .. i, print) end end)
        pcall(function() for i = 1, 200 do plugin:mqttSubscribe("a/" .. i, print) end end)
        pcall(function() for i = 1, 10000 do plugin:upsertObject("o" .. i, { value = i }) end end)
        local all = {} while true do all[#all + 1] = { {}, {}, {} } end
      end)`,
    limit: 'memory',
  },
]

/** Time for all of it. */
const limits = { callbackTime: 150_000, unresponsiveAfter: 160_000 }

/** Those that keep a collector busy, or have the host pass on megabytes. */
const collects = new Set([
  'listeners',
  'objects',
  'sensors',
  'large-objects',
  'large-values',
  'tables',
  'hoard',
])

/** Whoever shares a worker is moved to one of its own by most of them: one of each kind will do there. */
const alsoShared = new Set([
  'timers',
  'subscriptions',
  'objects',
  'keys',
  'strings',
  'recursion',
  'nesting',
  'tables',
  'string-leak',
  'hoard',
])

/** Makes the tests, in workers of that kind. */
export function attackWithBombs(isolation: Isolation): void {
  test(`${isolation}: a bomb goes off in its own worker only`, async (t) => {
    const some = bombs.filter(({ id }) => isolation === 'dedicated' || alsoShared.has(id))
    const stage = await startStage(t, some, limits, isolation)
    for (const { id, title, logged, limit, memory } of some) {
      const attack = async (): Promise<void> => {
        if (memory !== undefined) await stage.limit(id, { memory })
        await stage.enable(id)
        const wanted = logged ?? /48 MB of memory \(limit memory\) and was ended/
        await stage.logged(id, wanted)
        if (limit !== undefined) await stage.reached(id, limit)
        await stage.disable(id)
      }
      await t.test(title, () => stage.witness(attack, collects.has(id) ? slowdownWhileCollecting : undefined))
    }
  })
}
