import { type KeyRing, keyIdOf } from '../../base/keys/key-ring.ts'
import { StoreFullError, StoreRefusedError } from '../store/store-errors.ts'
import type { StoredMessage, StoreStream } from '../store/store-stream.ts'
import { sharedKeySubject } from './value-names.ts'

const context = 'fleet key'

/**
 * Whether this host has the key of the others: the first host leaves a text that it has sealed, and whoever comes later has to
 * open it. Without that, hosts with different keys would not understand each other, and the first secret that one of them
 * writes would end the others. Throws one line. Nothing is written.
 */
export async function requireSharedKey(
  stream: Pick<StoreStream, 'get'>,
  fleet: string,
  ring: KeyRing,
): Promise<void> {
  const id = keyIn(await stream.get({ last_by_subj: sharedKeySubject(fleet) }))
  if (id === undefined || ring.ids.includes(id)) return
  throw new StoreRefusedError(
    `The hosts of the fleet ${fleet} have the key ${id}, but HOST_SECRET_KEY_FILE (--secret-key-file) holds ` +
      `${ring.ids.join(', ')}: copy the key file of another host of the fleet, as all of them need the same. Where that key is ` +
      'lost, docs/operation.md tells what to do ("A key that is lost").',
  )
}

/**
 * Leaves that text where there is none; for a host that has read the journal, as of a fleet of an older version only its
 * secrets tell which key is the right one. Throws as `requireSharedKey`.
 */
export async function shareKey(
  stream: Pick<StoreStream, 'get' | 'publish'>,
  fleet: string,
  ring: KeyRing,
): Promise<void> {
  const subject = sharedKeySubject(fleet)
  const found = await stream.get({ last_by_subj: subject })
  // Where its owner has taken it away, there is a mark without content.
  if (keyIn(found) === undefined) {
    try {
      await stream.publish(subject, ring.seal(context, fleet), { expected: found?.seq ?? 0 })
    } catch (error) {
      // A later start leaves it.
      if (!(error instanceof StoreFullError)) throw error
    }
  }
  // Another host may have been quicker.
  await requireSharedKey(stream, fleet, ring)
}

function keyIn(found: StoredMessage | undefined): string | undefined {
  return keyIdOf(Buffer.from(found?.data ?? []).toString('latin1'))
}
