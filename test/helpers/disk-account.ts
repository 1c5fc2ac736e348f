import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { syncOfWrites } from './failing-file-system.ts'

/** The first name of a file that is replaced as a whole: nothing needs to survive under it. */
export const isTemporary = (path: string): boolean => path.endsWith('.tmp')

/**
 * What a power cut takes is what was not synced: content of files, and names in directories. A file system that
 * keeps account of both, and is asked at each acknowledgement.
 */
export function createDiskAccount(system: FileSystem = systemFileSystem): {
  files: FileSystem
  unsynced(): string[]
} {
  const names = new Set<string>()
  const contents = new Set<string>()
  /** Segments and checkpoints that have just got their names: only what is appended to them needs those. */
  const fresh = new Set<string>()
  /** Names that segments had until just now: what gets one of them could be all that is left of both. */
  const former = new Set<string>()
  const files: FileSystem = {
    ...system,
    async open(path, flags, mode) {
      const name = String(path)
      // Of a file that has not got its name yet nothing needs to survive.
      const isNew = flags !== 'r' && !existsSync(name)
      const syncsItself = syncOfWrites(flags) !== undefined
      if (isNew && !isTemporary(name)) names.add(dirname(name))
      const handle = await system.open(name, flags, mode)
      return new Proxy(handle, {
        get(target, member) {
          const value: unknown = Reflect.get(target, member)
          if (typeof value !== 'function') return value
          if (member === 'write' || member === 'writeFile' || member === 'truncate') contents.add(name)
          if (member === 'write' && fresh.has(name)) names.add(dirname(name))
          return async (...given: unknown[]) => {
            const result: unknown = await Reflect.apply(value, target, given)
            const isWrite = member === 'write' || member === 'writeFile'
            if (member === 'sync' || member === 'datasync' || (isWrite && syncsItself)) {
              contents.delete(name)
              names.delete(name)
              for (const paths of [fresh, former])
                for (const path of paths) if (dirname(path) === name) paths.delete(path)
            }
            return result
          }
        },
      })
    },
    async rename(from, to) {
      assert.ok(!contents.has(String(from)), `${String(from)} gets its name before its content is on disk`)
      assert.ok(
        !former.has(String(to)),
        `${String(to)} is replaced before its content has another name for good`,
      )
      await system.rename(from, to)
      if (basename(String(from)) === journalFileName) former.add(String(from))
      if (/^\.host\.(?:journal|checkpoint)/.test(basename(String(to)))) {
        fresh.add(String(to))
        return
      }
      names.add(dirname(String(from)))
      names.add(dirname(String(to)))
    },
    mkdir: (async (path: string, options: { mode: number }) => {
      await system.mkdir(path, options)
      names.add(dirname(path))
      // One of the overloads is all that the host uses.
    }) as FileSystem['mkdir'],
    async rm(path, options) {
      await system.rm(path, options)
      contents.delete(String(path))
      names.delete(String(path))
    },
  }
  return { files, unsynced: () => [...contents, ...names].filter((path) => existsSync(path)) }
}
