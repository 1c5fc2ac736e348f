// fengari's modules need each other in circles, and `lua.js` is the door through which they load in an order that works.
import type Fengari = require('./fengari-modules.ts')
import lua = require('fengari/src/lua.js')
import auxiliary = require('fengari/src/lauxlib.js')
import debugging = require('fengari/src/ldebug.js')
import calls = require('fengari/src/ldo.js')
import lexer = require('fengari/src/llex.js')
import objects = require('fengari/src/lobject.js')
import opcodes = require('fengari/src/lopcodes.js')
import states = require('fengari/src/lstate.js')
import tables = require('fengari/src/ltable.js')
import metamethods = require('fengari/src/ltm.js')
import libraries = require('fengari/src/lualib.js')
import machine = require('fengari/src/lvm.js')

export = {
  lua: lua as Fengari.Lua,
  auxiliary: auxiliary as Fengari.Auxiliary,
  debugging: debugging as Fengari.Debugging,
  calls: calls as Fengari.Calls,
  lexer: lexer as Fengari.Lexer,
  objects: objects as Fengari.Objects,
  opcodes: opcodes as Fengari.Opcodes,
  states: states as Fengari.States,
  tables: tables as Fengari.Tables,
  metamethods: metamethods as Fengari.Metamethods,
  libraries: libraries as Fengari.Libraries,
  machine: machine as Fengari.Machine,
}
