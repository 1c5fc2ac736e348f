import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attack, type Isolation, startStage } from './stage.ts'

/** Plugins that never come to an end. */

interface Loop extends Attack {
  title: string
  /** What the error of the load says; without it the plugin loads. */
  loadFails?: RegExp
  /** What the log says, in whatever worker; for those that load. */
  logged?: string | RegExp
  /** What the log says once it has been disabled. */
  loggedLast?: RegExp
}

const loops: Loop[] = [
  {
    id: 'in-chunk',
    title: 'in the main chunk',
    lua: 'while true do end',
    loadFails: /^load_timeout init\.lua:1: /,
  },
  {
    id: 'in-text',
    title: 'or nearly: a text that takes long to be compiled, as each condition looks through all before it',
    lua: `local x = 1 return x${' and x'.repeat(100_000)}`,
    loadFails: /^load_timeout .*longer than/,
  },
  {
    id: 'in-init',
    title: 'in onInit',
    lua: 'plugin:onInit(function() while true do end end)',
    loadFails: /^load_timeout init\.lua:1: /,
  },
  {
    id: 'in-init-pcall',
    title: 'in onInit, within pcall',
    lua: 'plugin:onInit(function() while true do pcall(function() while true do end end) end end)',
    loadFails: /^load_timeout /,
  },
  {
    id: 'in-timer',
    title: 'in a timer',
    lua: 'plugin:setTimeout(1, function() while true do end end)',
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-pcall',
    title: 'in a timer, within pcall and xpcall',
    lua: `plugin:setTimeout(1, function()
      local function loop() while true do end end
      while true do xpcall(function() pcall(loop) end, loop) end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-coroutine',
    title: 'in a coroutine',
    lua: `plugin:setTimeout(1, function()
      while true do coroutine.resume(coroutine.create(function() while true do end end)) end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-coroutines',
    title: 'of coroutines that resume coroutines',
    lua: `plugin:setTimeout(1, function()
      local function deeper() return coroutine.wrap(deeper)() end
      while true do pcall(deeper) end
    end)`,
    // It is stopped between two of them, or ended while it is deep inside: whichever comes first.
    logged: /longer than 0\.5 s|The plugin ended by itself.*(did not (answer|let go)|memory)/,
  },
  {
    id: 'in-metamethods',
    title: 'in metamethods, sorting and string.gsub',
    lua: `plugin:setTimeout(1, function()
      local t = setmetatable({}, { __index = function(t, k) return t[k .. "x"] end })
      while true do
        pcall(function() return t.a end)
        pcall(table.sort, { 3, 2, 1 }, function() while true do end end)
        pcall(string.gsub, "abc", ".", function() while true do end end)
      end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-tostring',
    title: 'in the __tostring of what is logged, and of an error',
    lua: `plugin:setTimeout(1, function()
      local evil = setmetatable({}, { __tostring = function() while true do end end })
      pcall(plugin.log, plugin, "info", evil)
      pcall(print, evil)
      error(evil)
    end)`,
    logged: 'error timer: ',
  },
  {
    id: 'in-pattern',
    title: 'of a pattern that tries everything',
    lua: `plugin:setTimeout(1, function()
      string.find(("a"):rep(40), ("a-"):rep(40) .. "b")
    end)`,
    logged: 'error timer: ',
  },
  {
    id: 'in-patterns',
    title: 'of patterns, within pcall',
    lua: `plugin:setInterval(1, function()
      while true do pcall(string.gsub, ("a"):rep(3000), ("a*"):rep(30) .. "b", "") end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-formats',
    title: 'of what the host computes: digests, ciphers, XML and texts of 16 MB, within pcall',
    lua: `plugin:setTimeout(1, function()
      -- What is read of this has room in the memory that the plugin has: it is ended for its time.
      local big, small = ("x"):rep(16e6), ("<a>b</a>"):rep(5e3)
      while true do
        pcall(crypto.sha512, big)
        pcall(crypto.crc16, big)
        pcall(crypto.encrypt, "aes-256-ctr", ("k"):rep(32), ("i"):rep(16), big)
        pcall(xml.decode, "<x>" .. small .. "</x>")
        pcall(url.encode, big)
        pcall(template.render, ("{{ a | json }}"):rep(1e5), { a = 1 })
      end
    end)`,
    logged: 'longer than 0.5 s',
  },
  ...['==', '<'].map((operator, index) => ({
    id: `in-comparisons-${index}`,
    title: `of texts of 8 MB that are compared by ${operator}`,
    lua: `plugin:setTimeout(1, function()
      local a, b = ("x"):rep(8e6) .. "a", ("x"):rep(8e6) .. "b"
      local holds
      while true do holds = a ${operator} b end
    end)`,
    logged: 'longer than 0.5 s',
  })),
  {
    id: 'in-values',
    title: 'of twenty thousand values that are made a list',
    lua: `plugin:setTimeout(1, function()
      local function values(...)
        local t
        while true do t = { ... } end
      end
      values(table.unpack({}, 1, 20000))
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-chains',
    title: 'of two thousand tables that are asked in place of each other',
    lua: `plugin:setTimeout(1, function()
      local chain = {}
      for i = 1, 1990 do chain = setmetatable({}, { __index = chain, __newindex = chain }) end
      local x
      while true do x = chain.x chain.y = nil end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-lists',
    title: 'of a list that says it has a thousand million elements',
    lua: `plugin:setTimeout(1, function()
      local long = setmetatable({}, { __len = function() return 1e9 end })
      while true do pcall(table.insert, long, 1, 0) pcall(table.remove, long, 1) end
    end)`,
    logged: 'longer than 0.5 s',
  },
  {
    id: 'in-cleanup',
    title: 'in onCleanup',
    lua: 'plugin:onCleanup(function() while true do end end)',
    loggedLast: /error onCleanup: .*(longer than 0\.5 s|takes too long for a worker that it shares)/,
  },
  {
    id: 'raising-cleanup',
    title: 'that raises in onCleanup what raises in tostring',
    lua: `plugin:setInterval(10, function() end)
      plugin:upsertObject("left", { behind = true })
      plugin:onCleanup(function()
        error(setmetatable({}, { __tostring = function() error("never told") end }))
      end)`,
    loggedLast: /error onCleanup/,
  },
  {
    id: 'doubling',
    title: 'in what is no Lua: a table that holds itself twice, forty times over',
    lua: `plugin:setTimeout(1, function()
      local t = {}
      for i = 1, 40 do t = { t, t } end
      plugin:emit("huge", t)
    end)`,
    logged: 'the table has more than 250000 values',
  },
]

/** Makes the tests, in workers of that kind. */
export function attackWithLoops(isolation: Isolation): void {
  test(`${isolation}: an endless loop harms nobody else`, async (t) => {
    const stage = await startStage(t, loops, {}, isolation)
    for (const { id, title, loadFails, logged, loggedLast } of loops) {
      const attack = async (): Promise<void> => {
        const { state, error } = await stage.enable(id)
        if (loadFails === undefined) assert.equal(state, 'running', title)
        else {
          assert.equal(state, 'failed', title)
          assert.match(`${error?.code} ${error?.message}`, loadFails)
        }
        if (logged !== undefined) await stage.logged(id, logged)
        await stage.disable(id)
        if (loggedLast !== undefined) await stage.logged(id, loggedLast)
      }
      await t.test(title, () => stage.witness(attack))
    }
  })
}
