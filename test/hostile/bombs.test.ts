import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attack, startStage } from './stage.ts'

/** Plugins that want all the memory there is. */

interface Bomb extends Attack {
  title: string
  /** What the log says; without it the worker is ended. */
  logged?: RegExp
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

const bombs: Bomb[] = [
  {
    id: 'timers',
    title: 'a million timers',
    lua: untilRefused('plugin:setTimeout(1e9, print)'),
    logged: /refused after 10000: .*too many timers/,
  },
  {
    id: 'listeners',
    title: 'a million listeners',
    lua: untilRefused('plugin:on("e" .. i, print)'),
    logged: /refused after 10000: .*too many listeners/,
  },
  {
    id: 'subscriptions',
    title: 'a million subscriptions',
    lua: untilRefused('plugin:mqttSubscribe("a/" .. i .. "/#", print)'),
    logged: /refused after 200: .*too many subscriptions/,
  },
  {
    id: 'objects',
    title: 'a million objects',
    lua: untilRefused('plugin:upsertObject("o" .. i, { value = i })'),
    logged: /refused after 10000: .*objects/,
  },
  {
    id: 'sensors',
    title: 'a million sensors',
    lua: untilRefused('plugin:sensor("s" .. i, function() return 1 end)'),
    logged: /refused after 10000: .*too many sensors|and was ended/,
  },
  {
    id: 'keys',
    title: 'a million keys',
    lua: untilRefused('plugin:kvSet("key" .. i, ("x"):rep(1000))'),
    logged: /refused after 10\d\d: key-value store is full/,
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
  },
  {
    id: 'repeated',
    title: 'string.rep, string.format and table.concat',
    lua: `plugin:setTimeout(1, function()
      local parts = {}
      for i = 1, 100 do parts[i] = ("x"):rep(1000000) end
      print("refused", pcall(string.rep, "x", 1e12), pcall(table.concat, parts), pcall(string.format, "%99999999d", 1))
    end)`,
    logged: /refused\tfalse\t/,
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
      print("refused", plugin:jsonDecode(("["):rep(1000000)))
      local t = {} for i = 1, 100000 do t = { t } end
      print("refused", plugin:jsonEncode(t))
    end)`,
    logged: /refused\tnil\t|and was ended|ended by itself/,
  },
  {
    id: 'tables',
    title: 'tables',
    lua: 'plugin:setTimeout(1, function() local all = {} while true do all[#all + 1] = { {}, {}, {} } end end)',
  },
]

test('a bomb goes off in its own worker only', async (t) => {
  const stage = await startStage(t, bombs, { luaCallback: 60_000, unresponsiveAfter: 70_000 })
  for (const { id, title, logged } of bombs) {
    const attack = async (): Promise<void> => {
      await stage.enable(id)
      if (logged === undefined) await stage.logged(id, 'MB of memory (limit memory) and was ended')
      else assert.match(await stage.logged(id, logged), logged)
      await stage.disable(id)
    }
    await t.test(title, () => stage.witness(attack()))
  }
})
