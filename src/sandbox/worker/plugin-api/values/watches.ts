import { serializedJson } from '../../../../base/text/serialized-json.ts'
import { partPattern } from '../../../../base/text/part-pattern.ts'
import type { Watch } from '../../../../schema/outside/trigger.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { CallerAwareFunction } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { functionArgument, option, optionalNumber, textArgument, typeName } from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { createRegistrations, type Registration } from '../registrations.ts'

export interface PluginWatches {
  /** `change`: JSON, `[value, previous]`. */
  deliver(watch: number, path: string, change: Uint8Array): void
}

interface Watcher extends Registration {
  of: Watch['of']
  what: string
}

const places = {
  object: { separator: '.', parts: 4, begin: /^(plugins|\*\*?)$/, form: '@namespace/id:path' },
  point: { separator: '/', parts: 3, begin: /^(@.+|\*\*?)$/, form: '@namespace/id/sensor' },
} as const

/** The pattern as the host compares it. Throws for one that no value ever has: nobody would be called, without a word. */
function fullPattern(of: Watch['of'], text: string): string {
  const [, namespace, id, path] = (of === 'object' && /^@([^/:]+)\/([^/:]+):(.+)$/.exec(text)) || []
  const pattern = path === undefined ? text : `plugins.${namespace}.${id}.${path}`
  const { separator, parts: least, begin, form } = places[of]
  partPattern(pattern, separator, true)
  const parts = pattern.split(separator)
  if (!begin.test(parts[0] ?? '') || (parts.length < least && parts.at(-1) !== '**'))
    throw new Error(`'${text}' is no full path: expected ${form}`)
  return pattern
}

/** `plugin:onObject`, `plugin:onSensor` (plugin API, section 17). The host compares, waits and tells. */
export function installWatches(context: PluginContext): PluginWatches {
  const watchers = createRegistrations<Watcher>(context, {
    ...{ stage: 'watches', limit: 'watchers', plural: 'watchers' },
    removed: (watch) => context.send({ kind: 'unwatch', watch }),
  })

  function method(name: string, of: Watch['of']): CallerAwareFunction {
    return function* (foreignCaller, pattern, callback, options) {
      const text = fullPattern(of, textArgument(name, 1, pattern))
      const run = functionArgument(name, 2, callback)
      const watch: Watch = {
        ...{ of, pattern: text },
        now: option(options, 'now') !== false,
        stays: milliseconds(options, 'stays'),
        debounce: milliseconds(options, 'debounce'),
      }
      const what = `${name} of '${text}'`
      const number = watchers.add(what, { of, what, run }, foreignCaller)
      const asked = foreignCaller === undefined ? {} : { foreignCaller }
      const question = context.ask({ kind: 'watch', number, watch, ...asked })
      const problem = yield* watchers.confirm(number, question)
      if (problem !== undefined) throw new Error(problem)
      return watchers.unsubscribe(number)
    }
  }

  context.addCallerAwareMethod('onObject', method('onObject', 'object'))
  context.addCallerAwareMethod('onSensor', method('onSensor', 'point'))

  return {
    deliver(number, path, change) {
      const watcher = watchers.find(number)
      if (watcher === undefined) return
      const pair = serializedJson(change).value()
      const [value, previous] = Array.isArray(pair) ? pair : []
      const names = watcher.of === 'object' ? [path] : pointNames(path)
      context.entry.call(
        watcher.what,
        watcher.run,
        context.fromJson(value),
        context.fromJson(previous),
        ...names.map(toBytes),
      )
    },
  }
}

/** Id and plugin of `@ns/short/id`. */
function pointNames(path: string): string[] {
  const slash = path.indexOf('/', path.indexOf('/') + 1)
  return [path.slice(slash + 1), path.slice(0, slash)]
}

function milliseconds(options: LuaValue, name: string): number {
  const value = option(options, name)
  if (value === undefined) return 0
  const number = optionalNumber(value)
  if (number === undefined || !Number.isFinite(number) || number < 0)
    throw new Error(`the option ${name} must be a number of milliseconds, not ${typeName(value)}`)
  return number
}
