import { join } from 'node:path'
import { type FileSystem, temporaryOf, writeFileAtomically } from '../base/files/file-system.ts'
import type { Logger } from '../base/log/log.ts'
import { privateFileMode } from '../base/files/private-files.ts'
import { systemErrorCode } from '../base/problem.ts'
import { decodeLine, encodeLine } from '../journal/lines/journal-line.ts'
import { brokerName } from '../schema/names/broker-url.ts'
import { type NamesFile, parseNamesFile, type PublishedNames } from '../schema/files/names-file.ts'
import type { Settings } from '../settings/settings.ts'

const namesFileName = '.host.names'

/** Names that are remembered; each costs a look at the broker at a start, and nobody renames a host so often. */
export const formerNamesLimit = 20

/** Under which names things are told, and under which they were: on disk before anything is told. */
export interface NamesRegister {
  readonly present: PublishedNames
  /** Those under which something may still be retained, at any broker; the oldest first. */
  readonly former: readonly PublishedNames[]
  /** Writes what could not be written before: there may be room now. Never rejects. */
  save(): Promise<void>
  /** Nothing is retained under these any more. Never rejects. */
  forget(names: PublishedNames): Promise<void>
  /** Another host lives under these. Never rejects. */
  leave(names: PublishedNames): Promise<void>
}

export interface NamesRegisterSettings {
  /** The data directory. */
  directory: string
  files: FileSystem
  logger: Logger
  /** Of this run. */
  present: PublishedNames
}

/**
 * Reads what runs before have told, and writes down what this one will tell. A file that cannot be read or written is a
 * warning. Never rejects.
 */
export async function openNamesRegister(settings: NamesRegisterSettings): Promise<NamesRegister> {
  const { directory, files, logger, present } = settings
  const path = join(directory, namesFileName)
  const found = await readNames(path, files, logger)
  let former = latest(found.names, present)
  let written = found.text

  let hasWarned = false
  let writing = Promise.resolve()

  /** One at a time: they share the temporary file. */
  function write(): Promise<void> {
    writing = writing.then(writeNow)
    return writing
  }

  async function writeNow(): Promise<void> {
    const content: NamesFile = { version: 1, present, former: [...former] }
    const text = `${encodeLine(content)}\n`
    if (text === written || !found.mayBeReplaced) return
    try {
      await writeFileAtomically(files, path, text, privateFileMode)
      written = text
    } catch (error) {
      if (hasWarned) return
      hasWarned = true
      logger.warn(
        'It could not be written down under which names this host tells things. Make room on the disk, or let the host ' +
          'write there, and start it again: otherwise what it tells now stays at the broker when HOST_ID, HOST_MQTT_ROOT or ' +
          'HOST_DISCOVERY_PREFIX is changed',
        { path, error },
      )
    }
  }

  // What a kill has left of a write; there may be none now that takes its place.
  await files.rm(temporaryOf(path), { force: true }).catch(() => undefined)
  await write()
  return {
    present,
    get former() {
      return former
    },
    save: write,
    async forget(names) {
      former = former.filter((one) => !isSame(one, names))
      await write()
    },
    async leave(names) {
      former = former.map((one) => (isSame(one, names) ? { ...one, inhabited: true } : one))
      await write()
    },
  }
}

interface FoundNames {
  /** The latest last. */
  names: readonly PublishedNames[]
  /** What is on the disk. */
  text: string | undefined
  /** False: it may hold names that only could not be read now. */
  mayBeReplaced: boolean
}

async function readNames(path: string, files: FileSystem, logger: Logger): Promise<FoundNames> {
  let bytes: Buffer
  try {
    bytes = await files.readFile(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return { names: [], text: undefined, mayBeReplaced: true }
    logger.warn(
      'It cannot be read under which names this host has told things. Let the host read the file, and start it again: ' +
        'otherwise what it told under other names stays at the broker',
      { path, error },
    )
    return { names: [], text: undefined, mayBeReplaced: false }
  }
  const line = decodeLine(bytes.subarray(0, -1))
  const parsed = line.ok ? parseNamesFile(line.value) : line
  if (parsed.ok) {
    const { present, former } = parsed.value
    return { names: [...former, present], text: bytes.toString(), mayBeReplaced: true }
  }
  logger.warn(
    'The file with the names under which this host has told things is damaged, and begun anew. If it was renamed, remove ' +
      'by hand what is left under its older names at the broker: mosquitto_sub -t "<old root>/#" --remove-retained --retained-only',
    { path },
  )
  return { names: [], text: undefined, mayBeReplaced: true }
}

function latest(names: readonly PublishedNames[], present: PublishedNames): readonly PublishedNames[] {
  const all = names.filter(
    (one, index) => !isSame(one, present) && names.findLastIndex((other) => isSame(one, other)) === index,
  )
  return all.slice(-formerNamesLimit)
}

/** Of a host that works by itself. */
export function namesOf(
  settings: Pick<Settings, 'mqttRoot' | 'discoveryPrefix' | 'mqttUrl'>,
  hostId: string,
): PublishedNames {
  const { mqttRoot: root, discoveryPrefix: prefix, mqttUrl } = settings
  return { hostId, root, prefix, broker: brokerName(mqttUrl) }
}

function isSame(one: PublishedNames, other: PublishedNames): boolean {
  return (
    one.hostId === other.hostId &&
    one.root === other.root &&
    one.prefix === other.prefix &&
    one.broker === other.broker
  )
}
