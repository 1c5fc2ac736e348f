import type { Schedule } from '../../../../schema/outside/trigger.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import { createCreatorRegistry } from '../../limits/creator-registry.ts'
import type { ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import {
  functionArgument,
  isTable,
  listOf,
  nameLimit,
  option,
  optionalNumber,
  optionalText,
  textArgument,
  typeName,
} from '../../lua/arguments.ts'
import { toBytes } from '../../lua/text/bytes.ts'
import { createRegistrations } from '../registrations.ts'
import type { PluginTimers } from './timers.ts'

export interface PluginSchedules {
  /** The time of this schedule has come. */
  deliver(schedule: number): void
}

/** `plugin:at`, `plugin:cron` (plugin API, section 17). The host knows the time, and what the texts mean. */
export function installSchedules(context: PluginContext, timers: PluginTimers): PluginSchedules {
  const creators = createCreatorRegistry<number>('schedule')
  const schedules = createRegistrations(context, {
    ...{ stage: 'schedules', limit: 'schedules', plural: 'schedules', nextNumber: timers.nextId },
    removed(schedule) {
      creators.forget(schedule)
      context.send({ kind: 'removeSchedule', schedule })
    },
  })

  timers.alsoClears((foreignCaller, id) => {
    creators.check(foreignCaller, id, schedules.find(id) !== undefined)
    schedules.remove(id)
  })

  /** Answers its id, or nil and what is wrong with it. */
  function* add(
    foreignCaller: ForeignCaller,
    what: Schedule['kind'],
    [text, callback, options]: LuaValue[],
    more: () => object,
  ): Steps<LuaValue | LuaValue[]> {
    const run = functionArgument(what, 2, callback)
    // They may come from settings: what is wrong with them is told like any other mistake there.
    if ([text, option(options, 'timezone')].some(isUnfit))
      return [undefined, toBytes(`${what}: times and zones have 1 to ${nameLimit} characters`)]
    const said = textArgument(what, 1, text)
    const schedule = {
      ...(what === 'at' ? { kind: what, time: said } : { kind: what, expression: said }),
      ...common(options),
      ...more(),
    }
    // Before the host knows of it: its time may come while the answer is on its way.
    const id = schedules.add(what, { run }, foreignCaller)
    creators.record(foreignCaller, id)
    const question = context.ask({ kind: 'setSchedule', number: id, schedule })
    const problem = yield* schedules.confirm(id, question)
    return problem === undefined ? id : [undefined, toBytes(`${what}: ${problem}`)]
  }

  context.addCallerAwareMethod('at', (foreignCaller, ...given) =>
    add(foreignCaller, 'at', given, () => ({
      ...daysOf(given[2]),
      ...numberOption(given[2], 'latitude'),
      ...numberOption(given[2], 'longitude'),
    })),
  )

  context.addCallerAwareMethod('cron', (foreignCaller, ...given) =>
    add(foreignCaller, 'cron', given, () => ({})),
  )

  return {
    deliver(id) {
      const run = schedules.find(id)?.run
      if (run !== undefined) context.entry.call('schedule', run)
    },
  }
}

/** A text for which the host need not be asked. */
function isUnfit(value: LuaValue): boolean {
  const text = optionalText(value)
  return text !== undefined && (text === '' || text.length > nameLimit)
}

function numberOption<K extends string>(options: LuaValue, name: K): Partial<Record<K, number>> {
  const value = option(options, name)
  if (value === undefined) return {}
  const number = optionalNumber(value)
  if (number === undefined) throw new Error(`the option ${name} must be a number, not ${typeName(value)}`)
  // The host takes finite ones: `math.huge` is as long as can be.
  const finite = Math.max(-Number.MAX_VALUE, Math.min(number, Number.MAX_VALUE))
  return { [name]: finite } as Partial<Record<K, number>>
}

function common(options: LuaValue): { timezone?: string; catchUp?: number } {
  const { catchUp } = numberOption(options, 'catchUp')
  const timezone = option(options, 'timezone')
  return {
    ...(catchUp === undefined ? {} : { catchUp: Math.max(0, catchUp) }),
    ...(timezone === undefined ? {} : { timezone: textArgument('the option timezone', 1, timezone) }),
  }
}

const mostDays = 7

function daysOf(options: LuaValue): { days?: string[] } {
  const given = option(options, 'days')
  if (given === undefined) return {}
  const items = isTable(given) ? listOf(given, mostDays + 1) : []
  const days = items.map((day) => optionalText(day) ?? typeName(day))
  if (days.length === 0 || days.length > mostDays)
    throw new Error('the option days must be a list such as { "mon", "fri" }')
  return { days }
}
