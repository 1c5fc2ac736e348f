import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { directoryName, type PluginIdentifier } from '../schema/identifier.ts'
import { syncDirectory, writing } from './storage.ts'

/**
 * Replaces plugin directories as a whole. Four places, all on one file system, so that a rename is enough:
 *
 *     plugins/<name>             the plugin, C
 *     plugins/.previous/<name>   the version before, P
 *     plugins/.swap/<name>       C while it is being replaced, W
 *     plugins/.staging/<unique>  what is being fetched, S, or being removed
 *
 * Swap in:  1. C → W   2. S → C   3. remove P   4. W → P
 * Restore:  1. C → W   2. P → C   3. W → P
 *
 * W is the whole protocol: while it is there, a replacement has begun. After a crash, without C it is undone
 * (W → C, P is as it was), and with C it is completed (remove P, W → P). Names are on disk before the next
 * step. What lies in `.staging` has no name yet, or none any more, and goes at the start.
 */
export interface PluginPlaces {
  plugins: string
  previous: string
  swap: string
  staging: string
}

export function pluginPlaces(dataDirectory: string): PluginPlaces {
  const plugins = join(dataDirectory, 'plugins')
  return {
    plugins,
    previous: join(plugins, '.previous'),
    swap: join(plugins, '.swap'),
    staging: join(plugins, '.staging'),
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Gives back the place that was made for a plugin that is being fetched. */
export async function makeStagingDirectory({ staging }: PluginPlaces): Promise<string> {
  const path = join(staging, randomUUID())
  await writing(() => mkdir(path, { recursive: true }))
  return path
}

interface Paths {
  current: string
  previous: string
  swap: string
}

function pathsOf(places: PluginPlaces, name: string): Paths {
  return {
    current: join(places.plugins, name),
    previous: join(places.previous, name),
    swap: join(places.swap, name),
  }
}

/** Renames, and waits until both directories have it on disk. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncDirectory(join(to, '..'))
  await syncDirectory(join(from, '..'))
}

/** At once for whoever looks. What cannot be deleted afterwards goes at the next start. */
async function removeWhole(places: PluginPlaces, path: string): Promise<void> {
  if (!(await isThere(path))) return
  await mkdir(places.staging, { recursive: true })
  const condemned = join(places.staging, randomUUID())
  await move(path, condemned)
  await rm(condemned, { recursive: true, force: true }).catch(() => undefined)
}

async function replace(places: PluginPlaces, plugin: PluginIdentifier, source: string): Promise<void> {
  const name = directoryName(plugin)
  const { current, previous, swap } = pathsOf(places, name)
  await settle(places, name)
  await mkdir(places.swap, { recursive: true })
  await mkdir(places.previous, { recursive: true })
  if (!(await isThere(current))) return move(source, current)
  await move(current, swap)
  try {
    await move(source, current)
    await removeWhole(places, previous)
    await move(swap, previous)
  } catch (error) {
    // Who asked is told that nothing has changed, so nothing may have.
    if (await isThere(current)) await move(current, source)
    await move(swap, current)
    throw error
  }
}

/** Ends a replacement that was interrupted. Undefined when there was none. */
async function settle(places: PluginPlaces, name: string): Promise<'completed' | 'undone' | undefined> {
  const { current, previous, swap } = pathsOf(places, name)
  if (!(await isThere(swap))) return undefined
  if (!(await isThere(current))) {
    await move(swap, current)
    return 'undone'
  }
  await mkdir(places.previous, { recursive: true })
  await removeWhole(places, previous)
  await move(swap, previous)
  return 'completed'
}

/** Puts what was staged in place; what was there becomes the previous version. */
export function swapIn(places: PluginPlaces, plugin: PluginIdentifier, staged: string): Promise<void> {
  return writing(() => replace(places, plugin, staged))
}

/** Lets the present and the previous version change places. */
export async function restorePrevious(places: PluginPlaces, plugin: PluginIdentifier): Promise<void> {
  const { previous } = pathsOf(places, directoryName(plugin))
  if (!(await isThere(previous))) {
    throw new Problem('invalid_transition', `There is no previous version of ${plugin.fullId} on this host.`)
  }
  await writing(() => replace(places, plugin, previous))
}

export function removePlugin(places: PluginPlaces, plugin: PluginIdentifier): Promise<void> {
  const { current, previous, swap } = pathsOf(places, directoryName(plugin))
  return writing(async () => {
    for (const path of [current, previous, swap]) await removeWhole(places, path)
  })
}

/** Only for the start: nothing may be fetched at the same time. */
export async function recoverSwaps(places: PluginPlaces, logger: Logger): Promise<void> {
  await writing(async () => {
    for (const name of await namesIn(places.swap)) {
      const outcome = await settle(places, name)
      logger.warn('The replacement of a plugin was interrupted', { directory: name, outcome })
    }
    await rm(places.staging, { recursive: true, force: true })
  })
}

async function namesIn(path: string): Promise<string[]> {
  return (await isThere(path)) ? readdir(path) : []
}
