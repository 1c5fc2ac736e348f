import { randomUUID } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import type { KeyRing } from '../../base/keys/key-ring.ts'
import { decodeLine, encodeLine } from '../../journal/lines/journal-line.ts'
import {
  entriesIn,
  type FleetValues,
  type KeyValueEntry,
  parseFleetValues,
  parseKeyValueFile,
} from '../../schema/files/key-value-file.ts'
import { inBatches } from '../store/in-batches.ts'
import { StoreRefusedError } from '../store/store-errors.ts'
import { openStoreStream, type Published } from '../store/store-stream.ts'
import { requireSharedKey, shareKey } from './shared-key.ts'
import {
  asideSubject,
  epochOfPart,
  partSubject,
  partSubjects,
  pluginOfSubject,
  recordSubject,
  valuesStreamName,
} from './value-names.ts'

/** Where the stored values of all plugins of a fleet are: a record a plugin, and the parts that it names. */

export type PartReference = NonNullable<FleetValues['parts']>[number]

export type FoundRecord =
  | { revision: number; record: FleetValues }
  /** It cannot be believed; `data` is as it stands there. */
  | { revision: number; record: undefined; reason: string; data: Uint8Array }

export interface ValueBucket {
  /** The record as it is now; undefined: there is none. */
  record(plugin: string): Promise<FoundRecord | undefined>
  /** Writes the record on top of the one with this revision. Refused, when there is another one by now. */
  write(plugin: string, record: Omit<FleetValues, 'version'>, expected: number): Promise<Published>
  seal(plugin: string, entries: Iterable<[string, KeyValueEntry]>): string
  /** Writes a part, under a name that no other has. It counts once a record names it. */
  putPart(plugin: string, epoch: number, sealed: string): Promise<NonNullable<PartReference>>
  /** All entries of a record. Throws a sentence at what is damaged or missing, and `SecretKeyError`. */
  entries(plugin: string, record: FleetValues): Promise<Map<string, KeyValueEntry>>
  /** Keeps a damaged record, with the parts that it may name. Answers where. */
  putAside(plugin: string, found: FoundRecord): Promise<string>
  /** Subjects of the parts of a plugin; none when something was put aside, which may need them. */
  parts(plugin: string): Promise<string[]>
  /** Everything of a plugin beside its record. */
  rest(plugin: string): Promise<string[]>
  partSubjects(plugin: string, references: readonly PartReference[]): string[]
  purge(subjects: readonly string[]): Promise<void>
  /** Plugins that have a record. */
  plugins(): Promise<string[]>
  /** Throws one line where the other hosts of the fleet have another key. */
  requireSharedKey(): Promise<void>
  /** The same; where nobody has left a key yet, it is this one from now on. */
  shareKey(): Promise<void>
}

/** Bytes of a message of a part, at most; a server may take fewer. */
const sliceBytes = 256 * 1024

export async function openValueBucket(
  connection: NatsConnection,
  fleet: string,
  ring: KeyRing,
): Promise<ValueBucket> {
  if (ring.ids.length === 0) {
    throw new StoreRefusedError(
      'A fleet needs HOST_SECRET_KEY_FILE, with the same key on every host: stored values leave a host encrypted only.',
    )
  }
  const name = valuesStreamName(fleet)
  const subjects = `$KV.LUPINE_${fleet}_VALUES.>`
  const stream = await openStoreStream(connection, {
    name,
    config: { subjects: [subjects], max_msgs_per_subject: 1, allow_rollup_hdrs: true, deny_delete: true },
    check({ config }) {
      if (config.subjects.join() !== subjects || config.max_age !== 0 || config.max_msgs !== -1) {
        throw new StoreRefusedError(
          `The bucket ${name} is not as the stored values of the fleet ${fleet} need it: it has the subjects ` +
            `${config.subjects.join(', ')}, or throws away by itself. Give it another name, or take its limits off.`,
        )
      }
    },
  })
  const contextOf = (plugin: string): string => `fleet values ${plugin}`

  async function readPart(plugin: string, { id, slices }: NonNullable<PartReference>): Promise<string> {
    let text = ''
    for (let slice = 0; slice < slices; slice += 1) {
      const found = await stream.get({ last_by_subj: partSubject(fleet, plugin, id, slice) })
      if (found === undefined) throw new Error(`the part ${id} is missing`)
      text += Buffer.from(found.data).toString('latin1')
    }
    return text
  }

  function open(plugin: string, sealed: string): Map<string, KeyValueEntry> {
    const entries: unknown = JSON.parse(ring.open(contextOf(plugin), sealed))
    return entriesIn(parseKeyValueFile({ version: 2, entries }))
  }

  return {
    async record(plugin) {
      const found = await stream.get({ last_by_subj: recordSubject(fleet, plugin) })
      if (found === undefined) return undefined
      const { seq: revision, data } = found
      const line = decodeLine(data)
      if (!line.ok) return { revision, record: undefined, reason: line.reason, data }
      const parsed = parseFleetValues(line.value)
      if (parsed.ok) return { revision, record: parsed.value }
      const reason = parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; ')
      return { revision, record: undefined, reason, data }
    },
    write: (plugin, record, expected) =>
      stream.publish(recordSubject(fleet, plugin), encodeLine({ version: 1, ...record }), { expected }),
    seal: (plugin, entries) => ring.seal(contextOf(plugin), JSON.stringify(Object.fromEntries(entries))),
    async putPart(plugin, epoch, sealed) {
      const id = `${epoch}-${randomUUID()}`
      const size = Math.min(sliceBytes, stream.room())
      const slices = Math.ceil(sealed.length / size)
      for (let slice = 0; slice < slices; slice += 1) {
        const text = sealed.slice(slice * size, (slice + 1) * size)
        await stream.publish(partSubject(fleet, plugin, id, slice), text, {})
      }
      return { id, slices }
    },
    async entries(plugin, { sealed, parts = [] }) {
      if (sealed !== undefined) return open(plugin, sealed)
      const found = new Map<string, KeyValueEntry>()
      const there = parts.filter((part) => part !== null)
      await inBatches(there, async (part) => {
        for (const [key, entry] of open(plugin, await readPart(plugin, part))) found.set(key, entry)
      })
      return found
    },
    async putAside(plugin, found) {
      const subject = asideSubject(fleet, plugin, found.revision)
      const data = found.record === undefined ? found.data : encodeLine(found.record)
      await stream.publish(subject, data, {})
      return subject
    },
    async parts(plugin) {
      const there = await stream.subjects(partSubjects(fleet, plugin))
      return there.some((subject) => epochOfPart(subject) === undefined) ? [] : there
    },
    rest: (plugin) => stream.subjects(partSubjects(fleet, plugin)),
    partSubjects: (plugin, references) =>
      references.flatMap((part) =>
        part === null
          ? []
          : Array.from({ length: part.slices }, (_, slice) => partSubject(fleet, plugin, part.id, slice)),
      ),
    purge: (subjectsToGo) => inBatches(subjectsToGo, (subject) => stream.purge(subject)),
    async plugins() {
      const found = await stream.subjects(subjects)
      return found.map(pluginOfSubject).filter((plugin) => plugin !== undefined)
    },
    requireSharedKey: () => requireSharedKey(stream, fleet, ring),
    shareKey: () => shareKey(stream, fleet, ring),
  }
}
