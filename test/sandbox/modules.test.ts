import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, pluginSource } from './stage.ts'

const encoder = new TextEncoder()

test('§9 require runs the plugin’s own files once, in its environment, and nothing else', async () => {
  const lines = await linesOf(
    pluginSource(
      `
      shared = "seen"
      local helpers = require("lib.helpers")
      print(helpers.double(4), helpers == require("lib.helpers"), require("utils"), made)
      print(pcall(require, "missing"))
      print(pcall(require, "../init"))
      print(pcall(require, "loop"))
      print(pcall(require, "broken"))
    `,
      {
        files: {
          'lib/helpers.lua': encoder.encode(
            'print("once", shared) return { double = function(x) return x * 2 end }',
          ),
          'utils.lua': encoder.encode('made = "a global"'),
          'loop.lua': encoder.encode('return require("loop")'),
          'broken.lua': encoder.encode('\nlocal = 1'),
        },
      },
    ),
  )
  assert.deepEqual(lines.slice(0, 2), ['once\tseen', '8\ttrue\ttrue\ta global'])
  assert.match(lines[2] ?? '', /^false\t.*module 'missing' not found/)
  assert.match(lines[3] ?? '', /^false\t.*not found/)
  assert.match(lines[4] ?? '', /^false\t.*requires itself/)
  assert.match(lines[5] ?? '', /^false\t.*broken\.lua:2: /)
})

test('require gives a library what Lua gives it: its name, its folder’s init.lua, and the standard libraries', async () => {
  const lines = await linesOf(
    pluginSource(
      `
      print(require("shapes").area(3), require("shapes") == require("shapes.init"))
      print(require("string") == string, require("_G") == _G, pcall(require, "debug"))
      print(require("table"))
    `,
      {
        files: {
          'shapes/init.lua': encoder.encode(
            'local name, path = ... print(name, path) return { area = require(name .. ".square") }',
          ),
          'shapes/square.lua': encoder.encode(
            'local folder = (...):match("(.-)[^%.]+$") return require(folder .. "lib.power")(2)',
          ),
          'shapes/lib/power.lua': encoder.encode(
            'local string = require("string") return function(n) return function(x) return string.format("%d", x ^ n) end end',
          ),
          'table.lua': encoder.encode('return "a file of its own"'),
        },
      },
    ),
  )
  assert.deepEqual(lines.slice(0, 2), ['shapes\tshapes/init.lua', '9\ttrue'])
  assert.match(lines[2] ?? '', /^true\ttrue\tfalse\t.*module 'debug' not found/)
  assert.equal(lines[3], 'a file of its own')
})

test('require of a path with dots says how a file is named', async () => {
  const lines = await linesOf(
    pluginSource(`for _, name in ipairs({ "../x", "./x", "lib.x" }) do print(pcall(require, name)) end`),
  )
  const written = `a file is named from the plugin's own folder, as 'lib.helpers' is`
  assert.deepEqual(
    lines.map((line) => line.replace(/^.*?module/, 'module')),
    [
      `module '../x' not found: ${written}, and no plugin '../x' is running`,
      `module './x' not found: ${written}, and no plugin './x' is running`,
      `module 'lib.x' not found: the manifest's files name no 'lib/x.lua', and no plugin 'lib.x' is running`,
    ],
  )
})
