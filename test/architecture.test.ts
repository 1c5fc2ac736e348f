import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'

/** The rules of the rooms, read off the import lines. */

const root = join(import.meta.dirname, '..')

interface Import {
  file: string
  from: string
  /** The import is of types alone and leaves no trace when the program runs. */
  typeOnly: boolean
  /** It is loaded when somebody asks for it. */
  late: boolean
}

const sources = ['src', 'machines'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name)),
)

const imports: Import[] = sources.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8')
  const loaded = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm),
  ].map(([, typeOnly, from = '']) => ({ file, from, typeOnly: typeOnly !== undefined, late: false }))
  const loadedLate = [...text.matchAll(/\bawait import\('([^']+)'\)/g)].map(([, from = '']) => ({
    ...{ file, from, typeOnly: false, late: true },
  }))
  return [...loaded, ...loadedLate]
})

/** The room of a file: `src/schema/manifest/topic-rights.ts` → schema; the worker is a room of its own inside the sandbox. */
function roomOf(file: string): string {
  const [top = '', second = '', third = ''] = file.split('/')
  if (top === 'machines') return 'machines'
  if (second === 'sandbox' && third === 'worker') return 'worker'
  return second.endsWith('.ts') ? second.slice(0, -3) : second
}

/** What each room may import of the others: only of those that stand above it here, so there is no way round. */
const allowed: Record<string, string[]> = {
  base: [],
  schema: ['base'],
  machines: ['schema'],
  journal: ['base', 'schema', 'machines'],
  fleet: ['base', 'schema', 'journal'],
  repository: ['base', 'schema'],
  sandbox: ['base', 'schema'],
  worker: ['base', 'schema', 'sandbox'],
  bus: ['base', 'schema'],
  outside: ['base', 'schema'],
  lifecycle: ['base', 'schema', 'machines', 'journal', 'repository', 'sandbox', 'bus', 'outside'],
  // How the lifecycle is reached from outside.
  http: ['base', 'schema', 'machines', 'bus', 'lifecycle'],
  'mqtt-api': ['base', 'schema', 'bus', 'lifecycle'],
  'home-assistant': ['base', 'schema', 'bus', 'lifecycle'],
  web: ['base', 'schema'],
  settings: ['base', 'schema'],
  host: [
    ...['base', 'schema', 'machines', 'journal', 'repository', 'sandbox', 'bus', 'outside'],
    ...['lifecycle', 'http', 'mqtt-api', 'home-assistant', 'settings', 'fleet'],
  ],
  // Commands that are run while the host is stopped.
  maintenance: ['base', 'schema', 'journal', 'fleet', 'repository', 'lifecycle'],
  main: ['base', 'host', 'journal', 'maintenance', 'settings'],
  launch: ['main'],
}

/** What the rooms inside a room may import of each other, in the same way; a file beside them is named with `.ts`. */
const allowedInside: Record<string, Record<string, string[]>> = {
  base: {
    'get-or-insert.ts': [],
    text: ['get-or-insert.ts'],
    time: [],
    'mutex.ts': ['time'],
    'lazily.ts': [],
    'lazy-import.ts': [],
    'evict-oldest.ts': [],
    memory: ['lazily.ts'],
    'problem.ts': ['text'],
    log: ['text', 'time', 'lazily.ts', 'evict-oldest.ts', 'get-or-insert.ts', 'problem.ts'],
    files: ['time', 'problem.ts', 'log'],
    network: ['lazily.ts', 'evict-oldest.ts', 'time', 'log'],
    keys: ['text', 'time', 'get-or-insert.ts', 'problem.ts', 'log', 'files'],
  },
  schema: {
    parsing: [],
    names: ['parsing'],
    manifest: ['parsing', 'names'],
    outside: ['parsing'],
    plugin: ['parsing', 'manifest', 'outside'],
    journal: ['parsing', 'names', 'manifest', 'plugin'],
    files: ['parsing'],
    worker: ['parsing', 'manifest', 'outside', 'plugin'],
    api: ['parsing', 'names', 'manifest', 'outside', 'plugin', 'journal'],
  },
  journal: {
    'vault.ts': [],
    lock: [],
    fold: ['vault.ts'],
    lines: ['vault.ts', 'fold'],
    segments: ['vault.ts', 'fold', 'lines'],
    'upkeep.ts': ['vault.ts', 'fold', 'lines', 'segments'],
    'append-queue.ts': ['fold', 'segments'],
    'slow-writes.ts': [],
    'refused-writes.ts': [],
    'journal.ts': [
      ...['vault.ts', 'fold', 'lines', 'segments', 'upkeep.ts', 'append-queue.ts'],
      ...['slow-writes.ts', 'refused-writes.ts'],
    ],
    snapshot: ['vault.ts', 'fold', 'segments', 'journal.ts'],
    repair: ['vault.ts', 'fold', 'lines', 'segments', 'snapshot'],
  },
  bus: {
    'bus.ts': [],
    'broker-limits.ts': [],
    'problems.ts': [],
    'inbox.ts': ['bus.ts'],
    'publish-pacer.ts': ['bus.ts'],
    'topic-matcher.ts': [],
    'retained-inspection.ts': ['bus.ts'],
    listeners: ['broker-limits.ts'],
    store: ['broker-limits.ts', 'topic-matcher.ts'],
    embedded: [
      'bus.ts',
      'broker-limits.ts',
      'problems.ts',
      'inbox.ts',
      'topic-matcher.ts',
      'listeners',
      'store',
    ],
    external: ['bus.ts', 'broker-limits.ts', 'problems.ts', 'inbox.ts', 'topic-matcher.ts'],
  },
  repository: {
    'repository.ts': [],
    'limits.ts': [],
    'versions.ts': [],
    'require-host.ts': ['versions.ts'],
    sources: ['limits.ts'],
    index: ['repository.ts', 'versions.ts', 'sources'],
    directories: ['repository.ts', 'limits.ts', 'sources'],
    'catalog.ts': [
      ...['repository.ts', 'limits.ts', 'versions.ts', 'require-host.ts', 'sources', 'index', 'directories'],
    ],
  },
  outside: {
    'networks.ts': [],
    'network-error.ts': [],
    'shared-lookup.ts': [],
    'own-listeners.ts': ['networks.ts', 'shared-lookup.ts'],
    'cuttable-requests.ts': [],
    discovery: ['networks.ts', 'network-error.ts'],
    serial: [],
    http: ['network-error.ts', 'own-listeners.ts'],
    modbus: ['network-error.ts', 'own-listeners.ts', 'serial'],
    connections: ['networks.ts', 'network-error.ts', 'own-listeners.ts', 'discovery', 'serial', 'http'],
    'outside.ts': [
      ...['own-listeners.ts', 'cuttable-requests.ts', 'discovery', 'serial', 'http', 'modbus', 'connections'],
    ],
  },
  sandbox: {
    'isolate.ts': [],
    'limits.ts': [],
    flow: ['limits.ts'],
    calls: ['isolate.ts'],
    operations: ['isolate.ts', 'limits.ts', 'flow'],
    threads: ['isolate.ts', 'limits.ts', 'flow', 'calls'],
    isolates: ['isolate.ts', 'limits.ts', 'flow', 'calls', 'operations', 'threads'],
    'sandbox.ts': ['isolate.ts', 'limits.ts', 'flow', 'calls', 'threads', 'isolates'],
  },
  worker: {
    'heap.ts': [],
    budgets: [],
    lua: ['heap.ts', 'budgets'],
    'plugin-log.ts': ['lua'],
    limits: ['lua'],
    scheduling: ['budgets', 'lua'],
    calls: ['lua'],
    questions: ['lua', 'calls'],
    peers: ['lua', 'plugin-log.ts', 'limits', 'calls', 'questions'],
    'lua-entry.ts': ['budgets', 'lua', 'plugin-log.ts', 'scheduling', 'peers'],
    'plugin-context.ts': ['budgets', 'lua', 'plugin-log.ts', 'limits', 'peers', 'lua-entry.ts'],
    formats: ['budgets', 'lua', 'plugin-context.ts'],
    'plugin-api': [
      ...['budgets', 'lua', 'plugin-log.ts', 'limits', 'scheduling', 'peers', 'plugin-context.ts', 'formats'],
    ],
    'inbox.ts': [],
    'outbox.ts': ['lua'],
    'deliveries.ts': ['plugin-log.ts', 'plugin-api'],
    'plugin-start.ts': ['budgets', 'lua', 'scheduling', 'plugin-api'],
    'isolate-messages.ts': [
      ...[
        'lua',
        'limits',
        'scheduling',
        'calls',
        'questions',
        'peers',
        'plugin-api',
        'inbox.ts',
        'outbox.ts',
      ],
    ],
    'isolate.ts': [
      ...['budgets', 'lua', 'plugin-log.ts', 'limits', 'scheduling', 'questions', 'peers', 'lua-entry.ts'],
      ...['plugin-context.ts', 'plugin-api', 'inbox.ts', 'outbox.ts', 'deliveries.ts', 'plugin-start.ts'],
      'isolate-messages.ts',
    ],
    'main.ts': ['budgets', 'heap.ts', 'lua', 'scheduling', 'questions', 'isolate.ts'],
  },
  lifecycle: {
    permissions: [],
    'lifecycle.ts': ['permissions'],
    'facade.ts': ['lifecycle.ts'],
    'ownership.ts': [],
    secrets: [],
    stores: [],
    manifests: ['permissions'],
    trust: [],
    triggers: [],
    running: ['lifecycle.ts', 'permissions', 'stores', 'triggers'],
    'context.ts': ['ownership.ts', 'permissions', 'stores', 'manifests', 'trust', 'running'],
    queries: ['lifecycle.ts', 'context.ts', 'ownership.ts', 'permissions', 'secrets', 'manifests', 'running'],
    sources: ['lifecycle.ts', 'context.ts', 'secrets', 'running'],
    loading: ['lifecycle.ts', 'context.ts', 'secrets', 'manifests', 'running', 'sources'],
    installing: [
      ...['lifecycle.ts', 'context.ts', 'ownership.ts', 'permissions', 'secrets', 'manifests', 'running'],
      ...['sources', 'loading'],
    ],
    supervision: ['lifecycle.ts', 'context.ts', 'manifests', 'running', 'sources', 'loading', 'installing'],
    commands: [
      ...['lifecycle.ts', 'context.ts', 'ownership.ts', 'secrets', 'manifests', 'running', 'queries'],
      ...['loading', 'installing', 'supervision'],
    ],
    'create-lifecycle.ts': [
      ...['lifecycle.ts', 'context.ts', 'ownership.ts', 'permissions', 'stores', 'manifests', 'trust'],
      ...['running', 'queries'],
      ...['loading', 'installing', 'supervision', 'commands'],
    ],
  },
  http: {
    requests: [],
    access: [],
    streams: [],
    metrics: [],
    'route.ts': ['requests'],
    hooks: ['requests', 'access'],
    answers: ['requests', 'metrics', 'route.ts', 'hooks'],
    inspect: ['streams', 'answers'],
    openapi: ['route.ts'],
    routes: ['requests', 'access', 'streams', 'metrics', 'route.ts', 'hooks', 'answers', 'openapi'],
    server: ['access', 'answers'],
    'app.ts': ['requests', 'access', 'metrics', 'route.ts', 'answers'],
    'http.ts': [
      ...['requests', 'access', 'streams', 'metrics', 'hooks', 'answers', 'inspect', 'routes'],
      ...['server', 'app.ts'],
    ],
  },
  'host/fleet': {
    'log-failure.ts': [],
    store: [],
    messages: [],
    placement: [],
    membership: ['log-failure.ts', 'store', 'placement'],
    commands: ['messages', 'placement', 'membership'],
    'coordinator.ts': ['log-failure.ts'],
    'file-collection.ts': ['log-failure.ts'],
    'open-fleet.ts': ['store', 'messages', 'membership', 'commands', 'coordinator.ts', 'file-collection.ts'],
  },
  web: {
    style: [],
    base: [],
    store: ['base'],
    parts: ['base', 'store'],
    plugin: ['base', 'store', 'parts'],
    machine: ['base', 'store', 'parts', 'plugin'],
    system: ['base', 'store', 'parts'],
    pages: ['base', 'store', 'parts', 'plugin', 'machine', 'system'],
    'main.tsx': ['style', 'base', 'store', 'parts', 'pages'],
  },
  'web/parts': {
    'breakable.tsx': [],
    'icon.tsx': [],
    'link.tsx': [],
    'state-chip.tsx': [],
    'dialog.tsx': ['breakable.tsx'],
    'fact.tsx': ['breakable.tsx'],
    'long-text.tsx': ['breakable.tsx'],
    'feedback.tsx': ['long-text.tsx', 'icon.tsx'],
    inputs: ['state-chip.tsx'],
    lists: ['breakable.tsx', 'icon.tsx', 'link.tsx', 'state-chip.tsx', 'inputs'],
    frame: ['breakable.tsx', 'icon.tsx', 'link.tsx'],
  },
}

/** The imports between files of this program. */
const inside = imports
  .filter(({ from }) => from.startsWith('.'))
  .map(({ file, from, typeOnly, late }) => ({
    file,
    typeOnly,
    late,
    target: relative(root, join(root, dirname(file), from)),
  }))
  .filter(({ target }) => target.startsWith('src') || target.startsWith('machines'))

test('imports between the rooms run one way', () => {
  assert.ok(imports.length > sources.length, 'the import lines were read')
  const offences = inside.filter(({ file, target }) => {
    const [here, there] = [roomOf(file), roomOf(target)]
    return here !== there && !allowed[here]?.includes(there)
  })
  assert.deepEqual(offences, [])
})

/** `src/sandbox/worker`, of the room `worker`. */
const folderOf = (room: string): string => (room === 'worker' ? 'src/sandbox/worker' : `src/${room}`)

for (const [room, rules] of Object.entries(allowedInside))
  test(`imports between the rooms inside the ${room} run one way`, () => {
    const folder = folderOf(room)
    const [ofTheHouse] = room.split('/')
    const isInside = (file: string): boolean => file.startsWith(`${folder}/`) && roomOf(file) === ofTheHouse
    const roomInside = (file: string): string => file.split('/')[folder.split('/').length] ?? ''
    const within = inside.filter(({ file, target }) => isInside(file) && isInside(target))
    assert.ok(within.length > 0, 'there are such imports')
    const offences = within.filter(({ file, target }) => {
      const [here, there] = [roomInside(file), roomInside(target)]
      return here !== there && !rules[here]?.includes(there)
    })
    assert.deepEqual(offences, [])
  })

test('no rule lets two rooms import each other, however long the way round', () => {
  const offences = [allowed, ...Object.values(allowedInside)].flatMap((rules) =>
    Object.entries(rules).flatMap(([room, others], index, all) => {
      const above = all.slice(0, index).map(([name]) => name)
      return others.filter((other) => !above.includes(other)).map((other) => ({ room, other }))
    }),
  )
  assert.deepEqual(offences, [])
})

test('no file loads itself by way of others', () => {
  const loads = inside.filter(({ typeOnly }) => !typeOnly)
  const known = new Set<string>()
  const circles: string[] = []
  function follow(file: string, way: readonly string[]): void {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (known.has(file)) return
    known.add(file)
    for (const { target } of loads.filter((one) => one.file === file)) follow(target, [...way, file])
  }
  for (const file of sources) follow(file, [])
  assert.deepEqual(circles, [])
})

test('a host without a fleet loads nothing of it', () => {
  const loaded = new Set<string>()
  function load(file: string): void {
    if (loaded.has(file)) return
    loaded.add(file)
    const loads = inside.filter((one) => one.file === file && !one.typeOnly && !one.late)
    for (const { target } of loads) load(target)
  }
  load(join('src', 'main.ts'))
  assert.ok(loaded.size > 100, 'the import lines were followed')
  const packages = imports
    .filter(({ file, typeOnly, late }) => loaded.has(file) && !typeOnly && !late)
    .map(({ from }) => from)
  assert.deepEqual(
    [...loaded, ...packages].filter((name) => name.startsWith('src/fleet/') || name.startsWith('@nats-io')),
    [],
  )
})

test('docs/architecture.md tells what each room is for', () => {
  const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
  const told = new Set([...page.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name.replace(/\/$/, '')))
  const paths: Record<string, string> = {
    machines: 'machines',
    worker: 'src/sandbox/worker',
    main: 'src/main.ts',
    launch: 'src/launch.ts',
  }
  const rooms = [
    ...Object.keys(allowed).map((room) => paths[room] ?? `src/${room}`),
    ...[
      'base',
      'schema',
      'journal',
      'repository',
      'bus',
      'outside',
      'lifecycle',
      'http',
      'host/fleet',
      'web',
    ].flatMap((room) => Object.keys(allowedInside[room] ?? {})),
  ].filter((room) => room !== 'lifecycle.ts')
  assert.deepEqual(
    rooms.filter((room) => !told.has(room)),
    [],
  )
  assert.deepEqual(
    [...told].filter((name) => !name.endsWith('/…') && !rooms.includes(name)),
    [],
  )
})

/** Rooms through which the outside reaches the lifecycle, and what they may know of it. */
const apis = ['http', 'mqtt-api', 'home-assistant']
const interfaces = ['src/lifecycle/lifecycle.ts', 'src/lifecycle/facade.ts']

test('what reaches the lifecycle from outside knows its interfaces alone', () => {
  const offences = inside.filter(
    ({ file, target }) =>
      apis.includes(roomOf(file)) && roomOf(target) === 'lifecycle' && !interfaces.includes(target),
  )
  assert.deepEqual(offences, [])
})

/** Packages that belong to one room, and the rooms that may use each of the others. */
const packageRooms: Record<string, string[]> = {
  aedes: ['bus'],
  mqtt: ['bus'],
  koa: ['http'],
  '@koa/router': ['http'],
  'koa-body': ['http'],
  fengari: ['worker'],
  semver: ['repository'],
  ws: ['http', 'bus', 'outside', 'fleet'],
  marked: ['http'],
  'sanitize-html': ['http'],
  sax: ['worker'],
  croner: ['lifecycle'],
  undici: ['outside'],
  serialport: ['outside'],
  '@nats-io/transport-node': ['fleet'],
  '@nats-io/jetstream': ['fleet'],
  'dns-packet': ['outside'],
  xstate: ['machines', 'journal', 'http'],
  pino: ['base'],
  'fs-native-extensions': ['journal'],
  preact: ['web'],
  '@preact/signals': ['web'],
  '@dagrejs/dagre': ['web'],
}

test('one dependency is used in one room', () => {
  const offences = imports.filter(({ file, from }) => {
    const name = from.startsWith('@') ? from.split('/').slice(0, 2).join('/') : (from.split('/')[0] ?? '')
    const rooms = packageRooms[name]
    return rooms !== undefined && !rooms.includes(roomOf(file))
  })
  assert.deepEqual(offences, [])
})

test('the worker side reaches no file, network or process', () => {
  const forbidden =
    /^(node:)?(fs|net|http|https|http2|tls|dgram|dns|child_process|cluster|os|process|vm|module|inspector)(\/|$)/
  const offences = imports.filter(({ file, from }) => roomOf(file) === 'worker' && forbidden.test(from))
  assert.deepEqual(offences, [])
})

test('of the sandbox the worker side uses types alone', () => {
  const offences = imports.filter(
    ({ file, from, typeOnly }) =>
      roomOf(file) === 'worker' &&
      from.startsWith('.') &&
      roomOf(normalize(join(dirname(file), from))) === 'sandbox' &&
      !typeOnly,
  )
  assert.deepEqual(offences, [])
})

test('only the start of the program and the log touch the process', () => {
  const offences = sources.filter((file) => {
    if (['src/launch.ts', 'src/main.ts', 'src/base/log/log.ts'].includes(file)) return false
    return /\bprocess\.(env|argv|exit|on|stdout|stderr|cwd)\b/.test(readFileSync(join(root, file), 'utf8'))
  })
  assert.deepEqual(offences, [])
})

test('every package that the program imports is explained in docs/dependencies.md', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const page = readFileSync(join(root, 'docs', 'dependencies.md'), 'utf8')
  const missing = Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !page.includes(`\`${name}\``),
  )
  assert.deepEqual(missing, [])
})
