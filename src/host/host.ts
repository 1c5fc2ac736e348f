import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { host as hostMachine } from '../../machines/host.ts'
import { pluginLifecycle } from '../../machines/plugin-lifecycle.ts'
import { createClientAddresses } from '../base/client-address.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type FileSystem, systemFileSystem } from '../base/file-system.ts'
import { createGuessLimit } from '../base/guess-limit.ts'
import type { Logger } from '../base/log.ts'
import { countLines } from '../base/log-counter.ts'
import { takeRightsOfOthers } from '../base/private-files.ts'
import { messageOf, Problem } from '../base/problem.ts'
import { createScope } from '../base/scope.ts'
import { storageFault } from '../base/storage-fault.ts'
import { createWarner } from '../base/warning.ts'
import { createEmbeddedBus } from '../bus/embedded-bus.ts'
import { createHttp } from '../http/http.ts'
import { createStartGate } from '../http/start-gate.ts'
import { openJournal } from '../journal/journal.ts'
import { readSnapshot, refuseDoubtfulEdits } from '../journal/snapshot.ts'
import { createSnapshotWriter } from '../journal/snapshot-writer.ts'
import { writtenSnapshot } from '../journal/written-snapshot.ts'
import { createLifecycle, type RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import { createHomeAssistant } from '../home-assistant/home-assistant.ts'
import { requireKeysOfStores, storesFolderIn } from '../lifecycle/stores/key-value-file.ts'
import { createManifests } from '../lifecycle/manifests/manifests.ts'
import { createHostEnvironment } from '../lifecycle/permissions/plugin-environment.ts'
import { createMqttCommands } from '../mqtt-api/mqtt-commands.ts'
import { createMqttProjection } from '../mqtt-api/mqtt-projection.ts'
import type { RestartPolicy } from '../lifecycle/loading/restart-policy.ts'
import { createJournaledSigningTimes } from '../lifecycle/trust/signing-times.ts'
import { decideSafeMode } from '../lifecycle/supervision/safe-mode.ts'
import type { Patiently } from '../lifecycle/supervision/startup.ts'
import { createSecretVault } from '../lifecycle/secrets/secret-vault.ts'
import { createOutside } from '../outside/outside.ts'
import { createRepositoryCatalog } from '../repository/catalog.ts'
import { createPluginDirectory } from '../repository/plugin-directory.ts'
import { defaultLimits, type SandboxLimits, withChosen } from '../sandbox/limits.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import type { HostFile } from '../schema/host-file.ts'
import type { Settings } from '../settings/settings.ts'
import { whenThereIsRoom } from './room-on-disk.ts'
import {
  asStartError,
  openTls,
  readSecretKeys,
  readToken,
  refuseUnprotectedListeners,
  StartError,
  takeDirectory,
  warnOfUnprotectedListeners,
} from './start-conditions.ts'

export interface HostOptions {
  settings: Settings
  logger: Logger
  /** Folder of the program, where the starter repository is. */
  programDirectory: string
  hostVersion: string
  /** Variables that plugins' `env` fields may name. */
  environment: Readonly<Record<string, string | undefined>>
  clock?: Clock
  files?: FileSystem
  /** What plugins may take; what is left out is as `sandbox/limits.ts` says. */
  limits?: Partial<SandboxLimits>
  restartPolicy?: RestartPolicy
  /** As in `openJournal`. */
  segmentBytes?: number
  /** Ends the start early: plugins that are being loaded are ended, and `StartInterrupted` is thrown. */
  interrupt?: AbortSignal
}

/** The start was ended on request; all is closed in order. */
export class StartInterrupted extends Error {
  override readonly name = 'StartInterrupted'
}

export interface Host {
  /** Base URL of the HTTP API. */
  readonly http: string
  /** URL of the MQTT broker. */
  readonly mqtt: string
  readonly id: string
  readonly lifecycle: RunningLifecycle
  /** Unloads every plugin, writes the final snapshot, and leaves nothing behind. Idempotent. */
  close(): Promise<void>
}

/** The repository that comes with the program; relative to the data directory or else to the program. */
const starterRepository = { name: 'starter', url: './repository' }

/** Builds the host from its parts and starts them; ready when it resolves. */
export async function createHost(options: HostOptions): Promise<Host> {
  const { settings, programDirectory, hostVersion } = options
  const logger = countLines(options.logger)
  const clock = options.clock ?? systemClock
  const files = options.files ?? systemFileSystem
  const startedAt = clock.monotonic()
  const directory = resolve(settings.dataDirectory)
  const root = settings.mqttRoot
  const token = await readToken(settings)
  refuseUnprotectedListeners(settings, token)
  const access = {
    token,
    guesses: createGuessLimit({ clock, warn: createWarner(logger, clock) }),
    addresses: createClientAddresses(settings.trustedProxies),
  }
  const ring = await readSecretKeys(settings, files)
  const tls = await openTls(settings, { files, clock, logger })
  warnOfUnprotectedListeners(settings, token, logger)

  const scope = createScope()
  scope.add(() => tls?.close())
  let failed = false
  let announceEnd: (() => Promise<void>) | undefined
  const interrupted = (): boolean => options.interrupt?.aborted === true
  const refuseWhenInterrupted = (): void => {
    if (interrupted()) throw new StartInterrupted('The start was ended.')
  }
  try {
    const lock = await takeDirectory(directory)
    let started = false
    scope.add(() => lock.release({ withFile: !started }))

    const pluginDirectory = createPluginDirectory({ directory, files, logger })
    const manifests = createManifests(pluginDirectory, logger)
    const vault = createSecretVault(ring, manifests.knownFields)
    const file = await asStartError(readSnapshot(files, directory, vault))
    const acknowledged = file?.journal?.seq ?? 0
    const journal = await asStartError(
      openJournal({
        directory,
        files,
        clock,
        logger,
        acknowledged,
        vault,
        segmentBytes: options.segmentBytes,
      }),
    )
    scope.add(() => journal.close())
    await asStartError(requireKeysOfStores(files, directory, ring))
    if (journal.first > 1) {
      logger.info('Older events have been moved away; the journal here begins later', {
        first: journal.first,
      })
    }
    if (file !== undefined && journal.state.seq > 0) {
      try {
        refuseDoubtfulEdits(directory, writtenSnapshot(directory, journal, acknowledged), file)
      } catch (error) {
        throw new StartError(messageOf(error), { cause: error })
      }
    } else if (acknowledged > 0) {
      logger.warn('There is no journal: the history begins anew, with what .host.json says', {
        events: acknowledged,
      })
    }
    const snapshots = createSnapshotWriter({
      directory,
      files,
      clock,
      logger,
      kept: file,
      state: () => journal.state,
      eventId: (seq) => journal.eventId(seq),
      vault,
    })
    scope.add(() => snapshots.close())

    const bus =
      settings.mqttUrl === undefined
        ? createEmbeddedBus({
            bind: settings.mqttBind,
            port: settings.mqttPort,
            ...access,
            tls,
            root,
            disk: { directory, files },
            logger,
            clock,
            limits: {
              connections: settings.mqttConnections,
              connectionsPerAddress: settings.mqttConnectionsPerAddress,
            },
          })
        : (await import('../bus/external-bus.ts')).createExternalBus({
            ...{ url: settings.mqttUrl, root, logger, clock },
          })
    scope.add(() => bus.close())
    await asStartError(bus.start())
    /** Known only now, where any free port was asked for. */
    const ownPorts = new Set(bus.kind === 'embedded' ? [portOf(bus.url)] : [])

    const outside = createOutside({
      clock,
      hostVersion,
      environment: options.environment,
      rewrite: settings.httpRewrite,
      ownPorts: () => ownPorts,
    })
    scope.add(() => outside.close())
    const sandbox = createSandbox({
      clock,
      logger,
      isolation: settings.isolation,
      limits: withChosen({ ...defaultLimits, ...options.limits }, settings.pluginLimits),
    })
    scope.add(() => sandbox.close())
    const repositories = createRepositoryCatalog({
      directory,
      programDirectory,
      files,
      clock,
      logger,
      hostVersion,
      times: createJournaledSigningTimes({ journal, snapshots, logger }),
    })
    scope.add(() => repositories.close())
    const lifecycle = createLifecycle({
      directory,
      files,
      journal,
      snapshots,
      pluginDirectory,
      manifests,
      ring,
      repositories,
      sandbox,
      bus,
      outside,
      root,
      discoveryPrefix: settings.discoveryPrefix,
      clock,
      logger,
      hostVersion,
      environment: createHostEnvironment(options.environment, settings.pluginEnvironment),
      ...(options.restartPolicy === undefined ? {} : { restartPolicy: options.restartPolicy }),
    })

    const gate = createStartGate()
    const reasons = new Set(['starting'])
    const http = createHttp({
      lifecycle,
      bus,
      logger,
      clock,
      bind: settings.httpBind,
      port: settings.httpPort,
      ...access,
      publicUrl: settings.publicUrl,
      tls,
      hostVersion,
      gate,
      readiness: () => {
        const all = [...reasons]
        if (!bus.connected) all.push('the broker is not connected')
        const { memoryOnly } = bus
        if (memoryOnly?.lasting === false)
          all.push(`what the broker keeps cannot be written: ${memoryOnly.reason}`)
        if (snapshots.failure !== undefined) all.push(`.host.json cannot be written: ${snapshots.failure}`)
        const ready = all.length === 0
        // A host that is what it can be on this platform is in order.
        if (memoryOnly?.lasting === true)
          all.push(`what the broker keeps is lost at a restart: ${memoryOnly.reason}`)
        return { ready, reasons: all }
      },
      isolates: () => sandbox.usage(),
      logLines: logger.counts,
      hostId: () => journal.state.host.context.id,
      machines: { [pluginLifecycle.id]: pluginLifecycle, [hostMachine.id]: hostMachine },
    })
    scope.add(() => http.close())
    await asStartError(http.start())
    ownPorts.add(portOf(http.url))

    // Every listener is open and the directory is ours: from here on things are written down.
    started = true
    await takeRightsOfOthers(files, logger, directory, (name) => name.startsWith('.host.'))
    await takeRightsOfOthers(files, logger, storesFolderIn(directory), () => true)
    /** A full disk is no reason to go away: what is known can be asked for, and the start goes on when there is room. */
    const patiently: Patiently = async (task) => {
      let reason: string | undefined
      const done = await whenThereIsRoom(task, {
        clock,
        interrupt: options.interrupt,
        full(error) {
          if (reason !== undefined) return
          reason = storageFault(error instanceof Problem ? error.cause : error) ?? messageOf(error)
          reasons.add(reason)
          const refusal = new Problem('storage_full', reason)
          // Before, nobody would know which settings are secret.
          void lifecycle.readManifests().then(() => gate.openForQuestions(refusal))
          logger.error('The start waits for room on the disk; questions are answered meanwhile', {
            http: http.url,
            error: reason,
          })
        },
      }).catch((error: unknown) => {
        refuseWhenInterrupted()
        throw error
      })
      if (reason !== undefined) {
        reasons.delete(reason)
        logger.info('There is room on the disk again')
      }
      return done
    }
    const projection = createMqttProjection({ lifecycle, bus, root, logger })
    scope.add(() => projection.close())
    projection.follow()
    const seqBefore = journal.state.seq
    const id = settings.hostId ?? file?.host?.id ?? journal.state.host.context.id ?? newHostId()
    const { unfinishedStarts } = journal.state.host.context
    await patiently(() =>
      lifecycle.record([{ type: 'HostStarted', plugin: null, data: { host: id, hostVersion } }], 'startup'),
    )
    const safe = decideSafeMode(settings.safeMode, unfinishedStarts)
    if (safe !== undefined) {
      const data = { reason: safe, unfinishedStarts }
      await patiently(() =>
        lifecycle.record([{ type: 'HostSafeModeEntered', plugin: null, data }], 'startup'),
      )
      logger.warn('Safe mode: no plugin is loaded, but everything can be changed', {
        reason: lifecycle.safeMode?.reason,
      })
    }
    if (isFirstStart(seqBefore, file)) {
      await patiently(() =>
        lifecycle.record([{ type: 'RepositoryAdded', plugin: null, data: starterRepository }], 'startup'),
      )
    }
    await lifecycle.prepare(file, patiently)
    await snapshots.flush()
    await projection.start()
    scope.add(async () => {
      reasons.add('stopping')
      await announceEnd?.()
      await lifecycle.stop()
      await recordQuietly(() =>
        lifecycle.record([{ type: 'HostStopped', plugin: null, data: {} }], 'shutdown'),
      )
      await snapshots.flush()
    })
    let stoppingSaid: Promise<void> | undefined
    announceEnd = () =>
      (stoppingSaid ??= recordQuietly(() => {
        const data = failed ? { failed: true } : {}
        return lifecycle.record([{ type: 'HostStopping', plugin: null, data }], 'shutdown')
      }))
    const stopLoading = (): void => void announceEnd?.().then(lifecycle.stopLoading)
    options.interrupt?.addEventListener('abort', stopLoading)
    scope.add(() => options.interrupt?.removeEventListener('abort', stopLoading))
    refuseWhenInterrupted()
    // A plugin that takes its time to load can be switched off meanwhile.
    const commands = createMqttCommands({ lifecycle, bus, root, logger })
    scope.add(() => commands.close())
    await commands.start()
    gate.open()
    await lifecycle.start()
    refuseWhenInterrupted()
    if (settings.discoveryPrefix !== '') {
      const homeAssistant = createHomeAssistant({
        lifecycle,
        bus,
        root,
        prefix: settings.discoveryPrefix,
        hostId: id,
        hostVersion,
        logger,
      })
      scope.add(() => homeAssistant.close())
      await homeAssistant.start()
    }
    refuseWhenInterrupted()
    await patiently(() => lifecycle.record([{ type: 'HostReady', plugin: null, data: {} }], 'startup'))
    await snapshots.flush()
    reasons.delete('starting')
    logger.info('ready', {
      http: http.url,
      mqtt: bus.url,
      plugins: countByState(lifecycle),
      ...(lifecycle.safeMode === null ? {} : { safeMode: lifecycle.safeMode.reason }),
      startupMs: Math.round(clock.monotonic() - startedAt),
    })

    return { http: http.url, mqtt: bus.url, id, lifecycle, close: () => scope.close() }

    async function recordQuietly(record: () => Promise<unknown>): Promise<void> {
      try {
        await record()
      } catch (error) {
        logger.error('The end of the host could not be written down', { error: messageOf(error) })
      }
    }
  } catch (error) {
    failed = !interrupted()
    // A disk that refuses is for the person who starts the host to mend.
    const reason =
      error instanceof Problem && error.code === 'storage_full' ? error.message : storageFault(error)
    await scope
      .close()
      .catch((closing: unknown) => logger.error('Closing failed', { error: messageOf(closing) }))
    if (reason === undefined || error instanceof StartError) throw error
    throw new StartError(`The host cannot start in ${directory}: ${reason}`, { cause: error })
  }
}

/** No file and no history: a data directory that nobody has used yet. */
function isFirstStart(seq: number, file: HostFile | undefined): boolean {
  return seq === 0 && file?.repositories === undefined
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

function newHostId(): string {
  return randomBytes(6).toString('hex')
}

function countByState(lifecycle: RunningLifecycle): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { state } of lifecycle.list()) counts[state] = (counts[state] ?? 0) + 1
  return counts
}
