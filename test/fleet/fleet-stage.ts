import { after, before, type TestContext } from 'node:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/time/clock.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import {
  type FleetJournal,
  type FleetJournalSettings,
  openFleetJournal,
} from '../../src/fleet/journal/fleet-journal.ts'
import { connectTo, type NatsServer, startNatsServer } from '../helpers/nats-server.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** A host's copy of the journal of a fleet, until the test ends: in a directory of its own, unless one is given. */
export async function openJournal(
  context: TestContext,
  servers: readonly string[],
  options: { fleet: string } & Partial<FleetJournalSettings>,
) {
  const connection = await connectTo(context, ...servers)
  const journal = await openFleetJournal({
    ...{ connection, files: systemFileSystem, clock: systemClock, logger: silentLogger },
    ...options,
    directory: options.directory ?? (await temporaryDirectory(context)),
  })
  context.after(() => journal.close())
  return { connection, journal }
}

/** A store for the tests of a file, and fleets in it that know nothing of each other. */

export function createFleetStage() {
  let server: NatsServer | undefined
  let folder = ''
  let fleets = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lupine-fleet-'))
    server = await startNatsServer(folder)
  })
  after(async () => {
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const url = (): string => server?.url ?? ''

  return {
    url,
    connection: (context: TestContext) => connectTo(context, url()),
    /** A name that no other test has. */
    newFleet(): string {
      fleets += 1
      return `fleet-${fleets}`
    },
    /** A host: its copy in a directory of its own, unless one is given. */
    async openHost(
      context: TestContext,
      fleet: string,
      options: Partial<FleetJournalSettings> = {},
    ): Promise<FleetJournal> {
      return (await openJournal(context, [url()], { ...options, fleet })).journal
    },
  }
}
