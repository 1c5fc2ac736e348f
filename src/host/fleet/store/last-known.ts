import type { Clock } from '../../../base/time/clock.ts'
import { Problem } from '../../../base/problem.ts'
import { createScope, type Scope } from '../../../base/scope.ts'
import { portOf } from '../../../base/network/url-port.ts'
import { createHttp, type Http, type HttpSettings } from '../../../http/http.ts'
import { createStartGate } from '../../../http/requests/start-gate.ts'
import { pluginIn } from '../../../journal/fold/evolve.ts'
import { type Journal, openJournal } from '../../../journal/journal.ts'
import { readSnapshot } from '../../../journal/snapshot/snapshot.ts'
import type { SnapshotWriter } from '../../../journal/snapshot/snapshot-writer.ts'
import type { RunningLifecycle } from '../../../lifecycle/create-lifecycle.ts'
import type { Fleet } from '../../../lifecycle/facade.ts'
import { createManifests } from '../../../lifecycle/manifests/manifests.ts'
import type { Whereabouts } from '../../../lifecycle/ownership.ts'
import { createJournalVault } from '../../../lifecycle/secrets/journal-vault.ts'
import { createJournaledSigningTimes } from '../../../lifecycle/trust/signing-times.ts'
import { createPluginDirectory } from '../../../repository/directories/plugin-directory.ts'
import { createFleetBus } from '../../create-bus.ts'
import type { HostOptions } from '../../host.ts'
import type { HostParts } from '../../host-parts.ts'
import { openLifecycle } from '../../open-lifecycle.ts'
import { asStartError } from '../../start-conditions.ts'

export interface LastKnownSettings
  extends HostParts, Pick<HostOptions, 'settings' | 'programDirectory' | 'hostVersion' | 'environment'> {
  /** Who may ask, and how. */
  access: Pick<HttpSettings, 'token' | 'guesses' | 'addresses' | 'tls'>
}

/** What a start waits for: the fleet's store, or room on the disk for the copy of its journal. */
export interface Hindrance {
  code: 'fleet_unreachable' | 'storage_full'
  /** What is wrong, in one or more sentences. */
  reason: string
}

/** How this host has started meanwhile, in the middle of a sentence. */
const circumstances: Readonly<Record<Hindrance['code'], string>> = {
  fleet_unreachable: "without the fleet's store",
  storage_full: "without room for its copy of the fleet's journal",
}

/** What this host knew when it was last there, for whoever asks while its start waits. */
export interface LastKnown {
  /** Port of the HTTP API. */
  readonly port: number
  /** Leaves everything as it was found. */
  close(): Promise<void>
}

/**
 * Answers questions from this host's copy of the journal; everything else gets the refusal. Nothing is run, sent or written.
 * Rejects with `StartError` when the address cannot be listened at.
 */
export async function showLastKnown(
  parts: LastKnownSettings,
  { code, reason }: Hindrance,
): Promise<LastKnown> {
  const { settings, logger } = parts
  const scope = createScope()
  try {
    const started = `has just started ${circumstances[code]}`
    const refusal = new Problem(
      code,
      `This host ${started}, so nothing can be changed. ${reason} Ask another host, or try again.`,
    )
    const { lifecycle, id } = await openLastKnown(parts, { refusal, started }, scope, () => http.url)
    const gate = createStartGate()
    const http: Http = createHttp({
      ...parts.access,
      ...{ lifecycle, gate, logger, clock: parts.clock, hostVersion: parts.hostVersion },
      fleet: hostsUnknown(refusal),
      fleetName: settings.fleet?.fleet,
      bind: settings.httpBind,
      port: settings.httpPort,
      publicUrl: settings.publicUrl,
      readiness: () => ({ ready: false, reasons: [`the start waits. ${reason}`] }),
      hostId: () => id,
    })
    scope.add(() => http.close())
    await asStartError(http.start())
    gate.openForQuestions(refusal)
    logger.info('Questions are answered meanwhile with what this host knew when it was last there', {
      http: http.url,
    })
    return { port: portOf(http.url), close: () => scope.close() }
  } catch (error) {
    await scope.close()
    throw error
  }
}

/** A lifecycle that only answers. */
async function openLastKnown(
  parts: LastKnownSettings,
  { refusal, started }: { refusal: Problem; started: string },
  scope: Scope,
  hookBase: () => string,
): Promise<{ lifecycle: RunningLifecycle; id: string | null }> {
  const { settings, directory, ring, files, clock, logger } = parts
  const pluginDirectory = createPluginDirectory({ directory, files, logger })
  const manifests = createManifests(pluginDirectory, logger)
  const { vault, follow } = createJournalVault(ring, manifests)
  const file = await readSnapshot(files, directory, vault)
  const copy = await openJournal({ directory, files, clock, logger, vault, isCopy: true })
  follow(copy)
  scope.add(() => copy.close())
  const journal = readOnly(copy, refusal)
  const id = settings.hostId ?? file?.host?.id ?? null
  // Never started: whoever has no session of the fleet is silent.
  const bus = await createFleetBus(settings, {
    ...{ host: id ?? '', logger, clock },
    session: { clientId: () => undefined, permit: () => () => false },
  })
  scope.add(() => bus.close())
  const { lifecycle } = openLifecycle(
    {
      ...{ options: parts, directory, files, clock, logger, ring, bus, fleet: undefined, address: hookBase },
      state: { pluginDirectory, manifests, journal, snapshots: unwritten, shared: undefined },
      silent: {
        ownership: { owns: () => false, whereabouts: createWhereaboutsBefore(journal, id, started, clock) },
        announcedAs: settings.fleet?.fleet ?? '',
      },
      times: {
        ...createJournaledSigningTimes({ journal, snapshots: unwritten, logger }),
        remember: () => Promise.resolve(),
      },
    },
    scope,
  )
  await lifecycle.readManifests()
  return { lifecycle, id }
}

function readOnly(journal: Journal, refusal: Problem): Journal {
  return Object.create(journal, { append: { value: () => Promise.reject(refusal) } }) as Journal
}

const unwritten: SnapshotWriter = {
  start: () => undefined,
  flush: () => Promise.resolve(),
  write: () => Promise.resolve(),
  include: (command) => command(),
  failure: undefined,
  idle: () => Promise.resolve(),
  close: () => Promise.resolve(),
}

/** Who had a plugin. What this host had it does not run now, whoever else may. */
function createWhereaboutsBefore(
  journal: Journal,
  id: string | null,
  started: string,
  clock: Clock,
): (plugin: string) => Whereabouts {
  const at = new Date(clock.now()).toISOString()
  const message = `This host ran it when it was last there, and ${started}; it comes back by itself as soon as a host can take it.`
  const here: Whereabouts = {
    ...{ host: null, epoch: null, stale: true },
    absence: { code: 'lease_lost', message, at },
  }
  const known = new Map<string, Whereabouts>()
  return (plugin) => {
    const found = known.get(plugin)
    if (found !== undefined) return found
    const { host = null, epoch = null } = pluginIn(journal.live, plugin).context
    const where = host === null || host === id ? here : { host, epoch, absence: null, stale: true }
    known.set(plugin, where)
    return where
  }
}

/** Nobody knows which hosts live. */
function hostsUnknown(refusal: Problem): Fleet {
  const refuse = (): Promise<never> => Promise.reject(refusal)
  return { hosts: () => [], drain: refuse, endDrain: refuse, place: refuse }
}
