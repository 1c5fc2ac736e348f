import { pickFrom } from '../../helpers/random.ts'
import { type Change, change, type Known } from './known.ts'
import { namespace, type ShortId, versions, type World } from './world.ts'

/** A command as it is sent, over HTTP or MQTT, and what it does when it is carried out. */
export interface Command {
  id: ShortId
  method: 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: object
  /** The same over MQTT, where there is such a request. */
  mqtt?: { verb: string; body: object }
  change: Change
  /** The plugin starts anew on what its store has on disk. */
  reloads?: boolean
  purges?: readonly string[]
}

function commandsFor(id: ShortId, random: () => number) {
  const plugin = `@${namespace}/${id}`
  const path = `/api/plugins/${plugin}`
  const base = { id, method: 'POST' } as const
  return {
    install: (version: string): Command => ({
      ...base,
      path: '/api/plugins/install',
      // All repositories here have one namespace, which belongs to one of them.
      body: { fullId: plugin, repository: id },
      mqtt: { verb: 'install', body: { fullId: plugin, repository: id } },
      change: change.installed(version),
    }),
    enable: (enabled: boolean): Command => ({
      ...base,
      path: `${path}/toggle`,
      body: { enabled },
      mqtt: { verb: 'toggle', body: { plugin, enabled } },
      change: change.enabled(enabled),
    }),
    flip: (): Command => ({ ...base, path: `${path}/toggle`, change: change.flipped }),
    configure(): Command {
      const config = { n: Math.floor(random() * 1e6) }
      return {
        ...base,
        path: `${path}/config`,
        body: { config },
        mqtt: { verb: 'config', body: { plugin, config } },
        change: change.configured(config),
      }
    },
    limit(): Command {
      const limits = random() < 0.2 ? {} : { timers: 100 + Math.floor(random() * 1_000) }
      return {
        ...base,
        method: 'PUT',
        path: `${path}/limits`,
        body: { limits },
        change: change.limited(limits),
      }
    },
    reload: (): Command => ({
      ...base,
      path: `${path}/reload`,
      mqtt: { verb: 'reload', body: { plugin } },
      change: change.nothing,
      reloads: true,
    }),
    update: (version: string): Command => ({
      ...base,
      path: `${path}/update`,
      body: {},
      mqtt: { verb: 'update', body: { plugin } },
      change: change.updated(version),
    }),
    rollBack: (version?: string): Command => ({
      ...base,
      path: `${path}/rollback`,
      body: version === undefined ? {} : { version },
      change: change.rolledBack(version),
    }),
    remove(): Command {
      const purges = pickFrom(random, [[], ['kv'], ['files'], ['files', 'kv']])
      return {
        ...base,
        method: 'DELETE',
        path: `${path}${purges.length > 0 ? `?purge=${purges.join()}` : ''}`,
        mqtt: { verb: 'uninstall', body: { plugin, purge: purges } },
        change: change.removed,
        purges,
      }
    },
  }
}

/**
 * What to send next to a plugin that is in one of these states: one command, or two at the same time that do not
 * depend on each other.
 */
export async function nextCommands(
  id: ShortId,
  candidates: readonly Known[],
  random: () => number,
  world: World,
): Promise<Command[]> {
  const make = commandsFor(id, random)
  const [first] = candidates
  if (first === undefined) {
    const version = pickFrom(random, versions)
    await world.offer(id, version)
    return [make.install(version)]
  }
  const kept = candidates.flatMap((known) => (known === undefined ? [] : [known.kept]))
  const hasWayBack = kept.every((releases) => releases.some(({ failed }) => failed !== true))
  const canName = candidates.length === 1 && first.kept.length > 0
  const choice = random()
  if (choice < 0.1) return [make.flip()]
  if (choice < 0.3) return [make.enable(!first.enabled)]
  if (choice < 0.45) return [make.configure()]
  if (choice < 0.55) return [make.configure(), make.limit()]
  if (choice < 0.6) return [make.limit()]
  if (choice < 0.68 && first.enabled) return [make.reload()]
  if (choice < 0.82 || (choice < 0.95 && !hasWayBack && !canName)) {
    const version = pickFrom(random, versions)
    await world.offer(id, version)
    return [make.update(version)]
  }
  if (choice < 0.95) {
    const [release] = first.kept.slice(Math.floor(random() * first.kept.length))
    return [make.rollBack(canName && (!hasWayBack || random() < 0.5) ? release?.version : undefined)]
  }
  return [make.remove()]
}
