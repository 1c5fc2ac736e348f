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

  async function connection(context: TestContext) {
    const opened = await connectTo(context, url())
    return opened
  }

  return {
    url,
    connection,
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
      const directory = options.directory ?? (await temporaryDirectory(context))
      const opened = await connection(context)
      const journal = await openFleetJournal({
        connection: opened,
        fleet,
        files: systemFileSystem,
        clock: systemClock,
        logger: silentLogger,
        ...options,
        directory,
      })
      context.after(() => journal.close())
      return journal
    },
  }
}
