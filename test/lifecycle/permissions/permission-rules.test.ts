import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard, type Guard } from '../../../src/lifecycle/permissions/guard.ts'
import { hostMatches } from '../../../src/lifecycle/permissions/host-pattern.ts'
import { createRefusals, loggedRefusalsLimit } from '../../../src/lifecycle/permissions/refusals.ts'
import { hostsIn, resolvePermissions } from '../../../src/lifecycle/permissions/resolve-permissions.ts'
import type { Permissions } from '../../../src/schema/manifest/permissions.ts'
import type { Config } from '../../../src/schema/plugin/plugin.ts'

const hosts: [pattern: string, host: string, port: number, matches: boolean][] = [
  ['example.com', 'example.com', 80, true],
  ['example.com', 'EXAMPLE.com.', 443, true],
  ['example.com', 'api.example.com', 80, false],
  ['example.com', 'example.com.evil.net', 80, false],
  ['example.com:8080', 'example.com', 8080, true],
  ['example.com:8080', 'example.com', 80, false],
  ['*.example.com', 'api.example.com', 80, true],
  ['*.example.com', 'a.b.example.com', 80, true],
  ['*.example.com', 'example.com', 80, false],
  ['*.example.com', 'evilexample.com', 80, false],
  ['*.example.com', 'a.example.com.evil.net', 80, false],
  ['evil.net', 'evil.net/x.example.com', 80, false],
  // A look-up takes what is in front of the NUL, and an address may have any zone.
  ['*.example.com', '127.0.0.1\0.example.com', 80, false],
  ['*.example.com', 'evil.net\0.example.com', 80, false],
  ['*.example.com', '::1%.example.com', 80, false],
  ['*.example.com', '[::ffff:127.0.0.1%.example.com]', 80, false],
  ['*.example.com', 'evil.net/.example.com', 80, false],
  ['*.example.com', 'bücher.example.com', 80, true],
  ['*.example.com', 'some_name.example.com.', 80, true],
  ['*', 'anything.net', 1, true],
  ['*:443', 'anything.net', 80, false],
  ['127.0.0.1', '0x7f.1', 80, true],
  ['127.0.0.1', '2130706433', 80, true],
  ['127.0.0.1', 'localhost', 80, false],
  ['::1', '[0:0:0:0:0:0:0:1]', 80, true],
  ['[::1]:502', '::1', 502, true],
  ['[::1]:502', '::1', 503, false],
  ['bücher.example', 'xn--bcher-kva.example', 80, true],
]

test('a pattern of hosts means what it says, however a host is written', () => {
  const wrong = hosts.filter(([pattern, host, port, matches]) => hostMatches(pattern, host, port) !== matches)
  assert.deepEqual(wrong, [])
})

const configured: [value: unknown, hosts: string[]][] = [
  ['http://192.168.1.4:8086', ['192.168.1.4']],
  ['ws://192.168.1.4/rpc', ['192.168.1.4']],
  ['wss://one.example:81', ['one.example']],
  ['https://user:secret@db.example.com/path?q=http', ['db.example.com']],
  ['meter.local', ['meter.local']],
  ['meter.local:1502', ['meter.local']],
  ['fe80::1', ['[fe80::1]']],
  [' meter.local\n', ['meter.local']],
  ['HTTP://METER.local/x', ['meter.local']],
  // What a request is sent to stands behind the last one.
  ['http://user:p@good.example@evil.net/', ['evil.net']],
  ['http://a%b/ http://b.example/', ['b.example']],
  ['meter.local and more', []],
  ['see fe80::1', []],
  ['fe80::1 and more', []],
  [null, []],
  [[null, 'a.example'], ['a.example']],
  ['a = http://one.example/x power; b = https://two.example/y', ['one.example', 'two.example']],
  ['one: http://a.example\ntwo: home/phone', ['a.example']],
  [
    ['http://a.example', 'b.example'],
    ['a.example', 'b.example'],
  ],
  ['*', []],
  ['*.example.com', []],
  ['', []],
  [undefined, []],
  [7, []],
  [{ url: 'http://a.example' }, ['a.example']],
]

test('the hosts of a configured value are those of its addresses, and never a wildcard', () => {
  assert.deepEqual(
    configured.map(([value]) => [value, hostsIn(value)]),
    configured,
  )
})

const filters: [pattern: string, config: Config, resolved: string[]][] = [
  ['${config.topic}', { topic: 'home/+/state' }, ['home/+/state']],
  ['${config.topic}/+', { topic: 'home' }, ['home/+']],
  ['a/${config.room}/${config.number}', { room: 'hall', number: 3 }, ['a/hall/3']],
  ['${config.topic}', {}, []],
  ['${config.topic}', { topic: '' }, []],
  ['${config.topic}/#', { topic: 'a/#' }, []],
  ['${config.toString}', {}, []],
  ['plain/#', {}, ['plain/#']],
  ['host/plugins/+/+/controls/+/set', {}, ['house/plugins/+/+/controls/+/set']],
  ['${config.topic}/set', { topic: 'host/x' }, ['host/x/set']],
]

test('a topic with something that is not configured, or with a wildcard amiss, allows nothing', () => {
  assert.deepEqual(
    filters.map(([pattern, config]) => [
      pattern,
      config,
      resolvePermissions({ mqtt: { publish: [pattern] } }, config, 'house').publish,
    ]),
    filters,
  )
})

const names: [permissions: Permissions, config: Config, serial: boolean, discovery: boolean][] = [
  [{}, {}, false, false],
  [{ serial: ['/dev/ttyUSB0'], discovery: ['_HTTP._tcp'] }, {}, true, true],
  [{ serial: ['/dev/ttyusb0'], discovery: ['_http'] }, {}, false, false],
  [{ serial: ['*'], discovery: ['*'] }, {}, true, true],
  [
    { serial: ['${config.a}'], discovery: ['_${config.b}._tcp'] },
    { a: '/dev/ttyUSB0', b: 'http' },
    true,
    true,
  ],
  [{ serial: ['${config.a}'], discovery: ['${config.a}'] }, { a: '*' }, false, false],
  [{ serial: ['${config.a}'], discovery: ['${config.a}'] }, {}, false, false],
]

test('serial ports and services are allowed by name, or all of them, and never all by what is configured', () => {
  const settings = { plugin: '@a/b', root: 'host', refused: () => undefined }
  for (const [permissions, config, serial, discovery] of names) {
    const guard = createGuard({ ...settings, permissions, config })
    assert.deepEqual(
      [guard.serial('/dev/ttyUSB0'), guard.discover('_http._tcp')].map((why) => why === undefined),
      [serial, discovery],
      JSON.stringify(permissions),
    )
  }
})

function guardOf(permissions: Permissions | undefined): { guard: Guard; told: string[] } {
  const told: string[] = []
  const guard = createGuard({
    plugin: '@test/probe',
    permissions,
    config: {},
    root: 'host',
    refused: (kind, value) => told.push(`${kind} ${value}`),
  })
  return { guard, told }
}

test('an empty declaration refuses all but the plugin itself, and says what to add', () => {
  const { guard, told } = guardOf({})
  assert.equal(
    guard.connect('a.example', 80),
    'the manifest of @test/probe does not allow it to connect to "a.example"; add "a.example" to permissions.hosts',
  )
  assert.match(guard.publish('a/b') ?? '', /add "a\/b" to permissions\.mqtt\.publish$/)
  assert.match(guard.subscribe('#') ?? '', /add "#" to permissions\.mqtt\.subscribe$/)
  assert.match(guard.use('@test/other') ?? '', /add "@test\/other" to permissions\.plugins$/)
  assert.match(guard.serial('/dev/ttyUSB0') ?? '', /add "\/dev\/ttyUSB0" to permissions\.serial$/)
  assert.match(guard.discover('_http._tcp') ?? '', /add "_http\._tcp" to permissions\.discovery$/)
  assert.deepEqual(told, [
    ...['host a.example', 'publish a/b', 'subscribe #', 'plugin @test/other'],
    ...['serial /dev/ttyUSB0', 'discovery _http._tcp'],
  ])
  assert.equal(guard.sees('@test/other'), false)
  const own = 'host/plugins/@test/probe'
  assert.deepEqual(
    [guard.use('@test/probe'), guard.subscribe(`${own}/#`), guard.publish(`${own}/controls/a/set`)],
    [undefined, undefined, undefined],
  )
  // It is another plugin's worker that says who asks: whoever it names has not asked.
  const { connect, publish, use, serial, discover } = guard.foreignCalls
  for (const why of [
    connect('b.example', 80),
    publish('c'),
    use('@test/b'),
    serial('/dev/b'),
    discover('_b'),
  ])
    assert.match(why ?? '', /^the manifest of @test\/probe does not allow it to /)
  assert.equal(told.length, 6)
})

test('what is listed is allowed, and what only looks like it is not', () => {
  const { guard, told } = guardOf({
    hosts: ['a.example'],
    plugins: ['@x/*'],
    serial: ['/dev/ttyUSB0'],
    discovery: ['_hue._tcp'],
  })
  const allowed = [guard.connect('a.example', 80), guard.use('@x/one'), guard.serial('/dev/ttyUSB0')]
  assert.deepEqual([...allowed, guard.discover('_hue._tcp'), told.length], [...Array(4).fill(undefined), 0])
  const refused = [guard.connect('b.example', 80), guard.use('@xy/one'), guard.serial('/dev/ttyUSB01')]
  assert.ok([...refused, guard.discover('_hue._tcp2')].every((why) => why !== undefined))
})

test('each refusal of a topic is told, and a guard that is made for other permissions answers by those', () => {
  const { guard, told } = guardOf({ mqtt: { publish: ['a/#'] } })
  const answers = ['a/b', 'c', 'a/b', 'c'].map((topic) => guard.publish(topic) === undefined)
  assert.deepEqual(
    [answers, told],
    [
      [true, false, true, false],
      ['publish c', 'publish c'],
    ],
  )
  const other = guardOf({ mqtt: { publish: ['c'] } })
  assert.deepEqual(
    ['a/b', 'c'].map((topic) => other.guard.publish(topic) === undefined),
    [false, true],
  )
})

test('without a declaration nothing is refused but to command', () => {
  const { guard, told } = guardOf(undefined)
  const answers = [
    guard.connect('a.example', 80),
    guard.publish('a'),
    guard.subscribe('#'),
    guard.use('@a/b'),
    guard.serial('/dev/ttyUSB0'),
    guard.discover('ssdp:all'),
  ]
  assert.deepEqual(
    [answers.filter((answer) => answer !== undefined), guard.sees('@a/b'), told],
    [[], true, []],
  )
  const sentences = ['host/request/config', 'host/plugins/@a/b/controls/lamp/set'].map(guard.publish)
  assert.match(sentences[0] ?? '', /^no plugin may publish to "host\/request\/config"/)
  assert.match(
    sentences[1] ?? '',
    /add "host\/plugins\/@a\/b\/controls\/lamp\/set" to permissions\.mqtt\.publish$/,
  )
  assert.equal(told.length, 2)
})

test('what no manifest could allow is refused without the advice to add it there', () => {
  for (const permissions of [undefined, { mqtt: { subscribe: ['$SYS/#'] } }]) {
    const { guard } = guardOf(permissions)
    assert.equal(
      guard.subscribe('$SYS/#'),
      'no plugin may subscribe to "$SYS/#": the topic is the broker\'s own',
    )
  }
})

test('every refusal is counted; the log hears once of each thing, and not of endlessly many', () => {
  const refusals = createRefusals()
  assert.equal(refusals.note('@a/b', 'host', 'x'), true)
  assert.equal(refusals.note('@a/b', 'host', 'x'), false)
  assert.equal(refusals.note('@a/b', 'publish', 'x'), true)
  assert.equal(refusals.note('@a/c', 'host', 'x'), true)
  const told = Array.from({ length: loggedRefusalsLimit * 2 }, (_, n) =>
    refusals.note('@a/c', 'host', `${n}`),
  )
  assert.equal(told.filter(Boolean).length, loggedRefusalsLimit - 1)
  assert.deepEqual(refusals.counts(), [
    { plugin: '@a/b', permission: 'host', count: 2 },
    { plugin: '@a/b', permission: 'publish', count: 1 },
    { plugin: '@a/c', permission: 'host', count: 1 + loggedRefusalsLimit * 2 },
  ])
  refusals.forgive('@a/b')
  assert.equal(refusals.note('@a/b', 'host', 'x'), true)
})
