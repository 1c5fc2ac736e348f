import { join } from 'node:path'
import { quoted } from '../../base/text/cut-text.ts'
import { SecretKeyError } from '../../base/keys/key-ring.ts'
import { silentLogger } from '../../base/log/log.ts'
import { systemErrorCode } from '../../base/problem.ts'
import { openJournalStream } from '../../fleet/journal/journal-stream.ts'
import { decodeMessage } from '../../fleet/journal/stream-message.ts'
import { processFileName } from '../../fleet/leases/process-name.ts'
import { StoreRefusedError } from '../../fleet/store/store-errors.ts'
import { openJournal } from '../../journal/journal.ts'
import { readSnapshot } from '../../journal/snapshot/snapshot.ts'
import type { Vault } from '../../journal/vault.ts'
import { createSecretVault } from '../../lifecycle/secrets/secret-vault.ts'
import type { MembershipSettings } from './membership-command.ts'

/**
 * Throws one sentence when a host of a fleet has run in the directory: what is there is a copy of what its fleet has, however
 * the host was stopped. Nothing is changed, and no fleet is founded.
 */
export async function refuseFleetMember(settings: MembershipSettings): Promise<void> {
  const { directory, files, fleet, ring } = settings
  try {
    await files.readFile(join(directory, processFileName))
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return
    throw error
  }
  const vault = createSecretVault(ring, () => undefined)
  const file = await readSnapshot(files, directory, vault).catch((error: unknown) => {
    if (error instanceof SecretKeyError) throw error
    return undefined
  })
  const host = file?.host?.id === undefined ? 'a host' : `the host ${quoted(file.host.id)}`
  if (await isOfFleet(settings, vault)) {
    throw new StoreRefusedError(
      `${directory} is of ${host} of the fleet ${fleet} already, so there is nothing to join. Start the host in it with ` +
        `HOST_FLEET_URL and HOST_FLEET=${fleet}; "lupine fleet leave" takes the plugins out of the fleet, into another directory.`,
    )
  }
  throw new StoreRefusedError(
    `${directory} is of ${host} of another fleet than ${fleet}, which has its plugins. Correct HOST_FLEET_URL or HOST_FLEET; or ` +
      'take the plugins out of that fleet with its settings and "lupine fleet leave", and join with the directory that this makes. ' +
      'Where the store of its fleet is lost, docs/operation.md tells how they come back ("A store that is lost").',
  )
}

/** Whether the copy of the journal there is one of this fleet's. */
async function isOfFleet(settings: MembershipSettings, vault: Vault): Promise<boolean> {
  const { connection, directory, fleet, files, clock } = settings
  const stream = await openJournalStream(connection, fleet, { mustExist: true }).catch((error: unknown) => {
    if (error instanceof StoreRefusedError) return undefined
    throw error
  })
  if (stream === undefined) return false
  const copy = await openJournal({ directory, files, clock, logger: silentLogger, vault, whole: true })
  try {
    const { seq } = copy.live
    if (seq === 0 || seq > stream.last) return false
    const found = await stream.get({ seq })
    return found !== undefined && decodeMessage(found.data, seq, vault).event.id === copy.eventId(seq)
  } finally {
    await copy.close()
  }
}
