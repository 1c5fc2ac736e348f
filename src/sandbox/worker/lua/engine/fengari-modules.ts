/** What of fengari's modules is used here. */

import type {
  Activation,
  Continuation,
  LuaState,
  LuaString,
  RawFunction,
  RawTable,
  TaggedValue,
  TaggedValueClass,
} from './fengari-types.ts'

export interface Definitions {
  LUA_VERSION_NUM: number
  constant_types: Record<string, number>
}

export interface Configuration {
  LUA_COMPAT_FLOATSTRING: boolean
  LUAI_MAXSTACK: number
  LUA_IDSIZE: number
  lua_number2str(value: number): string
  lua_integer2str(value: number): string
  lua_numbertointeger(value: number): number | false
}

export interface Strings {
  TString: new (L: LuaState | null, bytes: Uint8Array) => LuaString
  luaS_hash(bytes: Uint8Array): string
  luaS_hashlongstr(text: LuaString): string
  luaS_eqlngstr(first: LuaString, second: LuaString): boolean
  luaS_bless(L: LuaState, bytes: Uint8Array): LuaString
  luaS_new(L: LuaState, bytes: Uint8Array): LuaString
}

export interface Objects {
  TValue: TaggedValueClass
  /** Frozen. */
  luaO_nilobject: TaggedValue
  luaO_str2num(text: Uint8Array, target: TaggedValue): number
  luaO_arith(
    L: LuaState | null,
    operation: number,
    left: TaggedValue,
    right: TaggedValue,
    target: TaggedValue | number,
  ): void
}

export interface Machine {
  tointeger(value: TaggedValue): number | false
  luaV_tointeger(value: TaggedValue, mode: number): number | false
  tonumber(value: TaggedValue): number | false
}

export interface Metamethods {
  TMS: Record<string, number>
  luaT_init(L: { l_G: { tmname: LuaString[] } }): void
  luaT_callTM(
    L: LuaState,
    callee: TaggedValue,
    first: TaggedValue,
    second: TaggedValue,
    third: TaggedValue,
    hasResult: number,
  ): void
  luaT_trybinTM(
    L: LuaState,
    left: TaggedValue,
    right: TaggedValue,
    target: TaggedValue,
    event: number,
  ): unknown
}

export interface Tables {
  luaH_new(L: LuaState): RawTable
  luaH_get(L: LuaState, table: RawTable, key: TaggedValue): TaggedValue
  luaH_getint(table: RawTable, key: number): TaggedValue
  luaH_setint(table: RawTable, key: number, value: TaggedValue): void
  luaH_getn(table: RawTable): number
  invalidateTMcache(table: RawTable): void
}

export interface Calls {
  luaD_throw(L: LuaState, status: number): never
  /** Whether all of the call is done: that of a JavaScript function. */
  luaD_precall(L: LuaState, slot: number, results: number): boolean
  luaD_checkstack(L: LuaState, slots: number): void
  luaD_call(L: LuaState, slot: number, results: number): void
}

export interface Lexer {
  luaX_next(state: { L: LuaState }): void
}

export interface Debugging {
  luaG_runerror(L: LuaState, format: Uint8Array, ...values: unknown[]): never
}

export interface States {
  CIST_LUA: number
  CIST_OAH: number
}

export interface Opcodes {
  OpCodesI: Record<string, number>
}

export interface Lua {
  LUA_OK: number
  LUA_YIELD: number
  LUA_ERRRUN: number
  LUA_MULTRET: number
  LUA_OPLT: number
  LUA_MASKCOUNT: number
  LUA_TNIL: number
  LUA_TBOOLEAN: number
  LUA_TLIGHTUSERDATA: number
  LUA_TNUMBER: number
  LUA_TSTRING: number
  LUA_TTABLE: number
  LUA_TFUNCTION: number
  lua_Debug: new () => Activation
  lua_atnativeerror(L: LuaState, handler: RawFunction): void
  lua_callk(
    L: LuaState,
    argumentCount: number,
    resultCount: number,
    context: number,
    continuation: Continuation,
  ): void
  lua_checkstack(L: LuaState, slots: number): boolean
  lua_concat(L: LuaState, count: number): void
  lua_createtable(L: LuaState, arrayCount: number, recordCount: number): void
  lua_error(L: LuaState): never
  lua_getfield(L: LuaState, index: number, key: Uint8Array): number
  lua_geti(L: LuaState, index: number, key: number): number
  lua_getinfo(L: LuaState, what: Uint8Array, activation: Activation): number
  lua_getstack(L: LuaState, level: number, activation: Activation): number
  lua_gettable(L: LuaState, index: number): number
  lua_gettop(L: LuaState): number
  lua_insert(L: LuaState, index: number): void
  lua_isnoneornil(L: LuaState, index: number): boolean
  lua_compare(L: LuaState, first: number, second: number, operation: number): boolean
  lua_isstring(L: LuaState, index: number): boolean
  lua_isyieldable(L: LuaState): boolean
  lua_newthread(L: LuaState): LuaState
  lua_pcall(L: LuaState, argumentCount: number, resultCount: number, handler: number): number
  lua_pcallk(
    L: LuaState,
    argumentCount: number,
    resultCount: number,
    handler: number,
    context: number,
    continuation: Continuation,
  ): number
  lua_pop(L: LuaState, count: number): void
  lua_pushboolean(L: LuaState, value: boolean): void
  lua_pushcfunction(L: LuaState, implementation: RawFunction): void
  lua_pushglobaltable(L: LuaState): void
  lua_pushnil(L: LuaState): void
  lua_pushinteger(L: LuaState, value: number): void
  lua_pushnumber(L: LuaState, value: number): void
  lua_pushthread(L: LuaState): boolean
  lua_pushstring(L: LuaState, bytes: Uint8Array): void
  lua_pushvalue(L: LuaState, index: number): void
  lua_resume(L: LuaState, from: LuaState | null, argumentCount: number): number
  lua_rotate(L: LuaState, index: number, count: number): void
  lua_setfield(L: LuaState, index: number, key: Uint8Array): void
  lua_seti(L: LuaState, index: number, key: number): void
  lua_sethook(
    L: LuaState,
    hook: ((L: LuaState, activation: Activation) => void) | null,
    mask: number,
    count: number,
  ): void
  lua_setmetatable(L: LuaState, index: number): void
  lua_settop(L: LuaState, index: number): void
  lua_toboolean(L: LuaState, index: number): boolean
  lua_tocfunction(L: LuaState, index: number): RawFunction | null
  lua_tonumberx(L: LuaState, index: number): number | false
  lua_tostring(L: LuaState, index: number): Uint8Array | null
  lua_tothread(L: LuaState, index: number): LuaState | null
  lua_touserdata(L: LuaState, index: number): unknown
  lua_status(L: LuaState): number
  lua_type(L: LuaState, index: number): number
  lua_xmove(from: LuaState, to: LuaState, count: number): void
  lua_yield(L: LuaState, resultCount: number): number
  /** Throws what ends the running of this thread; after it the continuation is called. */
  lua_yieldk(L: LuaState, resultCount: number, context: number, continuation: Continuation): never
}

export interface Auxiliary {
  luaL_newstate(): LuaState
  luaL_requiref(L: LuaState, name: Uint8Array, open: RawFunction, global: number): void
  luaL_loadbufferx(L: LuaState, source: Uint8Array, size: number, name: Uint8Array, mode: Uint8Array): number
  luaL_argerror(L: LuaState, argument: number, message: Uint8Array): never
  luaL_checkany(L: LuaState, argument: number): void
  luaL_checkinteger(L: LuaState, argument: number): number
  luaL_checknumber(L: LuaState, argument: number): number
  luaL_checkstack(L: LuaState, slots: number, message: Uint8Array): void
  luaL_checkstring(L: LuaState, argument: number): Uint8Array
  luaL_checktype(L: LuaState, argument: number, type: number): void
  luaL_getmetafield(L: LuaState, argument: number, event: Uint8Array): number
  luaL_len(L: LuaState, index: number): number
  luaL_optinteger(L: LuaState, argument: number, fallback: number): number
  luaL_tolstring(L: LuaState, index: number): Uint8Array
  luaL_typename(L: LuaState, index: number): Uint8Array
  luaL_where(L: LuaState, level: number): void
}

export interface Libraries {
  luaopen_base: RawFunction
  luaopen_coroutine: RawFunction
  luaopen_math: RawFunction
  luaopen_utf8: RawFunction
}
