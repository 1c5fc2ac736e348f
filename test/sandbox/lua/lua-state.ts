import { createLuaRuntime, type LuaRuntimeOptions } from '../../../src/sandbox/worker/lua/lua-runtime.ts'
import type { LuaRuntime, LuaValue } from '../../../src/sandbox/worker/lua/lua-value.ts'

/** 2025-10-09T08:53:20.500Z */
export const testTime = 1_760_000_000_500

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** What a test compares: texts instead of bytes, the kind of what stays in Lua, null for nil. */
export function readable(value: LuaValue): unknown {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (typeof value === 'object') return value.kind
  return value ?? null
}

export function createState(options: Partial<LuaRuntimeOptions> = {}): LuaRuntime {
  return createLuaRuntime({ print: () => undefined, now: () => testTime, ...options })
}

/** Runs a chunk in a state of its own, or the one given, and answers its results. */
export function evaluate(source: string, runtime: LuaRuntime = createState()): unknown[] {
  return runtime.run(bytes(source), 'init.lua').map(readable)
}
