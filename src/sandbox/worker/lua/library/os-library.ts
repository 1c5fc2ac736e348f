import { toBytes, toUnicode } from '../text/bytes.ts'
import { type CalendarFields, calendarFields, formatDate, readDateFormat, timeOf } from '../text/calendar.ts'
import { auxiliary, lua } from '../engine/engine.ts'
import type { LuaState, RawFunction } from '../engine/fengari-types.ts'
import { LuaFailure } from '../raw-function.ts'
import type { LibraryContext } from './libraries.ts'

/** Characters. */
const longestDateFormat = 65_536

/** All of `os`: nothing of the machine but the time. */
export function osFunctions(context: LibraryContext): Record<string, RawFunction> {
  return { time: time(context), date: date(context), clock, difftime }
}

const present = (context: LibraryContext): number => Math.floor(context.now() / 1000)

function time(context: LibraryContext): RawFunction {
  return (L) => {
    if (lua.lua_isnoneornil(L, 1)) {
      lua.lua_pushnumber(L, present(context))
      return 1
    }
    auxiliary.luaL_checktype(L, 1, lua.LUA_TTABLE)
    lua.lua_settop(L, 1)
    const seconds = timeOf({
      year: field(L, 'year'),
      month: field(L, 'month'),
      day: field(L, 'day'),
      hour: field(L, 'hour', 12),
      min: field(L, 'min', 0),
      sec: field(L, 'sec', 0),
      isdst: daylight(L),
    })
    if (seconds === undefined) throw new LuaFailure('time result cannot be represented in this installation')
    // As in C, the fields of the caller come back in order: the 32nd of May is the 1st of June.
    const fields = calendarFields(seconds, false)
    if (fields !== undefined) setFields(L, fields)
    lua.lua_pushnumber(L, seconds)
    return 1
  }
}

function field(L: LuaState, name: string, fallback?: number): number {
  lua.lua_getfield(L, 1, toBytes(name))
  const missing = lua.lua_type(L, -1) === lua.LUA_TNIL
  const value = lua.lua_tonumberx(L, -1)
  lua.lua_pop(L, 1)
  if (value !== false && Number.isFinite(value)) return Math.trunc(value)
  if (!missing) throw new LuaFailure(`field '${name}' is not an integer`)
  if (fallback === undefined) throw new LuaFailure(`field '${name}' missing in date table`)
  return fallback
}

function daylight(L: LuaState): boolean | undefined {
  lua.lua_getfield(L, 1, toBytes('isdst'))
  const value = lua.lua_type(L, -1) === lua.LUA_TNIL ? undefined : lua.lua_toboolean(L, -1)
  lua.lua_pop(L, 1)
  return value
}

/** Into the table at the top of the stack. */
function setFields(L: LuaState, fields: CalendarFields): void {
  for (const [name, value] of Object.entries<number | boolean>({ ...fields })) {
    if (typeof value === 'boolean') lua.lua_pushboolean(L, value)
    else lua.lua_pushnumber(L, value)
    lua.lua_setfield(L, -2, toBytes(name))
  }
}

function date(context: LibraryContext): RawFunction {
  return (L) => {
    const given = lua.lua_isnoneornil(L, 1) ? '%c' : toUnicode(auxiliary.luaL_checkstring(L, 1))
    if (given.length > longestDateFormat) {
      throw new LuaFailure(`date format too long (more than ${longestDateFormat} characters)`)
    }
    const seconds = lua.lua_isnoneornil(L, 2) ? present(context) : auxiliary.luaL_checknumber(L, 2)
    const wanted = readDateFormat(given, seconds)
    if (wanted === undefined) throw new LuaFailure('date result cannot be represented in this installation')
    if (wanted.format.startsWith('*t')) {
      lua.lua_createtable(L, 0, 9)
      setFields(L, wanted.fields)
      return 1
    }
    const text = formatDate(wanted, (letter) =>
      auxiliary.luaL_argerror(L, 1, toBytes(`invalid conversion specifier '%${letter}'`)),
    )
    lua.lua_pushstring(L, toBytes(text))
    return 1
  }
}

function clock(L: LuaState): number {
  lua.lua_pushnumber(L, performance.now() / 1000)
  return 1
}

function difftime(L: LuaState): number {
  const later = auxiliary.luaL_checknumber(L, 1)
  const earlier = lua.lua_isnoneornil(L, 2) ? 0 : auxiliary.luaL_checknumber(L, 2)
  lua.lua_pushnumber(L, later - earlier)
  return 1
}
