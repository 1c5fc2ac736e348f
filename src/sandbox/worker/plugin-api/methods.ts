import type { LuaValue } from '../lua/lua-value.ts'
import type { ForeignCaller } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, typeName } from '../lua/arguments.ts'

/** How the parts of the plugin API say what `plugin:name(…)` does. */
export function createMethods({
  foreignCallers,
  implement,
  optionCheck,
}: Pick<PluginContext, 'foreignCallers' | 'implement' | 'optionCheck'>): Pick<
  PluginContext,
  'addMethod' | 'addCallerAwareMethod'
> {
  /** The arguments after the instance. */
  function argumentsOf(
    call: string,
  ): (foreignCaller: ForeignCaller, given: readonly LuaValue[]) => LuaValue[] {
    const check = optionCheck(call)
    return (foreignCaller, [self, ...args]) => {
      if (!isTable(self))
        throw new Error(`call it with a colon, ${call}(…): the first argument is a ${typeName(self)}`)
      check(args, foreignCaller)
      return args
    }
  }

  const addCallerAwareMethod: PluginContext['addCallerAwareMethod'] = (name, implementation) => {
    const full = `plugin:${name}`
    implement(full, () => {
      const withoutSelf = argumentsOf(full)
      return foreignCallers.method(full, (foreignCaller, ...args) =>
        implementation(foreignCaller, ...withoutSelf(foreignCaller, args)),
      )
    })
  }
  return {
    addMethod: (name, implementation) =>
      addCallerAwareMethod(name, (_foreignCaller, ...args) => implementation(...args)),
    addCallerAwareMethod,
  }
}
