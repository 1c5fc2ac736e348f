import type { HostSteps, LuaValue } from '../lua/lua-value.ts'
import { callLua } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import { textArgument } from '../lua/arguments.ts'

/**
 * `require` (plugin API, section 9): a file of the plugin's own, which runs once, in the plugin's environment;
 * else another plugin, as `Plugin.get` gives it.
 */
export function installModules(context: PluginContext): void {
  const { runtime, source } = context
  const loaded = new Map<string, LuaValue>()
  const running = new Set<string>()

  const require: HostSteps = function* (name) {
    const module = textArgument('require', 1, name)
    const file = fileOf(module)
    const content = Object.hasOwn(source.files, file) ? source.files[file] : undefined
    if (content === undefined) {
      const plugin = yield* context.peers.find(module)
      if (plugin !== undefined) return plugin
      throw new Error(
        `module '${module}' not found: the manifest's files name no '${file}', and no plugin '${module}' is running`,
      )
    }
    if (loaded.has(file)) return loaded.get(file)
    if (running.has(file)) throw new Error(`module '${module}' requires itself, directly or through others`)
    running.add(file)
    try {
      const [value] = yield* callLua(runtime.compile(content, file))
      // As in Lua: a module that returns nothing counts as true.
      const result = value === undefined ? true : value
      loaded.set(file, result)
      return result
    } finally {
      running.delete(file)
    }
  }
  context.implement('require', () => runtime.wrapSteps('require', require))
}

/** `lib.helpers` and `lib/helpers` are the file `lib/helpers.lua`. */
function fileOf(module: string): string {
  return module.endsWith('.lua') ? module : `${module.replaceAll('.', '/')}.lua`
}
