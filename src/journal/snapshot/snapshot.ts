import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { KnownRepository } from '../../../machines/host.ts'
import type { FileSystem } from '../../base/files/file-system.ts'
import { UnusableFileError } from '../../base/files/unusable-file.ts'
import { SecretKeyError } from '../../base/keys/key-ring.ts'
import { messageOf, systemErrorCode } from '../../base/problem.ts'
import {
  type HostFile,
  type InstalledEntry,
  levelsAroundConfig,
  parseHostFile,
} from '../../schema/journal/host-file.ts'
import { jsonDepthLimit, parseJsonText } from '../../schema/parsing/json-text.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { doubtfulEdits } from './doubtful-edits.ts'
import { type HostState, installedIn } from '../fold/evolve.ts'
import { changeHostFile, noVault, type Vault } from '../vault.ts'

/** `.host.json`: the fold as a person reads it, and what a person changed in it while the host was stopped. */

export const snapshotFileName = '.host.json'

/**
 * The snapshot of a fold. Members that the host does not know come from `kept`, the file as it was read. `event`
 * is the id of the last event.
 */
export function snapshotOf(state: HostState, kept: HostFile = {}, event?: string): HostFile {
  const installed = installedIn(state).map(({ context, value }) => ({
    id: context.id,
    version: context.version,
    repository: context.repository,
    enabled: context.enabled,
    config: context.config,
    ...(Object.keys(context.limits).length > 0 ? { limits: context.limits } : {}),
    state: value,
    revision: context.revision,
    installedAt: context.installedAt ?? '',
    updatedAt: context.updatedAt ?? '',
    integrity: context.integrity,
  }))
  const { id, repositories } = state.host.context
  return {
    ...kept,
    version: 1,
    host: { ...kept.host, ...(id === null ? {} : { id }) },
    repositories,
    plugins: { ...kept.plugins, installed },
    journal: { seq: state.seq, ...(event === undefined ? {} : { event }) },
  }
}

/** What `snapshotOf` makes use of: the settings of all plugins, as they were read, would take as much memory as the present ones. */
export function withoutFold(file: HostFile | undefined): HostFile | undefined {
  return file?.plugins === undefined ? file : { ...file, plugins: { ...file.plugins, installed: [] } }
}

const advice = 'Correct it, or move it away: then the host writes it anew from its journal.'

/** `.host.json` is not what a host writes, nor what a person may make of it; the message is one line that says what to do. */
export class DamagedSnapshotError extends Error {
  override readonly name = 'DamagedSnapshotError'
}

/**
 * Reads `.host.json`; undefined when there is none. Throws `DamagedSnapshotError`, `UnusableFileError`, or
 * `SecretKeyError`. `vault`: as in `openJournal`.
 */
export async function readSnapshot(
  files: FileSystem,
  directory: string,
  vault: Vault = noVault,
): Promise<HostFile | undefined> {
  const path = join(directory, snapshotFileName)
  let bytes: Uint8Array
  try {
    bytes = await files.readFile(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw new UnusableFileError(path, error)
  }
  const json = parseJsonText(bytes, jsonDepthLimit + levelsAroundConfig)
  if (!json.ok) throw new DamagedSnapshotError(`${path} ${json.message}. ${advice}`)
  if (json.repeated.length > 0)
    throw new DamagedSnapshotError(`${path} has ${json.repeated.join(', ')} twice. ${advice}`)
  const parsed = parseHostFile(json.value)
  if (!parsed.ok) {
    const list = parsed.errors.map(({ path: pointer, message }) => `${pointer || '/'} ${message}`).join('; ')
    throw new DamagedSnapshotError(`${path} cannot be used: ${list}. ${advice}`)
  }
  const twice =
    repeated(parsed.value.plugins?.installed?.map(({ id }) => id)) ??
    repeated(parsed.value.repositories?.map(({ name }) => `the repository ${name}`))
  if (twice !== undefined) throw new DamagedSnapshotError(`${path} lists ${twice} twice. ${advice}`)
  try {
    return changeHostFile(vault.open, parsed.value)
  } catch (error) {
    if (error instanceof SecretKeyError) throw error
    throw new DamagedSnapshotError(`${path} cannot be used: ${messageOf(error)}. ${advice}`, { cause: error })
  }
}

const repeated = (texts: readonly string[] = []): string | undefined =>
  texts.find((text, position) => texts.indexOf(text) !== position)

/** Throws one sentence with the places where `.host.json` was changed, but hardly by a person. */
export function refuseDoubtfulEdits(directory: string, written: HostFile, file: HostFile): void {
  // The journal of a fleet names no host, as it is that of many; the file of one of them does.
  if (file.journal?.seq !== undefined && written.host?.id === undefined && file.host?.id !== undefined) {
    throw new Error(
      `${directory} is of a host of a fleet, ${file.host.id}, whose plugins other hosts may run: start it with HOST_FLEET_URL ` +
        'again, or take the plugins out of the fleet with "lupine fleet leave", into another directory.',
    )
  }
  const doubts = doubtfulEdits(written, file)
  if (doubts.length === 0) return
  throw new Error(
    `${join(directory, snapshotFileName)} is not as the host wrote it, and not as a person may change it: ` +
      `${doubts.join('; ')}. Correct that, or move the file away: then the host writes it anew from its journal. ` +
      'To have all of it taken as it is, take its member "journal" out.',
  )
}

/** One thing that a person changed in `.host.json`. */
export type HandEdit =
  | { kind: 'repositoryAdded'; repository: KnownRepository }
  | { kind: 'repositoryRemoved'; name: string }
  | { kind: 'pluginAdded'; entry: InstalledEntry }
  | { kind: 'pluginRemoved'; id: string }
  | { kind: 'configured'; id: string; config: Config }
  | { kind: 'limited'; id: string; limits: Record<string, unknown> }
  | { kind: 'enabled'; id: string; enabled: boolean }

/** What the file says differently from the fold at the moment at which the host wrote the file. */
export function handEdits(written: HostFile, file: HostFile): HandEdit[] {
  const edits: HandEdit[] = []
  if (file.repositories !== undefined) {
    const before = new Map(written.repositories?.map((repository) => [repository.name, repository]))
    for (const repository of file.repositories) {
      const { name, url } = repository
      const old = before.get(name)
      const publicKey = repository.publicKey ?? undefined
      before.delete(name)
      if (old?.url === url && (old.publicKey ?? undefined) === publicKey) continue
      edits.push({
        kind: 'repositoryAdded',
        repository: {
          name,
          url,
          ...(publicKey === undefined ? {} : { publicKey }),
          // A time that was seen belongs to the key that it was seen with.
          ...(repository.signedAt === undefined || publicKey === undefined || old !== undefined
            ? {}
            : { signedAt: repository.signedAt }),
        },
      })
    }
    for (const name of before.keys()) edits.push({ kind: 'repositoryRemoved', name })
  }
  const installed = file.plugins?.installed
  if (installed === undefined) return edits
  const before = new Map(written.plugins?.installed?.map((entry) => [entry.id, entry]))
  for (const entry of installed) {
    const old = before.get(entry.id)
    before.delete(entry.id)
    if (old === undefined) {
      edits.push({ kind: 'pluginAdded', entry })
      continue
    }
    const { config, limits, enabled } = entry
    if (config !== undefined && !isDeepStrictEqual(config, old.config)) {
      edits.push({ kind: 'configured', id: entry.id, config })
    }
    if (limits !== undefined && !isDeepStrictEqual(limits, old.limits ?? {}))
      edits.push({ kind: 'limited', id: entry.id, limits })
    if (enabled !== undefined && enabled !== old.enabled)
      edits.push({ kind: 'enabled', id: entry.id, enabled })
  }
  for (const id of before.keys()) edits.push({ kind: 'pluginRemoved', id })
  return edits
}
