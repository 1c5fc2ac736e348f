import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { createLuaRuntime } from '../../src/sandbox/worker/lua/lua-runtime.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { bytes, evaluate, readable, testTime } from '../sandbox/lua/lua-state.ts'
import { runs } from './arbitraries.ts'
import { luaProgram } from './lua-programs.ts'

const chunk = 'init.lua'

/** Set aside after each `every`-th group of a few instructions. */
function inSlices(source: string, every: number): { values: unknown[]; slices: number } {
  let asked = 0
  const runtime = createLuaRuntime({
    print: () => undefined,
    now: () => testTime,
    instructionsPerCheck: 3,
    sliceIsOver: () => (asked += 1) % every === 0,
  })
  const activation = runtime.activate(runtime.compile(bytes(source), chunk))
  for (let slices = 1; ; slices += 1) {
    const result = activation.resume()
    if (result.done) return { values: result.values.map(readable), slices }
  }
}

test('a program that is set aside again and again does what it does at one go', () => {
  fc.assert(
    fc.property(luaProgram, fc.integer({ min: 1, max: 5 }), (source, every) => {
      const { values, slices } = inSlices(source, every)
      assert.deepEqual(values, evaluate(source))
      assert.ok(slices > 5, `${slices} slices`)
    }),
    { numRuns: runs },
  )
})

const reference = ['/usr/bin/lua5.3', '/usr/local/bin/lua5.3'].find(existsSync)

/** Runs the program in each of the files, and writes what it says beside it. */
const runFiles = `for _, name in ipairs(arg) do
  local file = assert(io.open(name))
  local source = file:read("a")
  file:close()
  local said = assert(io.open(name .. ".said", "w"))
  said:write(assert(load(source, "@${chunk}"))())
  said:close()
end`

test(
  'a program does here what it does in Lua itself',
  { skip: reference === undefined ? 'lua5.3 is not installed' : false },
  async (t) => {
    const folder = await temporaryDirectory(t)
    const programs = fc.sample(luaProgram, runs)
    const files = programs.map((_, index) => join(folder, `${index}.lua`))
    await Promise.all(files.map((file, index) => writeFile(file, programs[index] ?? '')))
    await writeFile(join(folder, 'run.lua'), runFiles)
    await promisify(execFile)(reference ?? '', [join(folder, 'run.lua'), ...files])
    for (const [index, source] of programs.entries()) {
      const said = await readFile(`${files[index]}.said`, 'utf8')
      assert.deepEqual(evaluate(source), [said], source)
    }
  },
)
