import { resolve } from 'node:path'
import { createClientAddresses } from '../base/network/client-address.ts'
import { type Clock, systemClock } from '../base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../base/files/file-system.ts'
import { createGuessLimit } from '../base/network/guess-limit.ts'
import type { Logger } from '../base/log/log.ts'
import { countLines } from '../base/log/log-counter.ts'
import { takeRightsOfOthers } from '../base/files/private-files.ts'
import { createScope } from '../base/scope.ts'
import { startStorageFault } from '../base/files/storage-fault.ts'
import { trimEndOf } from '../base/text/trim-end.ts'
import { portOf } from '../base/network/url-port.ts'
import { createWarner } from '../base/log/warning.ts'
import { createHomeAssistant, type HomeAssistant } from '../home-assistant/home-assistant.ts'
import { createHttp } from '../http/http.ts'
import { createStartGate } from '../http/requests/start-gate.ts'
import type { RunningLifecycle } from '../lifecycle/create-lifecycle.ts'
import type { RestartPolicy } from '../lifecycle/loading/restart-policy.ts'
import { storesFolderIn } from '../lifecycle/stores/key-value-file.ts'
import { openLifecyclePublisher } from '../mqtt-api/lifecycle-publisher.ts'
import { createMqttCommands } from '../mqtt-api/mqtt-commands.ts'
import { createMqttProjection } from '../mqtt-api/mqtt-projection.ts'
import type { FindersSettings } from '../outside/outside.ts'
import type { SandboxLimits } from '../sandbox/limits.ts'
import { countByState } from '../schema/plugin/plugin.ts'
import type { Settings } from '../settings/settings.ts'
import { openConfiguredFleet } from './configured-fleet.ts'
import { createBus, createFleetBus } from './create-bus.ts'
import { createFormerNames } from './former-names.ts'
import {
  chooseHostId,
  createEndFacts,
  noEndFacts,
  recordReady,
  recordStart,
  starterRepository,
} from './host-facts.ts'
import { refuseWhenInterrupted } from './interrupted-start.ts'
import { namesOf, openNamesRegister } from './names-file.ts'
import { openLifecycle } from './open-lifecycle.ts'
import { openState } from './open-state.ts'
import { createDiskFullRetry, writeOverEdits } from './disk-full-retry.ts'
import { createReadiness, watchDirectory } from './readiness.ts'
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
  /** As in `createOutside`. */
  discovery?: FindersSettings | undefined
  /** As in `openJournal`. */
  segmentBytes?: number
  /** Ends the start early: plugins that are being loaded are ended, and `StartInterrupted` is thrown. */
  interrupt?: AbortSignal
}

export interface Host {
  /** Base URL of the HTTP API. */
  readonly http: string
  /** URL of the MQTT broker. */
  readonly mqtt: string
  readonly id: string
  readonly lifecycle: RunningLifecycle
  /** Settles when the host has to end, in a fleet that it cannot work in any more: with why. Never settles without one. */
  readonly failed: Promise<Error>
  /** Unloads every plugin, writes the final snapshot, and leaves nothing behind. Idempotent. */
  close(): Promise<void>
}

/** Builds the host from its parts and starts them; ready when it resolves. */
export async function createHost(options: HostOptions): Promise<Host> {
  const { settings, programDirectory, hostVersion, interrupt } = options
  const logger = countLines(options.logger)
  const clock = options.clock ?? systemClock
  const system = options.files ?? systemFileSystem
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
  const ring = await readSecretKeys(settings, system)
  const tls = await openTls(settings, { files: system, clock, logger })
  warnOfUnprotectedListeners(settings, token, logger)

  const scope = createScope()
  scope.add(() => tls?.close())
  let failed = false
  let isRefusedByDisk = false
  try {
    const { files, isMoved, release } = await takeDirectory(directory, system, logger)
    let started = false
    scope.add(() => release({ withFile: !started }))

    const { environment } = options
    const fleet = await openConfiguredFleet(settings, {
      ...{ directory, ring, files, clock, logger, interrupt },
      ...{ programDirectory, hostVersion, environment, access: { ...access, tls } },
    })
    scope.add(() => fleet?.close())
    const state = await openState(
      { ...options, directory, files, clock, logger, ring, fleet, hostId: settings.hostId },
      scope,
    )
    const { manifests, journal, snapshots, file, shared } = state
    const member = shared?.member

    const sharedBus =
      member &&
      (await createFleetBus(settings, { host: member.id, session: member.busSession, logger, clock }))
    const bus =
      sharedBus ?? (await createBus(settings, { ...access, tls, disk: { directory, files }, logger, clock }))
    scope.add(() => bus.close())
    // Another broker needs no port, and nothing may be told there before it is written down under which names.
    const startsLate = member === undefined && bus.kind === 'external'
    if (!startsLate) await asStartError(bus.start())
    const { lifecycle, sandbox, ownPorts } = openLifecycle(
      {
        ...{ options, directory, files, clock, logger, ring, bus, fleet, state },
        address: () => trimEndOf(settings.publicUrl ?? http.url, '/'),
      },
      scope,
    )

    const gate = createStartGate()
    const readiness = createReadiness(bus, journal, snapshots, lifecycle, () => member?.isLive ?? true)
    scope.add(watchDirectory(isMoved, readiness, clock))
    const face = shared?.member.face({
      lifecycle,
      journal: shared.journal,
      watches: () => http.listeners > 0,
    })
    const answering = face?.lifecycle ?? lifecycle
    readiness.addReason('starting')
    const http = createHttp({
      lifecycle: answering,
      fleet: face?.fleet,
      requests: face?.requests,
      fleetName: fleet?.name,
      bus,
      logger,
      clock,
      bind: settings.httpBind,
      port: fleet?.port ?? settings.httpPort,
      ...access,
      publicUrl: settings.publicUrl,
      tls,
      hostVersion,
      gate,
      readiness: readiness.now,
      isolates: () => sandbox.usage(),
      logLines: logger.counts,
      hostId: () => member?.id ?? journal.live.host.context.id,
    })
    scope.add(() => http.close())
    await asStartError(http.start())
    ownPorts.add(portOf(http.url))

    // Every listener is open and the directory is ours: from here on things are written down.
    started = true
    await takeRightsOfOthers(files, logger, directory, (name) => name.startsWith('.host.'))
    await takeRightsOfOthers(files, logger, storesFolderIn(directory), () => true)
    const id = member?.id ?? chooseHostId(settings, { journal, file })
    const endedInOrder = journal.live.host.value === 'stopped'
    // Hosts of a fleet come and go, and what one has told is another one's to clear.
    const register =
      member === undefined
        ? await openNamesRegister({ directory, files, logger, present: namesOf(settings, id) })
        : undefined
    if (startsLate) await asStartError(bus.start())
    const retryOnDiskFull = createDiskFullRetry({
      clock,
      logger,
      readiness,
      interrupt,
      // Before the manifests are read, nobody would know which settings are secret.
      answerQuestions: (refusal) => void lifecycle.readManifests().then(() => gate.openForQuestions(refusal)),
      http: http.url,
    })
    const responsibility = member === undefined ? {} : { responsibility: member.responsibility }
    // In a fleet one host tells of the events of all.
    const publisher =
      member === undefined
        ? await openLifecyclePublisher({ lifecycle, bus, root, directory, files, clock, logger })
        : undefined
    const projection = createMqttProjection({ lifecycle, bus, root, logger, publisher, ...responsibility })
    scope.add(() => projection.close())
    projection.follow()
    // In a fleet the host's own life is told by its session.
    const end = member === undefined ? createEndFacts({ journal, lifecycle, logger }) : noEndFacts
    // Safe mode is for plugins that keep the host from its start: what the disk refuses before any is loaded is none of theirs.
    scope.add(() => (interrupt?.aborted === true || isRefusedByDisk ? end.interrupted() : undefined))
    const recording = { files, journal, lifecycle, retryOnDiskFull, logger }
    if (member === undefined) await recordStart({ id, settings, hostVersion, file, ...recording })
    // Where the system refuses one its memory V8 ends the process: only a start that is written down counts, and leads to safe mode.
    if (lifecycle.safeMode === null) await lifecycle.startWorkers()
    const isEdited = await lifecycle.prepare(file, retryOnDiskFull)
    snapshots.start()
    if (isEdited) await writeOverEdits(snapshots, retryOnDiskFull)
    else await snapshots.flush()
    await projection.start()
    scope.add(async () => {
      readiness.addReason('stopping')
      await end.stopping(failed)
      await member?.stop()
      await lifecycle.stop()
      await end.stopped()
      await snapshots.flush()
    })
    const stopLoading = (): void => void end.stopping(failed).then(lifecycle.stopLoading)
    interrupt?.addEventListener('abort', stopLoading)
    scope.add(() => interrupt?.removeEventListener('abort', stopLoading))
    refuseWhenInterrupted(interrupt)
    // A plugin that takes its time to load can be switched off meanwhile.
    const commands = createMqttCommands({ lifecycle: answering, bus, root, logger, clock, ...responsibility })
    scope.add(() => commands.close())
    await commands.start()
    gate.open()
    await lifecycle.start()
    refuseWhenInterrupted(interrupt)
    let homeAssistant: HomeAssistant | undefined
    const formerNames =
      register &&
      createFormerNames({
        ...{ register, bus, lifecycle, clock, logger, endedInOrder },
        isAnnounced: (topic) => homeAssistant?.announces(topic) ?? false,
      })
    scope.add(() => formerNames?.close())
    await formerNames?.clear()
    if (settings.discoveryPrefix !== '') {
      homeAssistant = createHomeAssistant({
        ...{ lifecycle, bus, root, prefix: settings.discoveryPrefix, hostVersion, clock, logger },
        hostId: fleet?.name ?? id,
        ...responsibility,
      })
      scope.add(() => homeAssistant?.close())
      await homeAssistant.start()
    }
    await formerNames?.settle()
    refuseWhenInterrupted(interrupt)
    if (shared === undefined || sharedBus === undefined) {
      await recordReady(recording)
    } else {
      const address = trimEndOf(settings.publicUrl ?? http.url, '/')
      await asStartError(
        shared.member.start({
          ...{ lifecycle, journal: shared.journal, manifests, bus: sharedBus, projection, root },
          ...{ address, hostVersion, starterRepository, homeAssistant: () => homeAssistant },
        }),
      )
    }
    await snapshots.flush()
    readiness.removeReason('starting')
    logger.info('ready', {
      http: http.url,
      mqtt: bus.url,
      plugins: countByState(lifecycle.list()),
      ...(lifecycle.safeMode === null ? {} : { safeMode: lifecycle.safeMode.reason }),
      startupMs: Math.round(clock.monotonic() - startedAt),
    })

    return {
      ...{ http: http.url, mqtt: bus.url, id, lifecycle },
      failed: fleet?.failed ?? new Promise<Error>(() => undefined),
      close: () => scope.close(),
    }
  } catch (error) {
    failed = interrupt?.aborted !== true
    // A disk that refuses is for the person who starts the host to mend.
    const reason = startStorageFault(error)
    isRefusedByDisk = reason !== undefined
    await scope.close().catch((closing: unknown) => logger.error('Closing failed', { error: closing }))
    if (reason === undefined || error instanceof StartError) throw error
    throw new StartError(`The host cannot start in ${directory}: ${reason}`, { cause: error })
  }
}
