import { join } from 'node:path'
import type { Clock } from '../base/time/clock.ts'
import { createDelayedWrite } from '../base/files/delayed-write.ts'
import { type FileSystem, writeFileAtomically } from '../base/files/file-system.ts'
import type { Logger } from '../base/log/log.ts'
import { privateFileMode } from '../base/files/private-files.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { storageFault } from '../base/files/storage-fault.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import { parseJsonText } from '../schema/parsing/json-text.ts'
import { type LifecycleCursor, parseLifecycleCursor } from '../schema/files/lifecycle-cursor.ts'

/** In the data directory. May be deleted while the host is stopped: the broker is then told of what comes. */
const lifecycleCursorFileName = '.host.lifecycle'

export type JournalPosition = Pick<LifecycleCursor, 'seq' | 'event'>

/** Remembers how far a broker has been told of the journal. */
export interface Cursor {
  /** Where it stood when it was opened. */
  readonly start: JournalPosition
  /** The broker has been told up to here. It is written a little later, in the background. */
  move(to: JournalPosition): void
  /** Writes it if need be. Never rejects. */
  close(): Promise<void>
}

export interface CursorSettings {
  lifecycle: Pick<Lifecycle, 'history' | 'firstSeq' | 'lastSeq'>
  /** The data directory. */
  directory: string
  files: FileSystem
  clock: Clock
  logger: Logger
  /** As `brokerName` of `schema/names/broker-url.ts` says. */
  broker: string
  root: string
}

const fromNowOn =
  'The MQTT broker is told of what happens from now on, and not of what it may have missed (GET /api/history has it)'

/**
 * Reads it. What was told to another broker, on other topics, or of another journal, counts for nothing: then it stands at
 * the end of the journal, and that is on disk when it resolves. Never rejects: what cannot be read or written is logged.
 */
export async function openLifecycleCursor(settings: CursorSettings): Promise<Cursor> {
  const { lifecycle, directory, files, clock, logger, broker, root } = settings
  const path = join(directory, lifecycleCursorFileName)
  const found = usable(await read())
  const start: JournalPosition = found ?? { seq: lifecycle.lastSeq, event: idOf(lifecycle.lastSeq) ?? null }
  let position = start

  const file = createDelayedWrite(
    clock,
    async () => {
      const { seq, event } = position
      const content: LifecycleCursor = { version: 1, broker, root, seq, event }
      await writeFileAtomically(files, path, `${JSON.stringify(content)}\n`, privateFileMode)
    },
    (error) =>
      logger.warn(
        'How far the MQTT broker has been told of the journal could not be written down; it is tried again. If the host ' +
          'is started anew before, events come again on its topic',
        { path, reason: storageFault(error) ?? messageOf(error) },
      ),
  )

  async function read(): Promise<LifecycleCursor | undefined> {
    try {
      const json = parseJsonText(await files.readFile(path))
      if (!json.ok) throw new Error(`it is damaged: it ${json.message}`)
      const parsed = parseLifecycleCursor(json.value)
      if (!parsed.ok) throw new Error('it is damaged: it does not have the members that the host writes')
      return parsed.value
    } catch (error) {
      // The first time there is none.
      if (systemErrorCode(error) !== 'ENOENT') logger.warn(fromNowOn, { path, reason: error })
      return undefined
    }
  }

  function usable(cursor: LifecycleCursor | undefined): JournalPosition | undefined {
    if (cursor === undefined) return undefined
    if (cursor.broker !== broker || cursor.root !== root) {
      const before = { broker: cursor.broker, root: cursor.root }
      logger.info(fromNowOn, { reason: 'so far there was another broker or root', ...before })
      return undefined
    }
    const { seq, event } = cursor
    const id = idOf(seq)
    // An event that was moved away, or cannot be read, speaks against nothing.
    const isSame = id === undefined || event === null || id === event
    if (isSame && seq <= lifecycle.lastSeq) return { seq, event }
    logger.warn(fromNowOn, { path, reason: 'it is of another journal' })
    return undefined
  }

  /** Undefined: it is not known here. */
  function idOf(seq: number): string | undefined {
    if (seq === 0) return undefined
    try {
      return lifecycle.history({ after: seq - 1, limit: 1 }).find((event) => event.seq === seq)?.id
    } catch {
      return undefined
    }
  }

  if (found === undefined) {
    // At once: what happens from now on is to come, even if the host ends before it has told the broker of anything.
    file.changed()
    await file.flush()
  }
  return {
    start,
    move(to) {
      position = to
      file.changed()
    },
    async close() {
      await file.flush()
      await file.discard()
    },
  }
}
