import { readdirSync, readFileSync } from 'node:fs'
import type { Json } from '../../src/base/text/json.ts'
import { createByteBudget } from '../../src/sandbox/worker/budgets/byte-budget.ts'
import { createLuaRuntime } from '../../src/sandbox/worker/lua/lua-runtime.ts'
import type { LuaFunction, LuaRuntime, LuaTable, LuaValue } from '../../src/sandbox/worker/lua/lua-value.ts'
import { toJson } from '../../src/sandbox/worker/lua/json-values.ts'
import { installFormats } from '../../src/sandbox/worker/plugin-api/formats.ts'

/** Lua files of one folder in the sandbox's own Lua with its formats, without a host: for logic that needs none. */
export interface LuaModules {
  /** Calls `require(module)[name](…)`. Lua's nil is `undefined`, tables with a first element are arrays. */
  call(module: string, name: string, ...args: (Json | undefined)[]): unknown[]
}

/** Bytes of one string. */
const stringBytes = 16 * 1024 * 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** `extra` adds modules that are not in the folder. */
export function openLuaModules(folder: string, extra: Record<string, Uint8Array> = {}): LuaModules {
  const runtime = createLuaRuntime({
    print: () => undefined,
    now: () => 0,
    checkInterrupt: () => undefined,
    stringLimitBytes: stringBytes,
  })
  const loaded = new Map<string, LuaValue>()
  const sources = new Map<string, Uint8Array>(Object.entries(extra))
  for (const file of readdirSync(folder)) {
    if (file.endsWith('.lua')) sources.set(file.slice(0, -'.lua'.length), readFileSync(`${folder}/${file}`))
  }

  function load(name: string): LuaValue {
    if (!loaded.has(name)) {
      const source = sources.get(name)
      if (source === undefined) throw new Error(`${folder} has no ${name}.lua`)
      loaded.set(name, runtime.run(source, `${name}.lua`)[0])
    }
    return loaded.get(name)
  }
  installFormats({
    runtime,
    byteBudget: () => createByteBudget(stringBytes),
    toJson: (value) => toJson(value),
  })
  runtime.globals.set(
    'require',
    runtime.wrap('require', (name) => load(decoder.decode(name as Uint8Array))),
  )

  return {
    call(module, name, ...args) {
      const callee = (load(module) as LuaTable).get(name) as LuaFunction
      return runtime.call(callee, ...args.map((argument) => toLua(runtime, argument))).map(fromLua)
    },
  }
}

function toLua(runtime: LuaRuntime, value: Json | undefined): LuaValue {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return encoder.encode(value)
  if (typeof value !== 'object') return value
  const table = runtime.newTable()
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) table.set(index + 1, toLua(runtime, item))
  } else {
    for (const [key, item] of Object.entries(value)) table.set(key, toLua(runtime, item))
  }
  return table
}

function fromLua(value: LuaValue): unknown {
  if (value instanceof Uint8Array) return decoder.decode(value)
  if (typeof value !== 'object' || value.kind === 'function') return value
  // By index: a table's own order is that of its making, which for `{ a, b }` is from the last to the first.
  if (value.length > 0)
    return Array.from({ length: value.length }, (_, index) => fromLua(value.get(index + 1)))
  return Object.fromEntries(value.entries().map(([key, item]) => [fromLua(key), fromLua(item)]))
}
