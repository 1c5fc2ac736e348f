import { createClientAddresses } from '../../src/base/network/client-address.ts'
import { createGuessLimit } from '../../src/base/network/guess-limit.ts'
import { createWarner } from '../../src/base/log/warning.ts'
import { createStartGate } from '../../src/http/requests/start-gate.ts'
import { systemClock } from '../../src/base/time/clock.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { createHttp, type Http, type HttpSettings } from '../../src/http/http.ts'
import type { LifecycleFacade } from '../../src/lifecycle/facade.ts'
import { defaultPluginLimits } from '../../src/schema/plugin/plugin-limits.ts'

/** A lifecycle of which only the members that a test is about do something. */
export function lifecycleWith(members: Partial<LifecycleFacade>): LifecycleFacade {
  const missing = (name: string) => (): never => {
    throw new Error(`The test does not expect ${name}`)
  }
  const base: LifecycleFacade = {
    resolveId: (text) => text,
    list: missing('list'),
    get: missing('get'),
    status: missing('status'),
    isIntact: missing('isIntact'),
    install: missing('install'),
    checkInstall: missing('checkInstall'),
    checkUpdate: missing('checkUpdate'),
    toggle: missing('toggle'),
    configure: missing('configure'),
    checkConfig: missing('checkConfig'),
    suggestions: missing('suggestions'),
    limit: missing('limit'),
    limits: defaultPluginLimits,
    reload: missing('reload'),
    update: missing('update'),
    rollback: missing('rollback'),
    versions: missing('versions'),
    safeMode: null,
    leaveSafeMode: missing('leaveSafeMode'),
    uninstall: missing('uninstall'),
    document: missing('document'),
    logs: missing('logs'),
    objects: missing('objects'),
    sensors: missing('sensors'),
    controls: missing('controls'),
    controlType: missing('controlType'),
    setControl: missing('setControl'),
    exposures: () => [],
    setExposed: missing('setExposed'),
    hooks: () => [],
    findHook: () => undefined,
    renewHookSecret: missing('renewHookSecret'),
    history: () => [],
    stateAt: missing('stateAt'),
    machineState: missing('machineState'),
    catalog: missing('catalog'),
    repositories: missing('repositories'),
    addRepository: missing('addRepository'),
    removeRepository: missing('removeRepository'),
    connections: () => [],
    refusals: () => [],
    traffic: () => [],
    recallRequest: () => undefined,
    subscribe: () => () => undefined,
    firstSeq: 1,
    lastSeq: 0,
  }
  // A spread would read `lastSeq` once and for all.
  return Object.defineProperties(base, Object.getOwnPropertyDescriptors(members))
}

/** The HTTP side alone, listening on a free port. */
export async function startHttp(
  members: Partial<LifecycleFacade>,
  settings: Partial<HttpSettings> = {},
): Promise<Http> {
  const { logger = silentLogger, clock = systemClock } = settings
  const gate = createStartGate()
  gate.open()
  const http = createHttp({
    lifecycle: lifecycleWith(members),
    ...{ logger, clock, gate },
    guesses: createGuessLimit({ clock, warn: createWarner(logger, clock) }),
    addresses: createClientAddresses([]),
    hostId: () => null,
    bind: '127.0.0.1',
    port: 0,
    token: undefined,
    hostVersion: '1.2.3',
    readiness: () => ({ ready: true, reasons: [] }),
    ...settings,
  })
  await http.start()
  return http
}
