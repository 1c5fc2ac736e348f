import type { Clock } from '../../base/time/clock.ts'
import { createStartTime } from '../../base/time/start-time.ts'
import type { LogLevel } from '../../base/log/log.ts'
import type { TlsFiles } from '../../base/keys/tls-files.ts'
import type { Bus } from '../../bus/bus.ts'
import type { LifecycleFacade } from '../../lifecycle/facade.ts'
import type { Announcement } from '../../lifecycle/lifecycle.ts'
import { type Plugin, pluginStates, type Resources } from '../../schema/plugin/plugin.ts'
import type { Health, IsolateUsage } from '../../schema/api/system.ts'
import type { ProcessUsage } from './process-usage.ts'
import { createCounter, createHistogram } from './counters.ts'
import { exposition, type Family, type Sample } from './exposition.ts'

/** Upper ends of the buckets for how long requests take, in seconds: from a look-up to an installation. */
const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export interface HandledRequest {
  method: string
  /** The address as it was declared; undefined when there is none like it. */
  route: string | undefined
  status: number
  /** Seconds; undefined for one that goes on, as a stream does. */
  duration: number | undefined
}

export interface Metrics {
  requestHandled(request: HandledRequest): void
  /** Everything, in the format of Prometheus. */
  text(): Promise<string>
  /** Stops counting. Idempotent. */
  close(): void
}

export interface MetricsSettings {
  lifecycle: LifecycleFacade
  bus: Bus | undefined
  clock: Clock
  tls?: TlsFiles | undefined
  hostVersion: string
  processUsage: ProcessUsage
  logLines: Readonly<Record<LogLevel, number>> | undefined
  isolates: () => IsolateUsage[]
  readiness: () => Health
  clients: () => { eventStreams: number; inspectors: number }
  /** Wrong tokens since the start, by where they came. */
  refusals: () => Readonly<Record<string, number>>
  /** How often an address was cut off for too many of them. */
  cutOffs: () => number
}

/** Counts from the call on; counters live as long as the host. */
export function createMetrics(settings: MetricsSettings): Metrics {
  const { lifecycle, bus, clock, tls, hostVersion, processUsage, logLines, isolates, readiness, clients } =
    settings
  const { refusals, cutOffs } = settings
  const startTime = createStartTime(clock)
  const requests = createCounter()
  const durations = createHistogram(durationBounds)
  const facts = createCounter()
  const loads = createCounter()
  const crashes = createCounter()
  /** By plugin; events may be many, so they are counted without labels. */
  const emitted = new Map<string, number>()
  const limitsReached = createCounter()
  /** The same for lines of their logs, and by level. */
  const pluginLines = new Map<string, Map<LogLevel, number>>()
  const stopListening = lifecycle.subscribe(count)

  function count(announcement: Announcement): void {
    if (announcement.kind === 'event')
      emitted.set(announcement.plugin, (emitted.get(announcement.plugin) ?? 0) + 1)
    else if (announcement.kind === 'log') {
      const { level } = announcement.line.value()
      const lines = pluginLines.get(announcement.plugin) ?? new Map<LogLevel, number>()
      pluginLines.set(announcement.plugin, lines.set(level, (lines.get(level) ?? 0) + 1))
    } else if (announcement.kind === 'lifecycle') {
      const { type, plugin } = announcement.event
      facts.add({ type })
      if (type === 'PluginLoaded') loads.add({ plugin, outcome: 'loaded' })
      else if (type === 'PluginLoadFailed') loads.add({ plugin, outcome: 'failed' })
      else if (type === 'PluginLimitReached')
        limitsReached.add({ plugin, limit: announcement.event.data.limit })
      else if (type === 'PluginCrashed') crashes.add({ plugin })
    }
  }

  async function families(): Promise<Family[]> {
    const plugins = await lifecycle.list()
    // Prometheus sees no increase in a counter that is there only with its first crash.
    for (const { id } of plugins) crashes.add({ plugin: id }, 0)
    const used = isolates()
    const { eventStreams, inspectors } = clients()
    return [
      ...processFamilies(processUsage, startTime()),
      gauge('lupine_info', 'The host that is running', [
        { labels: { version: hostVersion, node: process.version }, value: 1 },
      ]),
      gauge('lupine_ready', 'Whether the host does its work', [{ value: readiness().ready ? 1 : 0 }]),
      gauge('lupine_plugins', 'Plugins by state', byState(plugins)),
      gauge('lupine_plugin_resources', 'What each plugin holds', plugins.flatMap(resourceSamples)),
      gauge(
        'lupine_plugin_memory_bytes',
        'Heap and strings of the worker that runs a plugin',
        used.flatMap(({ plugin, memory }) =>
          memory === null ? [] : [{ labels: { plugin }, value: memory }],
        ),
      ),
      gauge(
        'lupine_plugin_load_ratio',
        'Share of the time in which the worker of a plugin was busy of late',
        used.flatMap(({ plugin, load }) => (load === null ? [] : [{ labels: { plugin }, value: load }])),
      ),
      gauge('lupine_workers', 'Worker threads that run plugins', workersByIsolation(used)),
      gauge(
        'lupine_plugin_limit',
        'What each plugin may take, in the units of GET /api/limits',
        plugins.flatMap(({ id, limits: { effective } }) =>
          Object.entries(effective).flatMap(([limit, value]) =>
            value === null ? [] : [{ labels: { plugin: id, limit }, value }],
          ),
        ),
      ),
      counter(
        'lupine_plugin_limits_reached_total',
        'Loads in which a plugin has met a limit',
        limitsReached.samples(),
      ),
      counter('lupine_plugin_loads_total', 'Times that a plugin was loaded', loads.samples()),
      counter('lupine_plugin_crashes_total', 'Times that a plugin ended by itself', crashes.samples()),
      counter(
        'lupine_plugin_refusals_total',
        'Times that a plugin was refused what its manifest does not list',
        lifecycle
          .refusals()
          .map(({ plugin, permission, count }) => ({ labels: { plugin, permission }, value: count })),
      ),
      counter(
        'lupine_plugin_connection_bytes_total',
        'Bytes that the connections of a plugin have carried',
        lifecycle.traffic().flatMap(({ plugin, received, sent }) => [
          { labels: { plugin, direction: 'received' }, value: received },
          { labels: { plugin, direction: 'sent' }, value: sent },
        ]),
      ),
      counter(
        'lupine_plugin_events_total',
        'Events that plugins have emitted',
        [...emitted].map(([plugin, value]) => ({ labels: { plugin }, value })),
      ),
      counter(
        'lupine_plugin_log_lines_total',
        'Lines that plugins have logged',
        [...pluginLines].flatMap(([plugin, lines]) =>
          [...lines].map(([level, value]) => ({ labels: { plugin, level }, value })),
        ),
      ),
      counter(
        'lupine_log_lines_total',
        'Lines given to the log, also those below its level',
        Object.entries(logLines ?? {}).map(([level, value]) => ({ labels: { level }, value })),
      ),
      gauge('lupine_journal_seq', 'Number of the last event of the journal', [{ value: lifecycle.lastSeq }]),
      counter(
        'lupine_journal_events_total',
        'Events written to the journal since the start',
        facts.samples(),
      ),
      ...(tls === undefined ? [] : certificateFamilies(tls)),
      ...(bus === undefined ? [] : brokerFamilies(bus)),
      counter('lupine_http_requests_total', 'Requests that were answered', requests.samples()),
      {
        name: 'lupine_http_request_duration_seconds',
        help: 'From the head of a request to its answer; without streams',
        type: 'histogram',
        samples: durations.samples(),
      },
      counter(
        'lupine_wrong_tokens_total',
        'Wrong tokens in requests, logins and MQTT connections',
        Object.entries(refusals()).map(([via, value]) => ({ labels: { via }, value })),
      ),
      counter('lupine_cut_off_addresses_total', 'Addresses cut off for a while: too many wrong tokens', [
        { value: cutOffs() },
      ]),
      gauge('lupine_event_stream_clients', 'Clients of the event stream', [{ value: eventStreams }]),
      gauge('lupine_inspector_clients', 'Clients of the inspector', [{ value: inspectors }]),
    ]
  }

  return {
    requestHandled({ method, route = 'none', status, duration }) {
      requests.add({ method, route, status: String(status) })
      if (duration !== undefined) durations.observe({ method, route }, duration)
    },
    text: async () => exposition(await families()),
    close: stopListening,
  }
}

function workersByIsolation(used: readonly IsolateUsage[]): Sample[] {
  return (['dedicated', 'shared'] as const).map((isolation) => {
    const workers = used.filter((isolate) => isolate.isolation === isolation).map(({ worker }) => worker)
    return { labels: { isolation }, value: new Set(workers).size }
  })
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'counter', samples }
}

/** Under the names that dashboards for Node programs look for. */
function processFamilies(processUsage: ProcessUsage, startedAt: number): Family[] {
  const usage = processUsage.read()
  const { mean, median, p99, longest } = usage.delay
  const one = (value: number): Sample[] => [{ value }]
  return [
    counter('process_cpu_user_seconds_total', 'Time in the program, of all threads', one(usage.cpuUser)),
    counter('process_cpu_system_seconds_total', 'Time in the system, of all threads', one(usage.cpuSystem)),
    gauge('process_resident_memory_bytes', 'Memory of the whole process', one(usage.resident)),
    gauge('process_start_time_seconds', 'Start of the host since the epoch', one(startedAt / 1_000)),
    gauge('nodejs_heap_size_used_bytes', "The host's own heap in use", one(usage.heapUsed)),
    gauge('nodejs_heap_size_total_bytes', "The host's own heap", one(usage.heapTotal)),
    gauge('nodejs_external_memory_bytes', 'What the host keeps outside its heap', one(usage.outsideHeap)),
    counter(
      'lupine_event_loop_active_seconds_total',
      "Time in which the host's thread worked",
      one(usage.active),
    ),
    counter(
      'lupine_event_loop_idle_seconds_total',
      "Time in which the host's thread waited",
      one(usage.idle),
    ),
    gauge('nodejs_eventloop_lag_mean_seconds', 'Delay of the event loop of late', one(mean)),
    gauge('nodejs_eventloop_lag_p50_seconds', 'Delay of the event loop of late, median', one(median)),
    gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop of late, 99th percentile', one(p99)),
    gauge('nodejs_eventloop_lag_max_seconds', 'Delay of the event loop of late, longest', one(longest)),
  ]
}

function certificateFamilies({ status: { until, fault } }: TlsFiles): Family[] {
  return [
    gauge('lupine_certificate_end_seconds', 'End of the certificate in use, since the epoch', [
      { value: until / 1_000 },
    ]),
    gauge('lupine_certificate_fault', 'Whether the certificate files hold what cannot be used', [
      { value: fault === null ? 0 : 1 },
    ]),
  ]
}

function brokerFamilies({ connected, clients, messages: { received, published } }: Bus): Family[] {
  return [
    gauge('lupine_broker_connected', 'Whether messages can be sent', [{ value: connected ? 1 : 0 }]),
    gauge('lupine_broker_clients', 'Clients of the embedded broker', [{ value: clients }]),
    counter('lupine_broker_messages_total', 'Messages from clients, and of the host', [
      { labels: { direction: 'received' }, value: received },
      { labels: { direction: 'published' }, value: published },
    ]),
  ]
}

function byState(plugins: readonly Plugin[]): Sample[] {
  return pluginStates.map((state) => ({
    labels: { state },
    value: plugins.filter((plugin) => plugin.state === state).length,
  }))
}

function resourceSamples({ id, resources }: Plugin): Sample[] {
  return Object.entries<Resources[keyof Resources]>(resources).map(([resource, value]) => ({
    labels: { plugin: id, resource },
    value,
  }))
}
