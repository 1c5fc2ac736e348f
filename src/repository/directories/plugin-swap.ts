import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type FileSystem, isNotFound, readNames, systemFileSystem } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { makeDataFolder, asStorageProblem } from '../../base/files/storage-fault.ts'
import { directoryName, type PluginIdentifier } from '../../schema/names/identifier.ts'
import { syncDirectory } from './storage.ts'

/**
 * Replaces plugin directories as a whole. Five places, all on one file system, so that a rename is enough:
 *
 *     plugins/<name>             the plugin, C
 *     plugins/.previous/<name>   the version before, P
 *     plugins/.older/<name>/…    versions before that one, O, each under a name of its own
 *     plugins/.swap/<name>       C while it is being replaced, W
 *     plugins/.staging/<unique>  what is being fetched, S, or being removed
 *
 * Swap in:  1. C → W   2. S → C   3. P → O   4. W → P
 * Restore:  1. C → W   2. P → C   3. W → P,   or as a swap with one of O in the place of S
 *
 * W is the whole protocol: while it is there, a replacement has begun. After a crash, without C it is undone
 * (W → C, P is as it was), and with C it is completed (P → O, W → P). Names are on disk before the next
 * step. What lies in `.staging` has no name yet, or none any more, and goes at the start.
 */
export interface PluginPlaces {
  files: FileSystem
  plugins: string
  previous: string
  older: string
  swap: string
  staging: string
}

export function pluginPlaces(dataDirectory: string, files: FileSystem = systemFileSystem): PluginPlaces {
  const plugins = join(dataDirectory, 'plugins')
  return {
    files,
    plugins,
    previous: join(plugins, '.previous'),
    older: join(plugins, '.older'),
    swap: join(plugins, '.swap'),
    staging: join(plugins, '.staging'),
  }
}

/** Throws what the system says where that cannot be known: what is there must not be taken for gone. */
export async function isThere({ files }: PluginPlaces, path: string): Promise<boolean> {
  try {
    await files.lstat(path)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Gives back the place that was made for a plugin that is being fetched. */
export async function makeStagingDirectory({ files, staging }: PluginPlaces): Promise<string> {
  const path = join(staging, randomUUID())
  await asStorageProblem(() => makeDataFolder(files, path))
  return path
}

interface Paths {
  current: string
  previous: string
  older: string
  swap: string
}

function pathsOf(places: PluginPlaces, name: string): Paths {
  return {
    current: join(places.plugins, name),
    previous: join(places.previous, name),
    older: join(places.older, name),
    swap: join(places.swap, name),
  }
}

/** Waits until a name that moved is on disk in both directories. */
async function syncMove({ files }: PluginPlaces, from: string, to: string): Promise<void> {
  await syncDirectory(files, dirname(to))
  await syncDirectory(files, dirname(from))
}

async function move(places: PluginPlaces, from: string, to: string): Promise<void> {
  await places.files.rename(from, to)
  await syncMove(places, from, to)
}

/** At once for whoever looks. What cannot be deleted afterwards goes at the next start. */
async function removeWhole(places: PluginPlaces, path: string): Promise<void> {
  if (!(await isThere(places, path))) return
  await makeDataFolder(places.files, places.staging)
  const condemned = join(places.staging, randomUUID())
  await move(places, path, condemned)
  await places.files.rm(condemned, { recursive: true, force: true }).catch(() => undefined)
}

/** A replacement that may be taken back. */
export interface Swap {
  /** Puts everything back where it was, `source` too. */
  undo(): Promise<void>
}

async function replace(places: PluginPlaces, plugin: PluginIdentifier, source: string): Promise<Swap> {
  const { files } = places
  const name = directoryName(plugin)
  const { current, previous, older, swap } = pathsOf(places, name)
  await settle(places, name)
  for (const path of [places.swap, places.previous, places.staging]) {
    await makeDataFolder(files, path)
  }
  const moved: [from: string, to: string][] = []
  const step = async (from: string, to: string): Promise<void> => {
    await files.rename(from, to)
    moved.push([from, to])
    await syncMove(places, from, to)
  }
  try {
    const replaces = await isThere(places, current)
    if (replaces) await step(current, swap)
    await step(source, current)
    if (replaces) {
      if (await isThere(places, previous)) {
        await makeDataFolder(files, older)
        await step(previous, join(older, randomUUID()))
      }
      await step(swap, previous)
    }
  } catch (error) {
    // Who asked is told that nothing has changed, so nothing may have.
    await takeBack()
    throw error
  }
  return {
    async undo() {
      await takeBack()
      for (const path of [places.plugins, places.previous, places.swap]) await syncDirectory(files, path)
    },
  }

  /** Wherever it ends early, `settle` finds a state that it knows. */
  async function takeBack(): Promise<void> {
    for (let step = moved.pop(); step !== undefined; step = moved.pop()) {
      const [from, to] = step
      await files.rename(to, from)
    }
  }
}

/** Ends a replacement that was interrupted. Undefined when there was none. */
async function settle(places: PluginPlaces, name: string): Promise<'completed' | 'undone' | undefined> {
  const { current, previous, older, swap } = pathsOf(places, name)
  if (!(await isThere(places, swap))) return undefined
  if (!(await isThere(places, current))) {
    await move(places, swap, current)
    return 'undone'
  }
  await makeDataFolder(places.files, places.previous)
  if (await isThere(places, previous)) {
    await makeDataFolder(places.files, older)
    await move(places, previous, join(older, randomUUID()))
  }
  await move(places, swap, previous)
  return 'completed'
}

/** Puts what was staged, or one of `keptPlaces`, in place; what was there becomes the previous version. */
export function swapIn(places: PluginPlaces, plugin: PluginIdentifier, source: string): Promise<Swap> {
  return asStorageProblem(() => replace(places, plugin, source))
}

/** Ends a replacement of this plugin that a full disk interrupted. */
export function settleSwap(places: PluginPlaces, plugin: PluginIdentifier): Promise<void> {
  return asStorageProblem(async () => {
    await settle(places, directoryName(plugin))
  })
}

/** Makes what was staged a version that was replaced. */
export function keepStaged(places: PluginPlaces, plugin: PluginIdentifier, staged: string): Promise<void> {
  const { older } = pathsOf(places, directoryName(plugin))
  return asStorageProblem(async () => {
    await makeDataFolder(places.files, older)
    await move(places, staged, join(older, randomUUID()))
  })
}

/** Where versions that were replaced are, the one before the present first. */
export function keptPlaces(places: PluginPlaces, plugin: PluginIdentifier): Promise<string[]> {
  const { previous, older } = pathsOf(places, directoryName(plugin))
  return asStorageProblem(async () => {
    const names = await readNames(places.files, older)
    const found = names.map((name) => join(older, name))
    return (await isThere(places, previous)) ? [previous, ...found] : found
  })
}

/** Names of the folders of plugins of which another version is kept. */
export async function replacedPlugins(places: PluginPlaces): Promise<Set<string>> {
  const { files, previous, older } = places
  return new Set([...(await readNames(files, previous)), ...(await readNames(files, older))])
}

/**
 * Removes kept versions that nobody can return to any more. The one before the present stays, unless it is `same` as
 * the present: who edits that by hand would have it put back, as if a replacement had been interrupted.
 */
export async function pruneKept(
  places: PluginPlaces,
  plugin: PluginIdentifier,
  wanted: ReadonlySet<string>,
  same: (previous: string) => Promise<boolean>,
): Promise<void> {
  const { previous } = pathsOf(places, directoryName(plugin))
  for (const path of await keptPlaces(places, plugin)) {
    if (wanted.has(path) || (path === previous && !(await same(path)))) continue
    await asStorageProblem(() => removeWhole(places, path))
  }
}

export function removePlugin(places: PluginPlaces, plugin: PluginIdentifier): Promise<void> {
  const { current, previous, older, swap } = pathsOf(places, directoryName(plugin))
  return asStorageProblem(async () => {
    for (const path of [current, previous, older, swap]) await removeWhole(places, path)
  })
}

/** Throws `storage_full` where `recoverSwaps` could not read what is there. Changes nothing. */
export function requireReadable(places: PluginPlaces): Promise<void> {
  const { files, swap, previous, older } = places
  return asStorageProblem(async () => {
    for (const path of [swap, previous, older]) await readNames(files, path)
  })
}

/** Only for the start: nothing may be fetched at the same time. */
export async function recoverSwaps(places: PluginPlaces, logger: Logger): Promise<void> {
  await asStorageProblem(async () => {
    for (const name of await readNames(places.files, places.swap)) {
      const outcome = await settle(places, name)
      logger.warn('The replacement of a plugin was interrupted', { directory: name, outcome })
    }
    // Behind a link that leads nowhere all plugins would seem to be gone.
    if (await isThere(places, places.plugins)) await makeDataFolder(places.files, places.plugins)
    await places.files.rm(places.staging, { recursive: true, force: true })
  })
}
