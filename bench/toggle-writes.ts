import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  appendFlags,
  replaceByTemporary,
  syncAppended,
  systemFileSystem,
  writeTemporary,
} from '../src/base/files/file-system.ts'

/** The writes of a plugin that is switched off and on, with nothing else done: what the disk takes of it. */
export interface ToggleWrites {
  offAndOn(): Promise<void>
  close(): Promise<void>
}

/** Bytes of an event of the journal, and of a snapshot with one plugin. */
const eventBytes = 330
const snapshotBytes = 1_400

export async function createToggleWrites(): Promise<ToggleWrites> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-writes-'))
  const files = systemFileSystem
  const journal = await files.open(join(directory, 'journal'), appendFlags.fresh, 0o600)
  const snapshot = join(directory, 'snapshot')
  const event = Buffer.alloc(eventBytes, 'x')
  const content = 'x'.repeat(snapshotBytes)
  let position = 0

  async function append(): Promise<void> {
    const from = position
    position += eventBytes
    await journal.write(event, 0, eventBytes, from)
    await syncAppended(journal)
  }

  /** What was decided; then what came of it, and the snapshot that has it beside the old one; then its name. */
  async function toggle(): Promise<void> {
    await append()
    await Promise.all([append(), writeTemporary(files, snapshot, content, 0o600)])
    await replaceByTemporary(files, snapshot)
  }

  return {
    async offAndOn() {
      await toggle()
      await toggle()
    },
    async close() {
      await journal.close()
      await rm(directory, { recursive: true })
    },
  }
}
