import { getOrInsert } from '../../base/get-or-insert.ts'
import { join } from 'node:path'
import type { Clock } from '../../base/time/clock.ts'
import { type FileSystem, readNames, temporaryOf, writeFileAtomically } from '../../base/files/file-system.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { makeDataFolder } from '../../base/files/storage-fault.ts'
import type { Bus } from '../../bus/bus.ts'
import { decodeLine, encodeLine } from '../../journal/lines/journal-line.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'
import {
  createRetainedAccount,
  pluginRetainedLimits,
  type RetainedAccount,
} from '../../schema/plugin/retained-account.ts'
import { parseRetainedFile, type RetainedFile } from '../../schema/files/retained-file.ts'
import { createDelayedWrite, type DelayedWrite } from '../../base/files/delayed-write.ts'

/** Folder in the data directory; one file a plugin. */
const folderName = '.retained'

/**
 * What plugins have retained, counted, and remembered on disk over restarts: it stays at the broker when a plugin is
 * unloaded, and goes when it is uninstalled.
 */
export interface RetainedTopics {
  /** Reads what is remembered. Only for the start, when the bus is there. Never rejects. */
  recover(): Promise<void>
  /** What counts for the plugin: topics, with the bytes of their payloads. */
  entries(plugin: string): [topic: string, payload: number][]
  /** A plugin retains so many bytes; none clears the topic. False: it has no room, and nothing has changed. */
  take(plugin: string, topic: string, payload: number): boolean
  /** Writes what is waiting. */
  release(plugin: string): Promise<void>
  /** Plugins of which something is remembered. */
  plugins(): string[]
  /**
   * Clears what the plugin was the last to retain, as far as is known. It is remembered on disk until the broker has taken that, which is not
   * waited for. While the broker is away nothing is done, so it is to be called again. Never rejects.
   */
  clear(plugin: string): Promise<void>
  close(): Promise<void>
}

interface Entry {
  /** Also what somebody else has retained over: the plugin's worker, which counts alike, does not hear of that. */
  account: RetainedAccount
  file: DelayedWrite
}

export function createRetainedTopics(settings: {
  /** The data directory. */
  directory: string
  files: FileSystem
  bus: Bus
  clock: Clock
  logger: Logger
}): RetainedTopics {
  const { files, bus, clock, logger } = settings
  const folder = join(settings.directory, folderName)
  const entries = new Map<string, Entry>()
  /** The plugin of this host that retained something there last. */
  const owners = new Map<string, string>()
  /** Files that go, one after the other. Never rejects. */
  let forgetting = Promise.resolve()
  let closed = false

  const pathOf = (plugin: string): string => join(folder, `${directoryName(identifierOf(plugin))}.json`)

  function owned(plugin: string): [topic: string, payload: number][] {
    return (entries.get(plugin)?.account.entries() ?? []).filter(([topic]) => owners.get(topic) === plugin)
  }

  function entryOf(plugin: string): Entry {
    return getOrInsert(entries, plugin, () => ({
      account: createRetainedAccount(pluginRetainedLimits),
      file: createDelayedWrite(
        clock,
        () => write(plugin),
        (error) =>
          logger.error('What a plugin has retained could not be written down; it is tried again', {
            plugin,
            error,
          }),
        () => logger.info('What the plugin has retained could be written down again', { plugin }),
      ),
    }))
  }

  async function write(plugin: string): Promise<void> {
    const content: RetainedFile = { version: 1, plugin, topics: owned(plugin) }
    await makeDataFolder(files, folder)
    await writeFileAtomically(files, pathOf(plugin), `${encodeLine(content)}\n`, privateFileMode)
  }

  function own(topic: string, plugin: string | undefined): void {
    const before = owners.get(topic)
    if (before === plugin) return
    if (plugin === undefined) owners.delete(topic)
    else owners.set(topic, plugin)
    // Only a set of topics that has become another one is written: a value that changes costs nothing.
    for (const each of [before, plugin]) if (each !== undefined) entries.get(each)?.file.changed()
  }

  function clearingFailed(plugin: string, error: unknown): void {
    logger.warn('What an uninstalled plugin had retained could not be cleared', { plugin, error })
  }

  /** Nothing is left at the broker of what its file has. Who hears of that after `close` leaves the file to the next host. */
  function forget(plugin: string): Promise<void> {
    forgetting = forgetting
      .then(async () => {
        if (closed) return
        const again = entries.get(plugin)
        // Installed once more meanwhile: there is what it has retained since, and no more.
        if (again !== undefined) again.file.changed()
        else await files.rm(pathOf(plugin), { force: true })
      })
      .catch((error: unknown) => clearingFailed(plugin, error))
    return forgetting
  }

  async function read(name: string): Promise<void> {
    const path = join(folder, name)
    try {
      const bytes = await files.readFile(path)
      const line = decodeLine(bytes.subarray(0, -1))
      const parsed = line.ok ? parseRetainedFile(line.value) : line
      if (!parsed.ok) throw new Error('it is damaged')
      const { plugin, topics } = parsed.value
      if (name !== `${directoryName(identifierOf(plugin))}.json`) throw new Error('it is of another plugin')
      const { account } = entryOf(plugin)
      for (const [topic, payload] of topics) {
        if (!bus.mayBeRetainedBy(plugin, topic)) continue
        account.set(topic, payload)
        owners.set(topic, plugin)
      }
    } catch (error) {
      logger.warn('What a plugin has retained is not known any more; it will not go with the plugin', {
        path,
        error,
      })
    }
  }

  return {
    async recover() {
      const names = await readNames(files, folder).catch((error: unknown) => {
        logger.warn('A folder cannot be read', { path: folder, error })
        return []
      })
      for (const name of names) {
        if (name.endsWith('.json')) await read(name)
        else if (name.endsWith(temporaryOf('.json')))
          await files.rm(join(folder, name), { force: true }).catch(() => undefined)
      }
      // The embedded broker knows better: a crash may have come between its writing and this one's.
      for (const { plugin, topic, payload } of bus.retainedByPlugins()) {
        entryOf(plugin).account.set(topic, payload)
        own(topic, plugin)
      }
    },
    entries: (plugin) => entries.get(plugin)?.account.entries() ?? [],
    take(plugin, topic, payload) {
      if (!entryOf(plugin).account.take(topic, payload)) return false
      own(topic, payload === 0 ? undefined : plugin)
      return true
    },
    async release(plugin) {
      await entries.get(plugin)?.file.flush()
    },
    plugins: () => [...entries.keys()],
    async clear(plugin) {
      const entry = entries.get(plugin)
      if (entry === undefined || !bus.connected) return
      const topics = owned(plugin).map(([topic]) => topic)
      entries.delete(plugin)
      for (const topic of topics) owners.delete(topic)
      try {
        await entry.file.discard()
        const present = topics.filter((topic) => bus.mayBeRetainedBy(plugin, topic))
        await Promise.all(present.map((topic) => bus.publish(topic, '', { qos: 1, retain: true })))
      } catch (error) {
        clearingFailed(plugin, error)
        return
      }
      // A broker that hangs must not keep the command: this host clears it all the same, or the next one.
      if (bus.settled === undefined) await forget(plugin)
      else void bus.settled().then(() => forget(plugin))
    },
    async close() {
      closed = true
      await forgetting
      for (const { file } of entries.values()) {
        await file.flush()
        await file.discard()
      }
    },
  }
}
