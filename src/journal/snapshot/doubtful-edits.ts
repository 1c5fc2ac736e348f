import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../base/text/json.ts'
import { parsePublicKey } from '../../base/keys/minisign.ts'
import { type HostFile, InstalledEntry, RepositoryEntry } from '../../schema/journal/host-file.ts'
import { escapePointer } from '../../schema/parsing/json-pointer.ts'

/**
 * A person may edit `.host.json` while the host is stopped, so a change in it is no damage by itself. These
 * are the changes that nobody makes on purpose: they are refused with their place, rather than believed.
 */

/** What only the host writes; a person changes `enabled` and `config`. */
const hostMembers = [
  'version',
  'repository',
  'state',
  'revision',
  'installedAt',
  'updatedAt',
  'integrity',
] as const
/** What tells a plugin whose id has changed from one that was removed and another that was added. */
const fingerprint = ['version', 'revision', 'installedAt', 'updatedAt', 'integrity'] as const

/** No key on a keyboard writes these: NUL to US (but tab and line ends), and DEL to APC. */
const controlCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

type Entries = NonNullable<NonNullable<HostFile['plugins']>['installed']>

/**
 * One clause each, which begins with the place. `written` is what the host wrote when its journal was at the
 * number that the file names. A file that names none counts as written by a person, all of it.
 */
export function doubtfulEdits(written: HostFile, file: HostFile): string[] {
  const { seq, event } = file.journal ?? {}
  if (seq === undefined) return event === undefined ? [] : ['/journal/seq is missing']
  const doubts: string[] = []
  if (event !== undefined && event !== written.journal?.event) {
    doubts.push(
      `/journal says that event ${seq} is ${JSON.stringify(event)}, which is not so in this journal`,
    )
  }
  // What comes out of a fleet has no name of a single host yet.
  if (file.host?.id !== written.host?.id) {
    if (file.host?.id === undefined) doubts.push('/host/id is missing')
    else doubts.push('/host/id has changed (to rename the host, set HOST_ID)')
  }
  if (file.repositories === undefined) doubts.push('/repositories is missing')
  else {
    const known = new Set(Object.keys(RepositoryEntry.properties))
    for (const [index, entry] of file.repositories.entries()) {
      const before = written.repositories?.find(({ name }) => name === entry.name)
      const place = `/repositories/${index}`
      doubts.push(...unknownMembers(place, entry, before, known), ...controls(place, entry, before))
      doubts.push(...doubtfulKey(place, entry, before))
    }
  }
  const installed = file.plugins?.installed
  if (installed === undefined) doubts.push('/plugins/installed is missing')
  else doubts.push(...doubtfulEntries(written.plugins?.installed ?? [], installed))
  return doubts
}

type Repository = NonNullable<HostFile['repositories']>[number]

/** Who pins a repository to another key replaces all of it; damage reaches the key or its id, hardly both. */
function doubtfulKey(place: string, entry: Repository, before: Repository | undefined): string[] {
  const doubts: string[] = []
  if (before !== undefined && entry.signedAt !== undefined && entry.signedAt !== before.signedAt) {
    doubts.push(`${place}/signedAt has changed, which only the host may do`)
  }
  // Without it anything would be believed from there, so that is to be said.
  if (entry.publicKey === undefined && before?.publicKey != null) {
    doubts.push(`${place}/publicKey is missing (null in its place takes the key away)`)
  }
  if (entry.publicKey != null && before?.publicKey != null && entry.publicKey !== before.publicKey) {
    const [now, then] = [parsePublicKey(entry.publicKey), parsePublicKey(before.publicKey)]
    if (now.id === then.id || now.key.equals(then.key)) doubts.push(`${place}/publicKey has changed in part`)
  }
  return doubts
}

function doubtfulEntries(written: Entries, installed: Entries): string[] {
  const doubts: string[] = []
  const known = new Set(Object.keys(InstalledEntry.properties))
  const present = new Set(installed.map(({ id }) => id))
  const gone = written.filter(({ id }) => !present.has(id))
  for (const [index, entry] of installed.entries()) {
    const place = `/plugins/installed/${index}`
    const before = written.find(({ id }) => id === entry.id)
    const renamed = before === undefined ? gone.find((other) => isSamePlugin(other, entry)) : undefined
    if (renamed !== undefined) doubts.push(`${place}/id is ${entry.id} where the host wrote ${renamed.id}`)
    for (const name of before === undefined ? [] : hostMembers) {
      if (entry[name] === undefined || isDeepStrictEqual(entry[name], before?.[name])) continue
      doubts.push(`${place}/${name} has changed, which only the host may do`)
    }
    doubts.push(...unknownMembers(place, entry, before, known), ...controls(place, entry, before ?? renamed))
  }
  return doubts
}

function isSamePlugin(left: Entries[number], right: Entries[number]): boolean {
  return fingerprint.every((name) => right[name] !== undefined && isDeepStrictEqual(left[name], right[name]))
}

/** A name that the host does not know is one that it does know, misspelt: its value would be lost. */
function unknownMembers(
  place: string,
  entry: object,
  before: object | undefined,
  known: ReadonlySet<string>,
): string[] {
  return Object.keys(entry)
    .filter((name) => !known.has(name) && !(before !== undefined && name in before))
    .map((name) => `${place}/${escapePointer(name)} is not known here`)
}

/** Control characters that were not there before. */
function controls(place: string, after: unknown, before: unknown): string[] {
  if (isDeepStrictEqual(after, before)) return []
  if (typeof after === 'string') {
    return controlCharacter.test(after) ? [`${place} holds a control character`] : []
  }
  if (Array.isArray(after)) {
    const old: unknown[] = Array.isArray(before) ? before : []
    return after.flatMap((item, index) => controls(`${place}/${index}`, item, old[index]))
  }
  if (!isJsonObject(after)) return []
  return Object.entries(after).flatMap(([key, value]) => {
    const inside = `${place}/${escapePointer(key)}`
    const old = isJsonObject(before) && Object.hasOwn(before, key) ? before[key] : undefined
    return [
      ...(old === undefined && controlCharacter.test(key)
        ? [`the name of ${inside} holds a control character`]
        : []),
      ...controls(inside, value, old),
    ]
  })
}
