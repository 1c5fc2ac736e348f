import { getOrInsert } from '../../base/get-or-insert.ts'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { partPattern, partsOfName } from '../../base/text/part-pattern.ts'
import type { SerializedJson } from '../../base/text/serialized-json.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Watch } from '../../schema/outside/trigger.ts'

/** Undefined: there is none. */
type Value = SerializedJson | undefined
/** What is shown: an object, or a sensor or control. */
export type WatchedKind = Watch['of']

/** `path`: of an object its full path, else `<full id>/<id>`. */
export type WatchListener = (path: string, value: Value, previous: Value) => void

/** A value that is there now. */
export interface PresentValue {
  plugin: string
  id: string
  value: Value
}

/** Which plugins want to hear of which values of others. */
export interface Watches {
  /** Throws `Error` when the pattern is none. `sees`: whether it may hear of this plugin. */
  add(
    owner: string,
    number: number,
    wanted: Watch,
    sees: (plugin: string) => boolean,
    tell: WatchListener,
  ): void
  remove(owner: string, number: number): void
  /** Everything that this plugin watches. */
  clear(owner: string): void
  count(owner: string): number
  /** Answers how many were told of it, or will be. */
  changed(kind: WatchedKind, plugin: string, id: string, value: Value): number
}

interface Watcher {
  wanted: Watch
  matches(parts: readonly string[]): boolean
  sees(plugin: string): boolean
  tell: WatchListener
  paths: Map<string, Followed>
}

/** One value that a watcher follows. */
interface Followed {
  told: Value
  /** What is told when it stays. */
  pending: { value: Value; timer: ScheduledCall } | undefined
}

const separators = { object: '.', point: '/' } as const

const partsOf = (kind: WatchedKind, path: string): string[] => partsOfName(path, separators[kind])

function fullPath(kind: WatchedKind, plugin: string, id: string): string {
  if (kind === 'point') return `${plugin}/${id}`
  const { namespace, shortId } = identifierOf(plugin)
  return `plugins.${namespace}.${shortId}.${id}`
}

/** `present`: all values of a kind. */
export function createWatches(clock: Clock, present: (kind: WatchedKind) => Iterable<PresentValue>): Watches {
  const owners = new Map<string, Map<number, Watcher>>()
  /** Who follows a value, by kind, plugin and id; found out when it changes first, and anew when watchers change. */
  let followers: Record<WatchedKind, Map<string, Map<string, readonly Watcher[]>>> | undefined

  function* all(): Iterable<Watcher> {
    for (const watchers of owners.values()) yield* watchers.values()
  }

  function followersOf(kind: WatchedKind, plugin: string, id: string): readonly Watcher[] {
    followers ??= { object: new Map(), point: new Map() }
    const ofPlugin = getOrInsert(followers[kind], plugin, () => new Map())
    return getOrInsert(ofPlugin, id, () => {
      const parts = partsOf(kind, fullPath(kind, plugin, id))
      return [...all()].filter(
        ({ wanted, matches, sees }) => wanted.of === kind && sees(plugin) && matches(parts),
      )
    })
  }

  function settle(watcher: Watcher, path: string, followed: Followed, value: Value): void {
    followed.pending = undefined
    const previous = followed.told
    followed.told = value
    if (value === undefined) watcher.paths.delete(path)
    if (!isEqual(value, previous)) watcher.tell(path, value, previous)
  }

  /** `wait`: milliseconds for which it has to stay. */
  function follow(watcher: Watcher, path: string, value: Value, wait: number): void {
    const followed = getOrInsert(watcher.paths, path, () => ({ told: undefined, pending: undefined }))
    const { pending } = followed
    if (pending !== undefined && isEqual(pending.value, value)) return
    pending?.timer.cancel()
    if (wait === 0 || isEqual(followed.told, value)) {
      settle(watcher, path, followed, value)
      return
    }
    const timer = clock.schedule(wait, () => settle(watcher, path, followed, value))
    followed.pending = { value, timer }
  }

  function end({ paths }: Watcher): void {
    for (const { pending } of paths.values()) pending?.timer.cancel()
    paths.clear()
  }

  return {
    add(owner, number, wanted, sees, tell) {
      const matches = partPattern(wanted.pattern, separators[wanted.of], true)
      const watcher: Watcher = { wanted, matches, sees, tell, paths: new Map() }
      getOrInsert(owners, owner, () => new Map()).set(number, watcher)
      followers = undefined
      for (const { plugin, id, value } of present(wanted.of)) {
        const path = fullPath(wanted.of, plugin, id)
        if (value === undefined || !sees(plugin) || !matches(partsOf(wanted.of, path))) continue
        if (wanted.now) follow(watcher, path, value, wanted.stays)
        else watcher.paths.set(path, { told: value, pending: undefined })
      }
    },
    remove(owner, number) {
      const watchers = owners.get(owner)
      const watcher = watchers?.get(number)
      if (watchers === undefined || watcher === undefined) return
      end(watcher)
      watchers.delete(number)
      if (watchers.size === 0) owners.delete(owner)
      followers = undefined
    },
    clear(owner) {
      for (const watcher of owners.get(owner)?.values() ?? []) end(watcher)
      if (owners.delete(owner)) followers = undefined
    },
    count: (owner) => owners.get(owner)?.size ?? 0,
    changed(kind, plugin, id, value) {
      // Most values are watched by nobody.
      if (owners.size === 0) return 0
      const found = followersOf(kind, plugin, id)
      // The next one may have another name, and again another one.
      if (value === undefined) followers?.[kind].get(plugin)?.delete(id)
      if (found.length === 0) return 0
      const path = fullPath(kind, plugin, id)
      for (const watcher of found)
        follow(watcher, path, value, Math.max(watcher.wanted.stays, watcher.wanted.debounce))
      return found.length
    },
  }
}

function isEqual(one: Value, other: Value): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one.bytes, other.bytes) === 0 || isDeepStrictEqual(one.value(), other.value())
}
