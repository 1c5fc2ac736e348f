import { randomUUID } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import { type FleetObject, parseFleetObject } from '../../schema/files/fleet-object.ts'
import { parseJsonText } from '../../schema/parsing/json-text.ts'
import { StoreRefusedError } from '../store/store-errors.ts'
import { openStoreStream, type Published } from '../store/store-stream.ts'

/** An object store as every client of NATS reads it. What is written is written by compare-and-set. */
export interface ObjectBucket {
  /** Undefined: there never was one, or it is forgotten. */
  find(name: string): Promise<FoundObject | undefined>
  /** Says what is there under a name, on top of what was found last (0: nothing). */
  write(object: Omit<FleetObject, 'bucket'>, expected: number): Promise<Published>
  /** Writes the chunks of an object, under a `nuid` that is used for nothing else. Answers how many. */
  putChunks(nuid: string, content: Uint8Array): Promise<number>
  /** The chunks one after another, of which some may be missing. */
  chunks(object: FleetObject): Promise<Uint8Array>
  purgeChunks(nuid: string): Promise<void>
  /** Takes away what was said last of an object, if it is still that. */
  forget(revision: number): Promise<void>
  /** Names of all objects, of those also that are deleted. */
  names(): Promise<string[]>
  newNuid(): string
}

export interface FoundObject {
  revision: number
  object: FleetObject
}

/** Bytes of a chunk, at most; what other clients write, too. */
const chunkBytes = 128 * 1024

/** `name`: of the bucket. Throws `StoreRefusedError` at one that could lose objects. */
export async function openObjectBucket(connection: NatsConnection, name: string): Promise<ObjectBucket> {
  const objects = `$O.${name}.M.`
  const chunksOf = (nuid: string): string => `$O.${name}.C.${nuid}`
  const subjects = [`$O.${name}.C.>`, `$O.${name}.M.>`]
  const stream = await openStoreStream(connection, {
    name: `OBJ_${name}`,
    config: { subjects, allow_rollup_hdrs: true },
    check({ config }) {
      const isEndless = config.max_age === 0 && config.max_msgs === -1
      if (isEndless && [...config.subjects].sort().join() === subjects.join()) return
      throw new StoreRefusedError(
        `The object store ${name} is not as the files of a fleet need it: it has the subjects ` +
          `${config.subjects.join(', ')}, or throws away by itself. Give it another name, or take its limits off.`,
      )
    },
  })
  const subjectOf = (object: string): string => objects + Buffer.from(object).toString('base64url')

  return {
    async find(object) {
      const found = await stream.get({ last_by_subj: subjectOf(object) })
      if (found === undefined) return undefined
      const text = parseJsonText(found.data)
      const parsed = text.ok ? parseFleetObject(text.value) : undefined
      if (parsed?.ok === true && parsed.value.name === object) {
        return { revision: found.seq, object: parsed.value }
      }
      // Whatever it says, there is no object.
      const nothing = { name: object, bucket: name, nuid: 'none', size: 0, chunks: 0, deleted: true }
      return { revision: found.seq, object: nothing }
    },
    write: (object, expected) =>
      stream.publish(subjectOf(object.name), JSON.stringify({ ...object, bucket: name }), {
        ...{ expected, replaces: true },
      }),
    async putChunks(nuid, content) {
      const size = Math.min(chunkBytes, stream.room())
      let count = 0
      for (let at = 0; at < content.length; at += size) {
        await stream.publish(chunksOf(nuid), content.subarray(at, at + size), {})
        count += 1
      }
      return count
    },
    async chunks({ nuid, chunks }) {
      const found: Uint8Array[] = []
      for (let seq = 1; found.length < chunks;) {
        const next = await stream.get({ seq, next_by_subj: chunksOf(nuid) })
        if (next === undefined) break
        found.push(next.data)
        seq = next.seq + 1
      }
      return Buffer.concat(found)
    },
    purgeChunks: (nuid) => stream.purge(chunksOf(nuid)),
    forget: (revision) => stream.remove(revision),
    async names() {
      const there = await stream.subjects(`${objects}>`)
      return there.map((subject) => Buffer.from(subject.slice(objects.length), 'base64url').toString())
    },
    newNuid: () => randomUUID().replaceAll('-', ''),
  }
}
