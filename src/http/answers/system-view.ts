import { arch, platform } from 'node:os'
import { createStartTime } from '../../base/time/start-time.ts'
import type { TlsStatus } from '../../base/keys/tls-files.ts'
import { countByState } from '../../schema/plugin/plugin.ts'
import type { Certificate, System } from '../../schema/api/system.ts'
import type { MetricsSettings } from '../metrics/metrics.ts'

export interface SystemViewSettings extends Omit<MetricsSettings, 'logLines' | 'refusals' | 'cutOffs'> {
  url: () => string
  hostId: () => string | null
  /** Null: this host works by itself. */
  fleetName: string | null
}

/** `GET /api/system`. Its uptime counts from the call. */
export function createSystemView(settings: SystemViewSettings): () => Promise<System> {
  const { lifecycle, bus, clock, tls, hostVersion, processUsage } = settings
  const startTime = createStartTime(clock)
  const start = clock.monotonic()
  return async () => {
    const plugins = countByState(await lifecycle.list())
    const usage = processUsage.read()
    const isEmbedded = bus?.kind !== 'external'
    return {
      host: {
        id: settings.hostId(),
        startedAt: new Date(startTime()).toISOString(),
        uptime: Math.round(clock.monotonic() - start) / 1_000,
        safeMode: lifecycle.safeMode,
      },
      fleet: settings.fleetName === null ? null : { name: settings.fleetName },
      versions: {
        host: hostVersion,
        node: process.versions.node,
        v8: process.versions.v8,
        platform: platform(),
        architecture: arch(),
      },
      process: {
        memory: usage.resident,
        heap: usage.heapUsed,
        cpuSeconds: usage.cpuUser + usage.cpuSystem,
        eventLoopDelay: usage.delay.p99,
      },
      broker: {
        kind: isEmbedded ? 'embedded' : 'external',
        url: bus?.url ?? '',
        connected: bus?.connected ?? false,
        clients: isEmbedded ? (bus?.clients ?? 0) : null,
        messages: { ...(bus?.messages ?? { received: 0, published: 0 }) },
      },
      http: { url: settings.url(), ...settings.clients() },
      certificate: tls === undefined ? null : certificateOf(tls.status),
      journal: { seq: lifecycle.lastSeq },
      plugins,
      isolates: settings.isolates(),
      health: settings.readiness(),
    }
  }
}

function certificateOf({ from, until, loadedAt, fault }: TlsStatus): Certificate {
  const text = (time: number): string => new Date(time).toISOString()
  return { validFrom: text(from), validUntil: text(until), loadedAt: text(loadedAt), fault }
}
