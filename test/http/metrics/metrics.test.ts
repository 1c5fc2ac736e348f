import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'
import { createCounter, createHistogram } from '../../../src/http/metrics/counters.ts'
import { exposition } from '../../../src/http/metrics/exposition.ts'
import { hostVersion, startTestHost, type TestHost } from '../../helpers/test-host.ts'
import { readEvents } from '../clients.ts'
import { startHttp } from '../http-over.ts'

let host: TestHost
before(async () => {
  host = await startTestHost()
  for (const id of ['demo', 'faulty']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    await host.request('POST', `/api/plugins/${id}/toggle`)
  }
})
after(() => host.close())

/** Every sample by its name and labels. */
async function scrape(url = host.url): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`)
  const lines = (await answer.text())
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

test('the exposition escapes help and labels, and writes each family once', () => {
  const text = exposition([
    { name: 'a_total', help: 'Back\\slash\nand line', type: 'counter', samples: [{ value: 1e21 }] },
    { name: 'b', help: 'None yet', type: 'gauge', samples: [] },
    {
      name: 'c',
      help: 'Odd',
      type: 'gauge',
      samples: [{ labels: { x: 'a"b\\c\nd', y: '' }, value: Infinity }],
    },
  ])
  assert.equal(
    text,
    [
      '# HELP a_total Back\\\\slash\\nand line',
      '# TYPE a_total counter',
      'a_total 1e+21',
      '# HELP b None yet',
      '# TYPE b gauge',
      '# HELP c Odd',
      '# TYPE c gauge',
      'c{x="a\\"b\\\\c\\nd",y=""} +Inf',
      '',
    ].join('\n'),
  )
})

test('a histogram counts upwards from bucket to bucket, ends included', () => {
  const histogram = createHistogram([1, 2])
  for (const value of [0.5, 1, 1.5, 9]) histogram.observe({ route: 'r' }, value)
  assert.deepEqual(
    histogram.samples().map(({ suffix, labels, value }) => [suffix, labels?.le, value]),
    [
      ['_bucket', '1', 2],
      ['_bucket', '2', 3],
      ['_bucket', '+Inf', 4],
      ['_sum', undefined, 12],
      ['_count', undefined, 4],
    ],
  )
  const counter = createCounter()
  counter.add({ a: 'x' })
  counter.add({ a: 'y' }, 3)
  counter.add({ a: 'x' })
  assert.deepEqual(
    counter.samples().map(({ value }) => value),
    [2, 3],
  )
})

test('plugins are counted by state, with what they hold and what became of them', async () => {
  const figures = await scrape()
  const of = (name: string): number | undefined => figures.get(name)
  assert.deepEqual(
    [
      of('lupine_plugins{state="running"}'),
      of('lupine_plugins{state="failed"}'),
      of('lupine_plugins{state="installed"}'),
      of('lupine_plugin_resources{plugin="@fixtures/demo",resource="timers"}'),
      of('lupine_plugin_resources{plugin="@fixtures/demo",resource="controls"}'),
      of('lupine_plugin_resources{plugin="@fixtures/faulty",resource="timers"}'),
      of('lupine_plugin_loads_total{plugin="@fixtures/demo",outcome="loaded"}'),
      of('lupine_plugin_loads_total{plugin="@fixtures/faulty",outcome="failed"}'),
      of('lupine_journal_seq'),
      of('lupine_ready'),
      of('lupine_broker_connected'),
      of(`lupine_info{version="${hostVersion}",node="${process.version}"}`),
    ],
    [1, 1, 0, 1, 1, 0, 1, 1, host.host.lifecycle.lastSeq, 1, 1, 1],
  )
  assert.ok((of('lupine_plugin_log_lines_total{plugin="@fixtures/faulty",level="error"}') ?? 0) >= 1)
  assert.ok((of('lupine_log_lines_total{level="error"}') ?? 0) >= 1)
  assert.ok((of('lupine_journal_events_total{type="PluginInstalled"}') ?? 0) === 2)
})

test('a plugin that has never crashed has a counter at 0, so that the first crash is an increase to who watches', async () => {
  const figures = await scrape()
  assert.deepEqual(
    ['demo', 'faulty'].map((id) => figures.get(`lupine_plugin_crashes_total{plugin="@fixtures/${id}"}`)),
    [0, 0],
  )
})

test('a worker has its memory and its load at each plugin in it, and counts once; what is not known yet is left out', async (context) => {
  const memoryLimit = 64_000_000
  const worker = { worker: 7, isolation: 'shared', memory: 5_000_000, memoryLimit, load: 0.25 } as const
  const http = await startHttp(
    { list: () => Promise.resolve([]) },
    {
      isolates: () => [
        { ...worker, plugin: '@a/one' },
        { ...worker, plugin: '@a/two' },
        { plugin: '@a/new', worker: 8, isolation: 'dedicated', memory: null, memoryLimit, load: null },
        { plugin: '@a/idle', worker: 9, isolation: 'dedicated', memory: 3_000_000, memoryLimit, load: 0 },
      ],
    },
  )
  context.after(() => http.close())
  const figures = [...(await scrape(http.url))].filter(([name]) =>
    /^lupine_(plugin_memory_bytes|plugin_load_ratio|workers)/.test(name),
  )
  assert.deepEqual(Object.fromEntries(figures), {
    'lupine_plugin_memory_bytes{plugin="@a/one"}': 5_000_000,
    'lupine_plugin_memory_bytes{plugin="@a/two"}': 5_000_000,
    'lupine_plugin_memory_bytes{plugin="@a/idle"}': 3_000_000,
    'lupine_plugin_load_ratio{plugin="@a/one"}': 0.25,
    'lupine_plugin_load_ratio{plugin="@a/two"}': 0.25,
    'lupine_plugin_load_ratio{plugin="@a/idle"}': 0,
    'lupine_workers{isolation="dedicated"}': 2,
    'lupine_workers{isolation="shared"}': 1,
  })
})

test('the process is there under the names that dashboards look for', async () => {
  const figures = await scrape()
  for (const name of [
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_heap_size_total_bytes',
    'nodejs_external_memory_bytes',
    'lupine_event_loop_active_seconds_total',
    'lupine_event_loop_idle_seconds_total',
  ]) {
    assert.ok((figures.get(name) ?? 0) > 0, name)
  }
  for (const part of ['mean', 'p50', 'p99', 'max'])
    assert.ok((figures.get(`nodejs_eventloop_lag_${part}_seconds`) ?? -1) >= 0, part)
})

test('events, messages and clients are counted as they come', async () => {
  const before = await scrape()
  const stream = await readEvents(`${host.url}/api/events`)
  await stream.next()
  const client = await connectAsync(host.mqttUrl)
  await client.subscribeAsync('host/plugins/@fixtures/demo/events/#')
  const heard = new Promise((resolve) => client.once('message', resolve))
  await client.publishAsync('some/topic', 'x', { qos: 1 })
  await host.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 4 } })
  await heard
  const inspector = new WebSocket(`${host.url.replace('http', 'ws')}/api/inspect`)
  await once(inspector, 'open')
  const during = await scrape()
  inspector.terminate()
  await client.endAsync()
  await stream.close()
  const grown = (name: string): number => (during.get(name) ?? 0) - (before.get(name) ?? 0)
  assert.deepEqual(
    [
      grown('lupine_plugin_events_total{plugin="@fixtures/demo"}'),
      grown('lupine_broker_messages_total{direction="received"}'),
      grown('lupine_broker_clients'),
      grown('lupine_event_stream_clients'),
      grown('lupine_inspector_clients'),
    ],
    [1, 1, 1, 1, 1],
  )
  assert.ok(grown('lupine_broker_messages_total{direction="published"}') >= 1)
})

test('requests are counted by the address as it was declared, never as it was called', async () => {
  const before = await scrape()
  await host.request('GET', '/api/plugins/@fixtures/demo')
  await host.request('GET', '/api/plugins/demo')
  await host.request('GET', '/api/plugins/no-such-plugin')
  await host.request('GET', '/nothing/here')
  const now = await scrape()
  const grown = (name: string): number => (now.get(name) ?? 0) - (before.get(name) ?? 0)
  const series = (status: number, route = '/api/plugins/:id'): string =>
    `lupine_http_requests_total{method="GET",route="${route}",status="${status}"}`
  assert.deepEqual([grown(series(200)), grown(series(404)), grown(series(404, 'none'))], [2, 1, 1])
  const duration = 'lupine_http_request_duration_seconds'
  assert.equal(grown(`${duration}_count{method="GET",route="/api/plugins/:id"}`), 3)
  assert.equal(grown(`${duration}_bucket{method="GET",route="/api/plugins/:id",le="+Inf"}`), 3)
  assert.ok(![...now.keys()].some((name) => name.includes('no-such-plugin')))
})

test('the format is the one that Prometheus reads, and every sample has a family', async () => {
  const { body, headers } = await host.request('GET', '/metrics')
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const families = new Set<string>()
  for (const line of String(body).trimEnd().split('\n')) {
    const [, declared] = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line) ?? []
    if (declared !== undefined) {
      assert.ok(!families.has(declared), declared)
      families.add(declared)
    }
    if (line.startsWith('#')) continue
    const [, name = ''] =
      /^([a-z_0-9]+)(?:\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)*\})? [-+\d.eInf]+$/.exec(line) ?? []
    assert.ok(families.has(name) || families.has(name.replace(/_(bucket|sum|count)$/, '')), line)
  }
})
