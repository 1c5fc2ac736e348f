// fengari's modules that are changed before the others are loaded. In CommonJS, because a bundle copies every name of a
// CommonJS module that a module of the other kind imports: some thousand, in each worker.
import definitions = require('fengari/src/defs.js')
import strings = require('fengari/src/lstring.js')
import configuration = require('fengari/src/luaconf.js')

export = { definitions, strings, configuration }
