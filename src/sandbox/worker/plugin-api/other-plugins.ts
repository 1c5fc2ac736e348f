import type { LuaValue } from '../lua/lua-value.ts'
import type { ForeignCaller } from '../limits/foreign-callers.ts'
import type { Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, textArgument } from '../lua/arguments.ts'
import type { PluginPoints } from './values/points.ts'

/** `Plugin.get`, `Plugin.getPlugin`, `Plugin.list` (plugin API, section 9). */
export function installOtherPlugins(context: PluginContext, points: PluginPoints): void {
  const { peers, foreignCallers } = context
  const { Plugin: pluginClass } = context.tables

  function* find(foreignCaller: ForeignCaller, name: string, id: LuaValue): Steps<LuaValue> {
    // Whom this plugin may call is not for another one to make use of.
    if (foreignCaller !== undefined) throw new Error(`call your own ${name}`)
    return yield* peers.find(textArgument(name, 1, id))
  }

  context.implement('Plugin.get', () =>
    foreignCallers.method('Plugin.get', function* (foreignCaller, first, second) {
      // `plugin:get(id)` is the look-up of a sensor; `Plugin:get(id)` and `Plugin.get(id)` that of a plugin.
      if (first === pluginClass) return yield* find(foreignCaller, 'Plugin.get', second)
      return isTable(first) ? points.find(second) : yield* find(foreignCaller, 'Plugin.get', first)
    }),
  )
  context.implement('Plugin.getPlugin', () =>
    foreignCallers.method('Plugin.getPlugin', (foreignCaller, first, second) =>
      find(foreignCaller, 'Plugin.getPlugin', isTable(first) ? second : first),
    ),
  )
  context.implement('Plugin.list', () =>
    foreignCallers.method('Plugin.list', function* (foreignCaller) {
      if (foreignCaller !== undefined) throw new Error('call your own Plugin.list')
      const plugins = yield* context.ask({ kind: 'listPlugins' })
      return context.fromJson(plugins.map((plugin) => ({ ...plugin })))
    }),
  )
}
