// fengari's modules that are changed before the others are loaded. In CommonJS, because a bundle copies every name of a
// CommonJS module that a module of the other kind imports: some thousand, in each worker.
import type Fengari = require('./fengari-modules.ts')
import definitions = require('fengari/src/defs.js')
import strings = require('fengari/src/lstring.js')
import configuration = require('fengari/src/luaconf.js')

export = {
  definitions: definitions as Fengari.Definitions,
  strings: strings as Fengari.Strings,
  configuration: configuration as Fengari.Configuration,
}
