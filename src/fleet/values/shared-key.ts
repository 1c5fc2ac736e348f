import { type KeyRing, keyIdOf } from '../../base/keys/key-ring.ts'
import { StoreFullError, StoreRefusedError } from '../store/store-errors.ts'
import type { StoreStream } from '../store/store-stream.ts'
import { sharedKeySubject } from './value-names.ts'

const context = 'fleet key'

/**
 * Whether this host has the key of the others: the first host leaves a text that it has sealed, and whoever comes later has to
 * open it. Without that, hosts with different keys would not understand each other, and the first secret that one of them
 * writes would end the others. Throws one line.
 */
export async function requireSharedKey(
  stream: Pick<StoreStream, 'get' | 'publish'>,
  fleet: string,
  ring: KeyRing,
): Promise<void> {
  const subject = sharedKeySubject(fleet)
  let found = await stream.get({ last_by_subj: subject })
  if (found === undefined) {
    try {
      const answer = await stream.publish(subject, ring.seal(context, fleet), { expected: 0 })
      if ('seq' in answer) return
    } catch (error) {
      // A later start leaves it.
      if (error instanceof StoreFullError) return
      throw error
    }
    found = await stream.get({ last_by_subj: subject })
  }
  const id = keyIdOf(Buffer.from(found?.data ?? []).toString('latin1'))
  if (id === undefined || ring.ids.includes(id)) return
  throw new StoreRefusedError(
    `The hosts of the fleet ${fleet} have the key ${id}, but HOST_SECRET_KEY_FILE (--secret-key-file) holds ` +
      `${ring.ids.join(', ')}: copy the key file of another host of the fleet, as all of them need the same.`,
  )
}
