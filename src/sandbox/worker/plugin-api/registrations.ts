import type { LimitName } from '../../../schema/plugin/plugin-limits.ts'
import type { ForeignCaller } from '../limits/foreign-callers.ts'
import type { ReleaseStage } from '../limits/resource-registry.ts'
import type { LuaFunction } from '../lua/lua-value.ts'
import type { Steps } from '../lua/steps.ts'
import type { PluginContext } from '../plugin-context.ts'

/** A callback that the plugin has given for what happens later, or again and again. */
export interface Registration {
  readonly run: LuaFunction
}

/** All of one kind, by numbers of the plugin's own. */
export interface Registrations<T extends Registration> {
  /** Throws when there is no room for one more. */
  assertRoom(foreignCaller?: ForeignCaller): void
  /**
   * Keeps it until it is removed, or the plugin that the callback belongs to has ended. Throws as `assertRoom` does. `what`
   * it is, for log lines.
   */
  add(what: string, registration: T, foreignCaller?: ForeignCaller): number
  find(number: number): T | undefined
  /** Nothing happens when it is gone already. */
  remove(number: number): void
  /** Removes it again where what the host is asked for it answers a problem, or throws. Answers the problem. */
  confirm(number: number, asked: Steps<string | undefined>): Steps<string | undefined>
  /** What Lua gets for it: a function that removes it. */
  unsubscribe(number: number): LuaFunction
}

export interface RegistrationsSettings<T extends Registration> {
  stage: ReleaseStage
  limit: LimitName
  /** What they are called where there are too many. */
  plural: string
  /** Whatever has removed it. */
  removed(number: number, registration: T): void
  nextNumber?: () => number
}

export function createRegistrations<T extends Registration = Registration>(
  { limits, peers, resources, runtime }: PluginContext,
  { stage, limit, plural, removed, ...settings }: RegistrationsSettings<T>,
): Registrations<T> {
  const all = new Map<number, { registration: T; forget: (() => void) | undefined }>()
  let last = 0
  const nextNumber = settings.nextNumber ?? ((): number => (last += 1))

  function assertRoom(foreignCaller?: ForeignCaller): void {
    if (!limits.hasRoom(limit, all.size, foreignCaller))
      throw new Error(`too many ${plural}: a plugin may have ${limits[limit]} at one time`)
  }

  function remove(number: number): void {
    const found = all.get(number)
    if (found === undefined) return
    all.delete(number)
    found.forget?.()
    removed(number, found.registration)
  }

  resources.add(stage, {
    count: () => all.size,
    release() {
      for (const number of [...all.keys()]) remove(number)
    },
  })

  return {
    assertRoom,
    remove,
    add(what, registration, foreignCaller) {
      assertRoom(foreignCaller)
      const number = nextNumber()
      const forget = peers.whenGone(what, registration.run, () => remove(number))
      all.set(number, { registration, forget })
      return number
    },
    find: (number) => all.get(number)?.registration,
    *confirm(number, asked) {
      try {
        const problem = yield* asked
        if (problem !== undefined) remove(number)
        return problem
      } catch (error) {
        remove(number)
        throw error
      }
    },
    unsubscribe: (number) =>
      runtime.wrap('unsubscribe', () => {
        remove(number)
      }),
  }
}
