import { basename, join } from 'node:path'
import type { Clock } from '../../base/time/clock.ts'
import { type FileSystem, temporaryOf, writeFileAtomically } from '../../base/files/file-system.ts'
import { quarantine } from '../../base/files/quarantine.ts'
import type { Json } from '../../base/text/json.ts'
import { type KeyRing, SecretKeyError } from '../../base/keys/key-ring.ts'
import type { Logger } from '../../base/log/log.ts'
import { privateFileMode } from '../../base/files/private-files.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import { makeDataFolder, storageFault } from '../../base/files/storage-fault.ts'
import { NewerFormatError } from '../../journal/lines/upcast.ts'
import { aliveEntries, type KeyValueEntry } from '../../schema/files/key-value-file.ts'
import type { KeyValueStores } from '../../schema/files/key-value-stores.ts'
import { createDelayedWrite, type DelayedWrite } from '../../base/files/delayed-write.ts'
import { decodeStore, encodeStore, storeFiles, storePath, storesFolderIn } from './key-value-file.ts'

interface Store {
  entries: Map<string, KeyValueEntry>
  file: DelayedWrite
  /** Why it could not be written, until it can be. */
  fault?: string
  /** Tells whoever looks after the plugin, which may be another load of it meanwhile. */
  report?: ((sentence: string) => void) | undefined
}

/** Each plugin's in a file that is replaced whole. */
export function createKeyValueStores(settings: {
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  /** Encrypts the files; an empty one does not. */
  ring: KeyRing
}): KeyValueStores {
  const { files, clock, logger, ring } = settings
  const folder = storesFolderIn(settings.directory)
  const stores = new Map<string, Store>()
  /** Names of all files, while the host starts: to look for one that is not there takes longer than to read one. */
  let present: Set<string> | undefined

  const pathOf = (plugin: string): string => storePath(settings.directory, plugin)

  async function read(
    plugin: string,
    report: ((sentence: string) => void) | undefined,
  ): Promise<Map<string, KeyValueEntry>> {
    const path = pathOf(plugin)
    if (present?.has(basename(path)) === false) return new Map()
    let content: Uint8Array
    try {
      content = await files.readFile(path)
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return new Map()
      throw new Error(
        `The stored values in ${path} cannot be read (${systemErrorCode(error) ?? messageOf(error)}): ` +
          'correct the permissions of the file, or move it away to start without them.',
        { cause: error },
      )
    }
    try {
      return decodeStore(plugin, content, ring)
    } catch (error) {
      // Nothing is wrong with the file.
      if (error instanceof SecretKeyError) throw error
      if (error instanceof NewerFormatError) {
        throw new Error(
          `The stored values in ${path} cannot be read: ${error.message}. They stay there: start that version again, ` +
            'or move the file away to start without them.',
          { cause: error },
        )
      }
      const kept = await quarantine(path, clock.now(), { files, logger })
      const reason = messageOf(error)
      logger.error(
        'A key-value store could not be read; it was put aside and the plugin starts with an empty one',
        { plugin, kept, error: reason },
      )
      report?.(
        `The stored values are damaged (${reason}): they were put aside as ${kept}, none is left here.`,
      )
      return new Map()
    }
  }

  async function write(plugin: string, held: ReadonlyMap<string, KeyValueEntry>): Promise<void> {
    const entries = aliveEntries(held, clock.now())
    await makeDataFolder(files, folder)
    const path = pathOf(plugin)
    present?.add(basename(path))
    await writeFileAtomically(files, path, encodeStore(plugin, entries, ring), privateFileMode)
  }

  function createStore(plugin: string, entries: Map<string, KeyValueEntry>): Store {
    const file = createDelayedWrite(
      clock,
      () => write(plugin, entries),
      (error) => {
        logger.error('A key-value store could not be written; it is tried again', { plugin, error })
        store.fault = storageFault(error) ?? messageOf(error)
        store.report?.(
          `The stored values cannot be written, which is tried again; those of before are there after a restart: ${store.fault}`,
        )
      },
      () => {
        logger.info('The key-value store could be written again', { plugin })
        delete store.fault
      },
    )
    const store: Store = { entries, file }
    return store
  }

  async function release(plugin: string): Promise<void> {
    const store = stores.get(plugin)
    await store?.file.flush()
    // What could not be written stays in memory, and is tried again until there is room.
    if (store?.file.isWaiting === false && stores.get(plugin) === store) stores.delete(plugin)
  }

  return {
    async open(plugin, report) {
      await release(plugin)
      const entries = stores.get(plugin)?.entries ?? (await read(plugin, report))
      const store = stores.get(plugin) ?? createStore(plugin, entries)
      store.report = report
      stores.set(plugin, store)
      return aliveEntries(entries, clock.now())
    },
    set(plugin, key, entry) {
      const store = stores.get(plugin)
      if (store === undefined) return
      if (entry === undefined) store.entries.delete(key)
      else store.entries.set(key, entry satisfies { value: Json })
      store.file.changed()
    },
    release,
    async remove(plugin) {
      const store = stores.get(plugin)
      stores.delete(plugin)
      // A write that is under way would bring the file back.
      await store?.file.discard()
      const path = pathOf(plugin)
      for (const each of [path, temporaryOf(path)]) await files.rm(each, { force: true })
    },
    async recover() {
      try {
        const names = await storeFiles(files, settings.directory, '')
        present = new Set(names)
        const interrupted = names.filter((name) => name.endsWith(temporaryOf('.json')))
        for (const name of interrupted) await files.rm(join(folder, name), { force: true })
      } catch (error) {
        logger.warn('What is left of an interrupted write could not be removed', { directory: folder, error })
      }
    },
    started() {
      present = undefined
    },
    get failure() {
      const [first, ...others] = [...stores].filter(([, { fault }]) => fault !== undefined)
      if (first === undefined) return undefined
      const more = others.length === 0 ? '' : ` and ${others.length} more`
      return `the stored values of ${first[0]}${more} cannot be written: ${first[1].fault}`
    },
    async close() {
      await Promise.all([...stores.keys()].map(release))
      for (const [plugin, { file }] of stores) {
        logger.error('Stored values could not be written to disk: what has changed in them since is lost', {
          plugin,
        })
        await file.discard()
      }
    },
  }
}
