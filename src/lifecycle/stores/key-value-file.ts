import { join } from 'node:path'
import { type FileSystem, readNames } from '../../base/files/file-system.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { type KeyRing, keyIdOf } from '../../base/keys/key-ring.ts'
import { decodeLine, encodeLine } from '../../journal/lines/journal-line.ts'
import { requireKnownFormat } from '../../journal/lines/upcast.ts'
import { directoryName, identifierOf } from '../../schema/names/identifier.ts'
import { parseJsonText } from '../../schema/parsing/json-text.ts'
import {
  entriesIn,
  type KeyValueEntry,
  parseKeyValueFile,
  parseSealedKeyValueFile,
  storeVersion,
} from '../../schema/files/key-value-file.ts'

/** The text of a key-value file. With a key all entries are encrypted as one, so that not even their names show. */

/** Folder of the stores in the data directory; one file a plugin. */
const storesFolder = '.kv'

export function storesFolderIn(directory: string): string {
  return join(directory, storesFolder)
}

export function storePath(directory: string, plugin: string): string {
  return join(storesFolderIn(directory), `${directoryName(identifierOf(plugin))}.json`)
}

const contextOf = (plugin: string): string => `kv ${plugin}`

export function encodeStore(
  plugin: string,
  entries: Readonly<Record<string, KeyValueEntry>>,
  ring: KeyRing,
): string {
  const content =
    ring.ids.length === 0
      ? { version: storeVersion, entries }
      : { version: storeVersion, sealed: ring.seal(contextOf(plugin), JSON.stringify(entries)) }
  return `${encodeLine(content)}\n`
}

/**
 * Throws a sentence at what is damaged, `NewerFormatError` at what only a newer version reads, and `SecretKeyError`
 * without the right key.
 */
export function decodeStore(plugin: string, bytes: Uint8Array, ring: KeyRing): Map<string, KeyValueEntry> {
  const content = wholeContent(bytes)
  requireKnownFormat(content, storeVersion)
  const sealed = parseSealedKeyValueFile(content)
  return entriesIn(
    parseKeyValueFile(
      sealed.ok
        ? {
            version: storeVersion,
            entries: JSON.parse(ring.open(contextOf(plugin), sealed.value.sealed)) as unknown,
          }
        : content,
    ),
  )
}

const lineFeed = 0x0a

function wholeContent(bytes: Uint8Array): unknown {
  const line = decodeLine(bytes.at(-1) === lineFeed ? bytes.subarray(0, -1) : bytes)
  if (line.ok) return line.value
  // Version 1 had no checksum. Whatever is wrong is told without the parser's words: they quote the input.
  const old = parseJsonText(bytes)
  if (old.ok && isJsonObject(old.value) && old.value.version === 1) return old.value
  throw new Error(line.reason)
}

/** Name of the key that the file needs; undefined: none, or it is damaged. */
function neededKey(bytes: Uint8Array): string | undefined {
  let content: unknown
  try {
    content = wholeContent(bytes)
  } catch {
    return undefined
  }
  const sealed = parseSealedKeyValueFile(content)
  return sealed.ok ? keyIdOf(sealed.value.sealed) : undefined
}

/**
 * Throws `SecretKeyError` when a store is encrypted with a key that is not there. One that cannot be read is its
 * plugin's trouble alone: it is told when that is loaded.
 */
export async function requireKeysOfStores(
  files: FileSystem,
  directory: string,
  ring: KeyRing,
): Promise<void> {
  for (const name of await storeFiles(files, directory)) {
    const bytes = await files.readFile(join(storesFolderIn(directory), name)).catch(() => Buffer.alloc(0))
    const id = neededKey(bytes)
    if (id !== undefined) ring.require(id)
  }
}

/** Names of the files in the folder of the stores. */
export async function storeFiles(files: FileSystem, directory: string, ending = '.json'): Promise<string[]> {
  return (await readNames(files, storesFolderIn(directory))).filter((name) => name.endsWith(ending))
}
