import type { ScheduledCall } from '../../../../base/time/clock.ts'
import type { LuaFunction, LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import { createCreatorRegistry } from '../../limits/creator-registry.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { createRegistrations, type Registration } from '../registrations.ts'
import { functionArgument, numberArgument } from '../../lua/arguments.ts'

/** Milliseconds; an interval of zero would leave no time for anything else. */
const shortestInterval = 1
/** Milliseconds; about 285,000 years, the longest that milliseconds as a double count exactly. */
const longestDelay = Number.MAX_SAFE_INTEGER

export interface PluginTimers {
  /** For something else that `clearTimer` ends, too. */
  nextId(): number
  /** `clear` is called with what is no timer. */
  alsoClears(clear: (foreignCaller: ForeignCaller, id: number) => void): void
}

interface Timer extends Registration {
  call: ScheduledCall | undefined
}

/** `setTimeout`, `setInterval`, `clearTimer` (plugin API, section 5). */
export function installTimers(context: PluginContext): PluginTimers {
  const { clock, entry, peers } = context
  const creators = createCreatorRegistry<number>('timer')
  let lastId = 0
  let clearOther: (foreignCaller: ForeignCaller, id: number) => void = () => undefined

  const nextId = (): number => (lastId += 1)
  const timers = createRegistrations<Timer>(context, {
    ...{ stage: 'timers', limit: 'timers', plural: 'timers', nextNumber: nextId },
    removed(id, { call }) {
      call?.cancel()
      creators.forget(id)
    },
  })

  /** A timer of another plugin's function ends with that plugin. */
  function add(foreignCaller: ForeignCaller, timer: Timer): number {
    const id = timers.add('timer', timer, foreignCaller)
    creators.record(foreignCaller, id)
    return id
  }

  /** What an interval does each time. One of another plugin is left out while that one still has the last to do. */
  function beatOf(run: LuaFunction): () => void {
    let waiting = false
    if (peers.ownerOf(run) === undefined) {
      const once = function* (): Steps<void> {
        waiting = false
        yield* entry.report('timer', run)
      }
      return () => {
        // One that is late is run once, however often it was due.
        if (waiting) return
        waiting = true
        entry.start(once())
      }
    }
    const settled = (error?: Error): void => {
      waiting = false
      if (error !== undefined) entry.failed('timer', run, error)
    }
    return () => {
      if (waiting) return
      waiting = true
      peers.callLater(run, [], settled)
    }
  }

  context.addCallerAwareMethod('setTimeout', (foreignCaller, milliseconds, callback) => {
    const delay = delayOf('setTimeout', milliseconds)
    const run = functionArgument('setTimeout', 2, callback)
    const timer: Timer = { run, call: undefined }
    const id = add(foreignCaller, timer)
    timer.call = clock.schedule(delay, () => {
      timers.remove(id)
      entry.call('timer', run)
    })
    return id
  })

  context.addCallerAwareMethod('setInterval', (foreignCaller, milliseconds, callback) => {
    const period = Math.max(shortestInterval, delayOf('setInterval', milliseconds))
    const run = functionArgument('setInterval', 2, callback)
    const beat = beatOf(run)
    const timer: Timer = { run, call: undefined }
    const id = add(foreignCaller, timer)
    let due = clock.monotonic()
    const arm = (): ScheduledCall => {
      const now = clock.monotonic()
      // Runs that were missed are left out; the others stay on the beat, however long the callback takes.
      due = Math.max(due + period, now)
      return clock.schedule(due - now, () => {
        timer.call = arm()
        beat()
      })
    }
    timer.call = arm()
    return id
  })

  context.addCallerAwareMethod('clearTimer', (foreignCaller, id) => {
    if (typeof id !== 'number') return undefined
    const isTimer = timers.find(id) !== undefined
    creators.check(foreignCaller, id, isTimer)
    if (isTimer) timers.remove(id)
    else clearOther(foreignCaller, id)
    return undefined
  })

  return {
    nextId,
    alsoClears(clearIt) {
      clearOther = clearIt
    },
  }
}

function delayOf(method: string, value: LuaValue): number {
  return Math.min(longestDelay, Math.max(0, numberArgument(method, 1, value)))
}
