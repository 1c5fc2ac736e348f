declare module 'fengari/src/defs.js' {
  const definitions: { LUA_VERSION_NUM: number; constant_types: Record<string, number> }
  export = definitions
}

declare module 'fengari/src/luaconf.js' {
  const configuration: {
    LUA_COMPAT_FLOATSTRING: boolean
    LUAI_MAXSTACK: number
    LUA_IDSIZE: number
    lua_number2str(value: number): string
    lua_integer2str(value: number): string
    lua_numbertointeger(value: number): number | false
  }
  export = configuration
}

declare module 'fengari/src/lstring.js' {
  type State = import('./fengari-types.ts').LuaState
  type LuaString = import('./fengari-types.ts').LuaString
  const strings: {
    TString: new (L: State | null, bytes: Uint8Array) => LuaString
    luaS_hash(bytes: Uint8Array): string
    luaS_hashlongstr(text: LuaString): string
    luaS_eqlngstr(first: LuaString, second: LuaString): boolean
    luaS_bless(L: State, bytes: Uint8Array): LuaString
    luaS_new(L: State, bytes: Uint8Array): LuaString
  }
  export = strings
}

declare module 'fengari/src/lobject.js' {
  type State = import('./fengari-types.ts').LuaState
  type TaggedValue = import('./fengari-types.ts').TaggedValue
  const objects: {
    TValue: import('./fengari-types.ts').TaggedValueClass
    /** Frozen. */
    luaO_nilobject: TaggedValue
    luaO_str2num(text: Uint8Array, target: TaggedValue): number
    luaO_arith(
      L: State | null,
      operation: number,
      left: TaggedValue,
      right: TaggedValue,
      target: TaggedValue | number,
    ): void
  }
  export = objects
}

declare module 'fengari/src/lvm.js' {
  type TaggedValue = import('./fengari-types.ts').TaggedValue
  const machine: {
    tointeger(value: TaggedValue): number | false
    luaV_tointeger(value: TaggedValue, mode: number): number | false
    tonumber(value: TaggedValue): number | false
  }
  export = machine
}

declare module 'fengari/src/ltm.js' {
  type State = import('./fengari-types.ts').LuaState
  type TaggedValue = import('./fengari-types.ts').TaggedValue
  const metamethods: {
    TMS: Record<string, number>
    luaT_init(L: { l_G: { tmname: import('./fengari-types.ts').LuaString[] } }): void
    luaT_callTM(
      L: State,
      callee: TaggedValue,
      first: TaggedValue,
      second: TaggedValue,
      third: TaggedValue,
      hasResult: number,
    ): void
    luaT_trybinTM(
      L: State,
      left: TaggedValue,
      right: TaggedValue,
      target: TaggedValue,
      event: number,
    ): unknown
  }
  export = metamethods
}

declare module 'fengari/src/ltable.js' {
  type State = import('./fengari-types.ts').LuaState
  type TaggedValue = import('./fengari-types.ts').TaggedValue
  type RawTable = import('./fengari-types.ts').RawTable
  const tables: {
    luaH_new(L: State): RawTable
    luaH_get(L: State, table: RawTable, key: TaggedValue): TaggedValue
    luaH_getint(table: RawTable, key: number): TaggedValue
    luaH_setint(table: RawTable, key: number, value: TaggedValue): void
    luaH_getn(table: RawTable): number
    invalidateTMcache(table: RawTable): void
  }
  export = tables
}

declare module 'fengari/src/ldo.js' {
  type State = import('./fengari-types.ts').LuaState
  const calls: {
    luaD_throw(L: State, status: number): never
    /** Whether all of the call is done: that of a JavaScript function. */
    luaD_precall(L: State, slot: number, results: number): boolean
    luaD_checkstack(L: State, slots: number): void
    luaD_call(L: State, slot: number, results: number): void
  }
  export = calls
}

declare module 'fengari/src/llex.js' {
  type State = import('./fengari-types.ts').LuaState
  /** Reads the next token. */
  const lexer: { luaX_next(state: { L: State }): void }
  export = lexer
}

declare module 'fengari/src/ldebug.js' {
  type State = import('./fengari-types.ts').LuaState
  const debugging: { luaG_runerror(L: State, format: Uint8Array, ...values: unknown[]): never }
  export = debugging
}

declare module 'fengari/src/lstate.js' {
  const states: { CIST_LUA: number; CIST_OAH: number }
  export = states
}

declare module 'fengari/src/lopcodes.js' {
  const opcodes: { OpCodesI: Record<string, number> }
  export = opcodes
}

declare module 'fengari/src/lua.js' {
  type State = import('./fengari-types.ts').LuaState
  type RawFunction = import('./fengari-types.ts').RawFunction
  type Continuation = import('./fengari-types.ts').Continuation
  type Activation = import('./fengari-types.ts').Activation
  const lua: {
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
    lua_atnativeerror(L: State, handler: RawFunction): void
    lua_callk(
      L: State,
      argumentCount: number,
      resultCount: number,
      context: number,
      continuation: Continuation,
    ): void
    lua_checkstack(L: State, slots: number): boolean
    lua_concat(L: State, count: number): void
    lua_createtable(L: State, arrayCount: number, recordCount: number): void
    lua_error(L: State): never
    lua_getfield(L: State, index: number, key: Uint8Array): number
    lua_geti(L: State, index: number, key: number): number
    lua_getinfo(L: State, what: Uint8Array, activation: Activation): number
    lua_getstack(L: State, level: number, activation: Activation): number
    lua_gettable(L: State, index: number): number
    lua_gettop(L: State): number
    lua_insert(L: State, index: number): void
    lua_isnoneornil(L: State, index: number): boolean
    lua_compare(L: State, first: number, second: number, operation: number): boolean
    lua_isstring(L: State, index: number): boolean
    lua_isyieldable(L: State): boolean
    lua_newthread(L: State): State
    lua_pcall(L: State, argumentCount: number, resultCount: number, handler: number): number
    lua_pcallk(
      L: State,
      argumentCount: number,
      resultCount: number,
      handler: number,
      context: number,
      continuation: Continuation,
    ): number
    lua_pop(L: State, count: number): void
    lua_pushboolean(L: State, value: boolean): void
    lua_pushcfunction(L: State, implementation: RawFunction): void
    lua_pushglobaltable(L: State): void
    lua_pushnil(L: State): void
    lua_pushinteger(L: State, value: number): void
    lua_pushnumber(L: State, value: number): void
    lua_pushthread(L: State): boolean
    lua_pushstring(L: State, bytes: Uint8Array): void
    lua_pushvalue(L: State, index: number): void
    lua_resume(L: State, from: State | null, argumentCount: number): number
    lua_rotate(L: State, index: number, count: number): void
    lua_setfield(L: State, index: number, key: Uint8Array): void
    lua_seti(L: State, index: number, key: number): void
    lua_sethook(
      L: State,
      hook: ((L: State, activation: Activation) => void) | null,
      mask: number,
      count: number,
    ): void
    lua_setmetatable(L: State, index: number): void
    lua_settop(L: State, index: number): void
    lua_toboolean(L: State, index: number): boolean
    lua_tocfunction(L: State, index: number): RawFunction | null
    lua_tonumberx(L: State, index: number): number | false
    lua_tostring(L: State, index: number): Uint8Array | null
    lua_tothread(L: State, index: number): State | null
    lua_touserdata(L: State, index: number): unknown
    lua_status(L: State): number
    lua_type(L: State, index: number): number
    lua_xmove(from: State, to: State, count: number): void
    lua_yield(L: State, resultCount: number): number
    /** Throws what ends the running of this thread; after it the continuation is called. */
    lua_yieldk(L: State, resultCount: number, context: number, continuation: Continuation): never
  }
  export = lua
}

declare module 'fengari/src/lauxlib.js' {
  type State = import('./fengari-types.ts').LuaState
  type RawFunction = import('./fengari-types.ts').RawFunction
  const auxiliary: {
    luaL_newstate(): State
    luaL_requiref(L: State, name: Uint8Array, open: RawFunction, global: number): void
    luaL_loadbufferx(L: State, source: Uint8Array, size: number, name: Uint8Array, mode: Uint8Array): number
    luaL_argerror(L: State, argument: number, message: Uint8Array): never
    luaL_checkany(L: State, argument: number): void
    luaL_checkinteger(L: State, argument: number): number
    luaL_checknumber(L: State, argument: number): number
    luaL_checkstack(L: State, slots: number, message: Uint8Array): void
    luaL_checkstring(L: State, argument: number): Uint8Array
    luaL_checktype(L: State, argument: number, type: number): void
    luaL_getmetafield(L: State, argument: number, event: Uint8Array): number
    luaL_len(L: State, index: number): number
    luaL_optinteger(L: State, argument: number, fallback: number): number
    luaL_tolstring(L: State, index: number): Uint8Array
    luaL_typename(L: State, index: number): Uint8Array
    luaL_where(L: State, level: number): void
  }
  export = auxiliary
}

declare module 'fengari/src/lualib.js' {
  type RawFunction = import('./fengari-types.ts').RawFunction
  const libraries: {
    luaopen_base: RawFunction
    luaopen_coroutine: RawFunction
    luaopen_math: RawFunction
    luaopen_utf8: RawFunction
  }
  export = libraries
}
