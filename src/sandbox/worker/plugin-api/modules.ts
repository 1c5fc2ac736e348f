import type { HostFunction, LuaValue } from '../lua/lua-value.ts'
import { callLua } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import { textArgument } from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'

/** What Lua has loaded before anybody asks: many a library begins with `local string = require("string")`. */
const standardLibraries = new Set(['_G', 'coroutine', 'math', 'os', 'string', 'table', 'utf8'])

/**
 * `require` (plugin API, section 9): a file of the plugin's own, which runs once, in the plugin's environment;
 * else a library of Lua; else another plugin, as `Plugin.get` gives it.
 */
export function installModules(context: PluginContext): void {
  const { runtime, source } = context
  const loaded = new Map<string, LuaValue>()
  const running = new Set<string>()

  const require: HostFunction = function* (name) {
    const module = textArgument('require', 1, name)
    const paths = filesOf(module)
    const file = paths.find((path) => Object.hasOwn(source.files, path)) ?? paths[0]
    const content = Object.hasOwn(source.files, file) ? source.files[file] : undefined
    if (content === undefined) {
      if (standardLibraries.has(module)) return runtime.globals.get(module)
      const plugin = yield* context.peers.find(module)
      if (plugin !== undefined) return plugin
      throw new Error(
        `module '${module}' not found: ${whyNoFile(file)}, and no plugin '${module}' is running`,
      )
    }
    if (loaded.has(file)) return loaded.get(file)
    if (running.has(file)) throw new Error(`module '${module}' requires itself, directly or through others`)
    running.add(file)
    try {
      // As in Lua: the file gets its name, by which the parts of a library find each other, and its path.
      const [value] = yield* callLua(runtime.compile(content, file), name, toBytes(file))
      // As in Lua: a module that returns nothing counts as true.
      const result = value === undefined ? true : value
      loaded.set(file, result)
      return result
    } finally {
      running.delete(file)
    }
  }
  context.implement('require', () => runtime.wrap('require', require))
}

function whyNoFile(file: string): string {
  // Dots stand for slashes: `../x` comes out as a path that nobody has written.
  return file.split('/').includes('')
    ? `a file is named from the plugin's own folder, as 'lib.helpers' is`
    : `the manifest's files name no '${file}'`
}

/** `lib.helpers` and `lib/helpers` are the file `lib/helpers.lua`, or of a folder the file `lib/helpers/init.lua`. */
function filesOf(module: string): [string, ...string[]] {
  if (module.endsWith('.lua')) return [module]
  const path = module.replaceAll('.', '/')
  return [`${path}.lua`, `${path}/init.lua`]
}
