import type { LuaFunction, LuaTable, LuaValue } from '../lua/lua-value.ts'
import { callOn, type Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'
import type { TimeAccount } from '../budgets/time-budget.ts'
import {
  functionArgument,
  isFunction,
  isTable,
  optionalText,
  textArgument,
  typeName,
} from '../lua/arguments.ts'
import { toBytes } from '../lua/text/bytes.ts'

/** `Plugin:new`, the instance and its fields, `onInit` and `onCleanup` (plugin API, section 2). */
export interface PluginInstances {
  /** The id that the chunk gave to `Plugin:new`; undefined when it never called it. */
  readonly claimedId: string | undefined
  /** What `Plugin:new` made last. */
  readonly instance: LuaTable | undefined
  /** The table that the plugin has as its configuration. */
  readonly config: LuaValue
  /** Nothing happens when the plugin has no such callback. */
  runInit(account: TimeAccount): Steps<void>
  runCleanup(account: TimeAccount): Steps<void>
}

export function installPlugin(context: PluginContext): PluginInstances {
  const { runtime, source, log } = context
  const config = context.fromJson(source.config as never)
  let instance: LuaTable | undefined
  let claimedId: string | undefined
  const stored: { onInit?: LuaFunction; onCleanup?: LuaFunction } = {}

  const metatable = runtime.newTable()
  metatable.set('__index', context.tables.Plugin)
  metatable.set('__name', toBytes('Plugin'))

  function create(id: LuaValue, meta: LuaValue): LuaTable {
    const text = optionalText(id)
    if (text === undefined) {
      throw new Error(`bad argument #1 to 'Plugin:new' (the plugin's id expected, got ${typeName(id)})`)
    }
    if (claimedId !== undefined) log.write('warn', 'Plugin:new was called a second time; the last one counts')
    claimedId = text
    const created = runtime.newTable()
    created.set('id', toBytes(source.id))
    created.set('shortId', toBytes(source.shortId))
    created.set('name', toBytes(source.name))
    created.set('version', toBytes(source.version))
    if (source.description !== null) created.set('description', toBytes(source.description))
    if (source.host !== undefined) created.set('host', toBytes(source.host))
    created.set('epoch', source.epoch)
    created.set('meta', isTable(meta) ? meta : runtime.newTable())
    created.set('config', config)
    created.metatable = metatable
    instance = created
    return created
  }

  context.implement('Plugin:new', () =>
    runtime.wrap('Plugin:new', (...args) => {
      // `Plugin:new(id)` and `Plugin.new(id)` are both seen.
      const [id, meta] = isTable(args[0]) ? args.slice(1) : args
      return create(id, meta)
    }),
  )
  for (const name of ['onInit', 'onCleanup'] as const) {
    context.addMethod(name, (callback) => {
      stored[name] = functionArgument(name, 1, callback)
    })
  }

  context.addMethod('getConfig', (key, fallback) => {
    const value = isTable(config) ? config.get(textArgument('getConfig', 1, key)) : undefined
    return value === undefined ? fallback : value
  })

  /** A function assigned to the instance is a method; one that was handed over is a plain function. */
  function* run(name: 'onInit' | 'onCleanup', account: TimeAccount, ...args: LuaValue[]): Steps<void> {
    const assigned = instance?.get(name)
    const callback = stored[name]
    if (isFunction(assigned)) yield* callOn(account, assigned, instance, ...args)
    else if (callback !== undefined) yield* callOn(account, callback, ...args)
  }

  return {
    get claimedId() {
      return claimedId
    },
    get instance() {
      return instance
    },
    config,
    runInit: (account) => run('onInit', account, config),
    runCleanup: (account) => run('onCleanup', account),
  }
}
