import type { LuaValue } from '../lua/lua-value.ts'
import type { CallerAwareFunction, CallerAwareSteps, ForeignCaller } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, typeName } from '../lua/arguments.ts'

/** How the parts of the plugin API say what `plugin:name(…)` does. */
export function createMethods({
  foreignCallers,
  implement,
  checkOptions,
}: Pick<PluginContext, 'foreignCallers' | 'implement' | 'checkOptions'>): Pick<
  PluginContext,
  'addMethod' | 'addCallerAwareMethod' | 'addCallerAwareMethodOfSteps'
> {
  /** The arguments after the instance. */
  function withoutSelf(
    name: string,
    foreignCaller: ForeignCaller,
    [self, ...args]: readonly LuaValue[],
  ): LuaValue[] {
    if (!isTable(self))
      throw new Error(`call it with a colon, plugin:${name}(…): the first argument is a ${typeName(self)}`)
    checkOptions(`plugin:${name}`, args, foreignCaller)
    return args
  }

  function addCallerAwareMethod(name: string, implementation: CallerAwareFunction): void {
    const full = `plugin:${name}`
    implement(full, () =>
      foreignCallers.method(full, (foreignCaller, ...args) =>
        implementation(foreignCaller, ...withoutSelf(name, foreignCaller, args)),
      ),
    )
  }

  function addCallerAwareMethodOfSteps(name: string, implementation: CallerAwareSteps): void {
    const full = `plugin:${name}`
    implement(full, () =>
      foreignCallers.methodOfSteps(full, (foreignCaller, ...args) =>
        implementation(foreignCaller, ...withoutSelf(name, foreignCaller, args)),
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
