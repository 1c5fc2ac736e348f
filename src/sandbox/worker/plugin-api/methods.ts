import type { LuaFunction, LuaValue } from '../lua/lua-value.ts'
import type { CallerAware, ForeignCaller } from '../limits/foreign-callers.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isTable, typeName } from '../lua/arguments.ts'

/** How the parts of the plugin API say what `plugin:name(…)` does. */
export function createMethods({
  foreignCallers,
  implement,
  optionCheck,
}: Pick<PluginContext, 'foreignCallers' | 'implement' | 'optionCheck'>): Pick<
  PluginContext,
  'addMethod' | 'addCallerAwareMethod' | 'addCallerAwareMethodOfSteps'
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

  /** `make`: how a function of Lua is made of one that knows who calls. */
  function adder<R>(
    make: (name: string, implementation: CallerAware<R>) => LuaFunction,
  ): (name: string, implementation: CallerAware<R>) => void {
    return (name, implementation) => {
      const full = `plugin:${name}`
      implement(full, () => {
        const withoutSelf = argumentsOf(full)
        return make(full, (foreignCaller, ...args) =>
          implementation(foreignCaller, ...withoutSelf(foreignCaller, args)),
        )
      })
    }
  }

  const addCallerAwareMethod = adder(foreignCallers.method)
  return {
    addMethod: (name, implementation) =>
      addCallerAwareMethod(name, (_foreignCaller, ...args) => implementation(...args)),
    addCallerAwareMethod,
    addCallerAwareMethodOfSteps: adder(foreignCallers.methodOfSteps),
  }
}
