import type { LuaFunction, LuaTable, LuaValue } from '../../lua/lua-value.ts'
import { callLua, type Steps } from '../../lua/steps.ts'
import type { PluginContext } from '../../plugin-context.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import { failureOf } from '../../plugin-log.ts'
import {
  isFunction,
  isTruthy,
  option,
  optionalNumber,
  optionalText,
  tableArgument,
  typeName,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { createPoller, type Poller, type PollerStats } from './poller.ts'

/** Milliseconds between two runs at least; a shorter interval would leave no time for anything else. */
const shortestInterval = 10
const defaultTimeout = 30_000
const defaultBackoff = 1_000
/** Attempts of one run at most; the delay between them doubles each time. */
const attemptLimit = 100

/** `plugin:poller` (plugin API, section 5). Names are labels: two pollers of one name are two. */
export function installPollers(context: PluginContext): void {
  const { runtime, entry, log, resources, limits } = context
  /** Those that hold something; one that is stopped is only known to the plugin. */
  const active = new Set<Poller<LuaValue>>()

  context.addCallerAwareMethod('poller', (foreignCaller, label, given) => {
    const name = optionalText(label) ?? 'poller'
    const options = tableArgument('poller', 2, given)
    const onTick = taskOf(options)
    const onError = options.get('onError')
    const retry = options.get('retry')
    const attempts = option(retry, 'maxAttempts') ?? option(retry, 'attempts')
    const interval = milliseconds(options.get('interval'), 0)
    const initialDelay = options.get('initialDelay')

    let calling = false
    /** The reason that the log has, and how many rounds have failed in a row. */
    let told: string | undefined
    let failures = 0

    /** A device that is off for a night would fill the log with one line a round. */
    function tell(reason: string | undefined): void {
      if (reason === undefined && failures > 0)
        log.write('info', `poller '${name}' works again, after ${failures} that failed`)
      else if (reason !== undefined && reason !== told)
        log.write('warn', `poller '${name}' failed: ${reason}`)
      told = reason
      failures = reason === undefined ? 0 : failures + 1
    }

    function thrown(error: unknown): LuaValue {
      const { message, traceback } = failureOf(error)
      const caller = context.peers.ownerOf(onTick)?.plugin
      log.write('debug', `poller '${name}': ${message}${traceback === '' ? '' : `\n${traceback}`}`, caller)
      return toBytes(message)
    }

    function* attempt(told: LuaFunction, done: (error?: LuaValue) => void): Steps<void> {
      try {
        yield* callLua(onTick, told)
      } catch (error) {
        done(thrown(error))
      }
    }

    const poller: Poller<LuaValue> = createPoller<LuaValue>({
      clock: context.clock,
      interval: interval === 0 ? 0 : Math.max(shortestInterval, interval),
      immediate: isTruthy(options.get('immediate')),
      initialDelay: initialDelay === undefined ? undefined : milliseconds(initialDelay, 0),
      timeout: milliseconds(options.get('timeout'), defaultTimeout) || defaultTimeout,
      maxAttempts: Math.min(attemptLimit, Math.max(1, Math.floor(milliseconds(attempts, 1)))),
      backoff: milliseconds(option(retry, 'backoff'), defaultBackoff),
      timeoutError: toBytes('timeout'),
      tick(done) {
        // One of another plugin that has not come back from the last time is not called again.
        if (calling) return
        calling = true
        const told = doneFunction(done)
        const settled = (error?: Error): void => {
          calling = false
          // Not within the answer: what follows may call Lua, and Lua may be waiting for something else.
          if (error !== undefined) context.clock.schedule(0, () => done(thrown(error)))
        }
        if (context.peers.callLater(onTick, [told], settled)) return
        calling = false
        entry.start(attempt(told, done))
      },
      thrown,
      failed(error, stats) {
        if (isFunction(onError)) entry.call(`onError of poller '${name}'`, onError, error, statsTable(stats))
        else tell(runtime.toText(error))
      },
      succeeded() {
        if (!isFunction(onError)) tell(undefined)
      },
      changed() {
        if (poller.isActive()) active.add(poller)
        else active.delete(poller)
        context.touch()
      },
    })
    context.peers.whenGone(`poller '${name}'`, onTick, () => {
      poller.close()
      active.delete(poller)
    })
    return pollerTable(foreignCaller, poller)
  })

  /** It goes by the number of arguments: none is success, one an error, two or more a result and an error. */
  function doneFunction(done: (error?: LuaValue) => void): LuaFunction {
    return runtime.wrap('done', (...args) => {
      const error = args.length < 2 ? args[0] : args[1]
      if (isTruthy(error)) done(error)
      else done()
    })
  }

  function pollerTable(foreignCaller: ForeignCaller, poller: Poller<LuaValue>): LuaTable {
    const table = runtime.newTable()
    const action = (name: string, implementation: () => void): void => {
      const callable = runtime.wrap(`poller:${name}`, () => {
        implementation()
      })
      table.set(name, callable)
    }
    const begin = (run: () => void): void => {
      if (!active.has(poller) && !limits.hasRoom('pollers', active.size, foreignCaller)) {
        throw new Error(`too many pollers: a plugin may have ${limits.pollers} at work at one time`)
      }
      run()
    }
    action('start', () => begin(poller.start))
    action('stop', poller.stop)
    action('poll', () => begin(poller.poll))
    table.set(
      'stats',
      runtime.wrap('poller:stats', () => statsTable(poller.stats())),
    )
    return table
  }

  /** `lastTick` in seconds since the epoch, as `os.time` counts. */
  function statsTable(stats: PollerStats<LuaValue>): LuaTable {
    const table = runtime.newTable()
    table.set('running', stats.running)
    table.set('inFlight', stats.inFlight)
    table.set('tickCount', stats.tickCount)
    table.set('errorCount', stats.errorCount)
    if (stats.lastTick !== undefined) table.set('lastTick', Math.floor(stats.lastTick / 1000))
    if (stats.lastError !== undefined) table.set('lastError', toBytes(runtime.toText(stats.lastError)))
    return table
  }

  resources.add('pollers', {
    count: () => active.size,
    release() {
      for (const poller of active) poller.close()
      active.clear()
    },
  })
}

function taskOf(options: LuaTable): LuaFunction {
  const task = options.get('onTick')
  if (isFunction(task)) return task
  throw new Error(`bad argument #2 to 'poller' (its onTick must be a function, not ${typeName(task)})`)
}

function milliseconds(value: LuaValue, fallback: number): number {
  return Math.max(0, optionalNumber(value) ?? fallback)
}
