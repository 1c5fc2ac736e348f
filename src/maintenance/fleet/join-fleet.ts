import { openJournalStream } from '../../fleet/journal/journal-stream.ts'
import { decodeMessage } from '../../fleet/journal/stream-message.ts'
import { retrying } from '../../fleet/store/retrying.ts'
import { type MembershipSettings, openFleetStores, withLockedDirectory } from './membership-command.ts'
import { importJournal, filesChangedByHand } from './import-journal.ts'
import { importPlugins } from './import-plugins.ts'
import { importValues } from './import-values.ts'
import { refuseFleetMember } from './refuse-fleet-member.ts'
import { readSingleHost, type SingleHost } from './read-host.ts'

/** What became of the data directory of a single host that has joined a fleet. It is as it was. */
export interface JoinResult {
  /**
   * `first`: its journal is that of the fleet now, with its numbers. `later`: its plugins came as facts of the fleet.
   * `already`: the fleet goes on from this very journal.
   */
  as: 'first' | 'later' | 'already'
  /** Plugins that the fleet has by now. */
  plugins: string[]
  /** What it has not taken, and why; it stays in the directory. */
  refused: { what: string; reason: string }[]
  /** Plugins that came without files, which are fetched from their repositories when they are loaded. */
  withoutFiles: string[]
}

/**
 * Takes a host that is stopped into a fleet: the first one with all its journal, each further one with plugins,
 * settings and values. Files and values come before the facts that name them, so what is interrupted is done again, and
 * nothing is there twice. Throws one sentence; the directory is not changed.
 */
export async function joinFleet(settings: MembershipSettings): Promise<JoinResult> {
  return withLockedDirectory(settings.directory, async () => {
    await refuseFleetMember(settings)
    const host = await readSingleHost(settings)
    try {
      return await join(settings, host)
    } finally {
      await host.journal.close()
    }
  })
}

async function join(settings: MembershipSettings, host: SingleHost): Promise<JoinResult> {
  const { connection, fleet, clock } = settings
  const stores = await openFleetStores(settings)
  const relation = await relationTo(settings, host)
  const joined: JoinResult = {
    as: relation,
    plugins: host.plugins.map(({ id }) => id),
    refused: host.leftOut.map(({ file, reason }) => ({ what: file, reason })),
    withoutFiles: host.plugins.filter(({ present }) => present === undefined).map(({ id }) => id),
  }
  if (relation === 'already') return joined
  if (relation === 'later') {
    await stores.values.requireSharedKey()
    const { imported, refused } = await importPlugins(settings, host, stores)
    joined.plugins = imported
    joined.withoutFiles = joined.withoutFiles.filter((id) => imported.includes(id))
    joined.refused.push(...refused)
    return joined
  }
  await stores.values.shareKey()
  for (const { contents } of host.plugins) await stores.files.put(contents)
  for (const [plugin, entries] of host.values) {
    await retrying(clock, () => importValues(stores.values, plugin, entries))
  }
  await importJournal(await openJournalStream(connection, fleet), host, settings)
  return joined
}

/** Whether the fleet is empty, or begins with what the directory has; or is another one. */
async function relationTo(
  { connection, fleet }: MembershipSettings,
  host: SingleHost,
): Promise<JoinResult['as']> {
  const { journal, vault } = host
  const stream = await openJournalStream(connection, fleet)
  const eventAt = async (seq: number) => {
    const found = await stream.get({ seq })
    return found === undefined ? undefined : decodeMessage(found.data, seq, vault).event
  }
  const { seq } = journal.state
  const common = Math.min(stream.last, seq)
  if (stream.last === 0) return 'first'
  if (common === 0 || (await eventAt(common))?.id !== journal.eventId(common)) return 'later'
  // The end may be missing: it was interrupted, or the host has run by itself again.
  const added = filesChangedByHand(host)
  if (stream.last >= seq + added.length && added.length > 0) return 'already'
  for (let next = seq + 1; next <= stream.last; next += 1) {
    const event = await eventAt(next)
    if (event?.type !== 'PluginFilesRestored' || event.plugin !== added[next - seq - 1]?.plugin)
      return 'already'
  }
  return 'first'
}
