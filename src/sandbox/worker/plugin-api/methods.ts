import type { LuaValue } from '../lua/lua-value.ts'
import type { CallerAwareFunction, CallerAwareSteps } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, typeName } from '../lua/arguments.ts'

/** How the parts of the plugin API say what `plugin:name(…)` does. */
export function createMethods({
  foreignCallers,
  implement,
}: Pick<PluginContext, 'foreignCallers' | 'implement'>): Pick<
  PluginContext,
  'addMethod' | 'addCallerAwareMethod' | 'addCallerAwareMethodOfSteps'
> {
  /** The arguments after the instance. */
  function withoutSelf(name: string, [self, ...args]: readonly LuaValue[]): LuaValue[] {
    if (isTable(self)) return args
    throw new Error(`call it with a colon, plugin:${name}(…): the first argument is a ${typeName(self)}`)
  }

  function addCallerAwareMethod(name: string, implementation: CallerAwareFunction): void {
    const full = `plugin:${name}`
    implement(full, () =>
      foreignCallers.method(full, (foreignCaller, ...args) =>
        implementation(foreignCaller, ...withoutSelf(name, args)),
      ),
    )
  }

  function addCallerAwareMethodOfSteps(name: string, implementation: CallerAwareSteps): void {
    const full = `plugin:${name}`
    implement(full, () =>
      foreignCallers.methodOfSteps(full, (foreignCaller, ...args) =>
        implementation(foreignCaller, ...withoutSelf(name, args)),
      ),
    )
  }

  return {
    addMethod: (name, implementation) =>
      addCallerAwareMethod(name, (_foreignCaller, ...args) => implementation(...args)),
    addCallerAwareMethod,
    addCallerAwareMethodOfSteps,
  }
}
