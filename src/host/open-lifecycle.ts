import type { Scope } from '../base/scope.ts'
import { portOf } from '../base/network/url-port.ts'
import type { Bus } from '../bus/bus.ts'
import {
  createLifecycle,
  type LifecycleSettings,
  type RunningLifecycle,
} from '../lifecycle/create-lifecycle.ts'
import { createHostEnvironment } from '../lifecycle/permissions/plugin-environment.ts'
import { createJournaledSigningTimes } from '../lifecycle/trust/signing-times.ts'
import { createOutside } from '../outside/outside.ts'
import { createRepositoryCatalog } from '../repository/catalog.ts'
import type { SigningTimes } from '../repository/repository.ts'
import { defaultLimits, withChosen } from '../sandbox/limits.ts'
import type { Sandbox } from '../sandbox/isolate.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import type { OpenFleet } from './fleet/open-fleet.ts'
import type { HostOptions } from './host.ts'
import type { HostParts } from './host-parts.ts'
import type { OpenState } from './open-state.ts'

/** What plugins live in: their lifecycle, with all that it works through. */
export interface OpenLifecycle {
  lifecycle: RunningLifecycle
  sandbox: Sandbox
  /** Ports of this host that plugins may not connect to; each listener adds its own. */
  ownPorts: Set<number>
}

export interface OpenLifecycleSettings extends HostParts {
  options: Pick<HostOptions, 'settings' | 'programDirectory' | 'hostVersion' | 'environment'> &
    Pick<HostOptions, 'limits' | 'restartPolicy' | 'discovery'>
  /** Started. */
  bus: Bus
  /** Absent: the host works by itself. */
  fleet: OpenFleet | undefined
  state: Pick<OpenState, 'pluginDirectory' | 'manifests' | 'journal' | 'snapshots' | 'shared'>
  /** How the host is reached from outside, without a slash at the end; asked for when it is. */
  address(): string
  /** Of a host that only answers for its fleet. */
  silent?: Pick<LifecycleSettings, 'ownership' | 'announcedAs'>
  /** Default: as the journal has them. */
  times?: SigningTimes
}

/** Loads nothing yet. What `scope` gets closes the parts. */
export function openLifecycle(parts: OpenLifecycleSettings, scope: Scope): OpenLifecycle {
  const { options, directory, files, clock, logger, ring, bus, fleet, state, silent } = parts
  const { settings, programDirectory, hostVersion } = options
  const { pluginDirectory, manifests, journal, snapshots, shared } = state
  const member = shared?.member
  /** Known only now, where any free port was asked for. */
  const ownPorts = new Set(bus.kind === 'embedded' ? [portOf(bus.url)] : [])

  const closed = fleet?.closedListeners(() => journal.state)
  scope.add(() => closed?.close())
  const outside = createOutside({
    clock,
    hostVersion,
    environment: options.environment,
    rewrite: settings.httpRewrite,
    ownPorts: closed === undefined ? () => ownPorts : () => [...ownPorts, ...closed.ports()],
    ownAddresses: closed?.addresses,
    mayAct: member && member.ownership.owns,
    discovery: options.discovery,
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
    ...{ directory, programDirectory, files, clock, logger, hostVersion },
    times: parts.times ?? createJournaledSigningTimes({ journal, snapshots, logger }),
  })
  scope.add(() => repositories.close())
  const lifecycle = createLifecycle({
    ...{ directory, files, journal, snapshots, pluginDirectory, manifests, ring, repositories },
    ...{ sandbox, bus, outside, clock, logger, hostVersion },
    root: settings.mqttRoot,
    discoveryPrefix: settings.discoveryPrefix,
    hookBase: parts.address,
    environment: createHostEnvironment(options.environment, settings.pluginEnvironment),
    ...(member === undefined || fleet === undefined
      ? silent
      : {
          ownership: member.ownership,
          sharedFiles: member.sharedFiles,
          stores: member.stores,
          announcedAs: fleet.name,
        }),
    ...(options.restartPolicy === undefined ? {} : { restartPolicy: options.restartPolicy }),
  })
  return { lifecycle, sandbox, ownPorts }
}
