import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { directoryWithPlugin } from '../helpers/data-directory.ts'
import { freePort } from '../helpers/free-port.ts'
import { programPath, runProgram, startHostProcess } from '../helpers/host-process.ts'
import { listen } from '../helpers/listen.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

/** A port that somebody else has. */
async function takenPort(context: TestContext): Promise<number> {
  const server = createServer()
  context.after(() => server.close())
  await listen(server)
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return address.port
}

const scripts = join(import.meta.dirname, '..', '..', 'scripts')
const free = ['--http-port', '0', '--mqtt-port', '0']

for (const [setting, others] of [
  ['http-port', ['--mqtt-port', '0']],
  ['mqtt-port', ['--http-port', '0']],
] as const) {
  test(`a ${setting} in use ends the start with one line and code 1, and nothing on disk`, async (context) => {
    const folder = await temporaryDirectory(context)
    const port = await takenPort(context)
    const flags = ['--data-dir', join(folder, 'deep', 'data'), `--${setting}`, String(port), ...others]
    const { code, stderr } = await runProgram(flags)
    assert.equal(code, 1)
    assert.match(
      stderr,
      new RegExp(`^lupine: .*${port}.*HOST_${setting.toUpperCase().replace('-', '_')}.*\n$`),
    )
    assert.deepEqual(await readdir(folder), [])
  })
}

test('a second host on the same data directory ends with one line and code 1, and the first goes on', async (context) => {
  const directory = await temporaryDirectory(context)
  const first = await startHostProcess(directory)
  context.after(() => first.stop('SIGKILL'))
  const before = await readFile(join(directory, '.host.journal'), 'utf8')
  const { code, stderr } = await runProgram(['--data-dir', directory, ...free])
  assert.equal(code, 1)
  assert.match(stderr, /^lupine: Another host is running in .*HOST_DATA_DIR.*\n$/)
  assert.equal(await readFile(join(directory, '.host.journal'), 'utf8'), before)
  assert.equal((await fetch(`${first.http}/livez`)).status, 200)
})

for (const script of [programPath, join(scripts, 'start.mjs'), join(scripts, 'require-node.mjs')])
  test(`an older Node than is needed ends ${basename(script)} with one line that names both, and code 1`, async (context) => {
    const directory = join(await temporaryDirectory(context), 'data')
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } })`
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(older)}`
    const { code, stdout, stderr } = await runProgram(
      ['--data-dir', directory, ...free],
      { NODE_OPTIONS },
      [],
      script,
    )
    assert.deepEqual([code, stdout, existsSync(directory)], [1, '', false])
    assert.match(stderr, /^lupine: this is Node 20\.18\.3, and Node 20\.19 or newer is needed.*\n$/)
  })

test('what is read first has nothing that Node 12 cannot read, so that it says what is needed', async () => {
  for (const [script, modules] of [
    [programPath, ['node:fs', 'node:module']],
    [join(scripts, 'start.mjs'), ['./require-node.mjs']],
    [join(scripts, 'require-node.mjs'), ['node:fs']],
  ] as const) {
    const text = await readFile(script, 'utf8')
    assert.doesNotMatch(text, /\?\.|\?\?|\|\|=|&&=|\bawait\b/)
    const parts = [...text.matchAll(/(?:from|import)\s*["']([^"']+)["']/g)].map(([, name = '']) => name)
    for (const name of modules) assert.ok(parts.includes(name), name)
    assert.deepEqual(
      parts.filter((name) => !name.startsWith('node:') && name !== './require-node.mjs'),
      [],
    )
  }
})

test('a data directory that cannot be made ends with one line and code 1', async (context) => {
  const file = join(await temporaryDirectory(context), 'file')
  await writeFile(file, '')
  const { code, stderr } = await runProgram(['--data-dir', join(file, 'data'), ...free])
  assert.equal(code, 1)
  assert.match(stderr, /^lupine: The data directory .* cannot be written.*HOST_DATA_DIR.*\n$/)
})

test('a start that can make only the first of several directories leaves none of them', async (context) => {
  const folder = await temporaryDirectory(context)
  // Longer than the name of a directory may be.
  const { code, stderr } = await runProgram(['--data-dir', join(folder, 'deep', 'd'.repeat(300)), ...free])
  assert.equal(code, 1)
  assert.match(stderr, /^lupine: The data directory .* cannot be written.*HOST_DATA_DIR.*\n$/)
  assert.deepEqual(await readdir(folder), [])
})

test('a data directory behind a link to a disk that is not mounted ends with one line that says so, and code 1', async (context) => {
  const folder = await temporaryDirectory(context)
  const link = join(folder, 'link')
  const disk = join(folder, 'disk', 'lupine')
  await symlink(disk, link)
  for (const directory of [link, join(link, 'data')]) {
    const { code, stderr } = await runProgram(['--data-dir', directory, ...free])
    assert.equal(code, 1)
    const line =
      /^lupine: The data directory (.*) cannot be written \(E[A-Z]+\): (.*) is a link to (.*), which is not there;.*\n$/
    assert.deepEqual(line.exec(stderr)?.slice(1), [directory, link, disk])
  }
  assert.deepEqual(await readdir(folder), ['link'])
})

test('a data directory where the system makes none ends with one line and code 1', async () => {
  const { code, stderr } = await runProgram(['--data-dir', '/proc/nope/data', ...free])
  assert.equal(code, 1)
  assert.match(stderr, /^lupine: The data directory .* cannot be written.*HOST_DATA_DIR.*\n$/)
})

test(
  'a data directory without the right to write ends with one line and code 1',
  { skip: process.getuid?.() === 0 ? 'root may write everywhere' : false },
  async (context) => {
    const directory = await temporaryDirectory(context)
    await chmod(directory, 0o500)
    const { code, stderr } = await runProgram(['--data-dir', directory, ...free])
    assert.equal(code, 1)
    assert.match(stderr, /cannot be written/)
  },
)

/** One of each place where settings are found out to be wrong; test/settings has the sentence for each setting. */
const usage: [title: string, flags: string[], environment: Record<string, string>, sentence: RegExp][] = [
  ['an unknown flag', ['--nonsense'], {}, /--nonsense/],
  ['a bad port', [], { HOST_HTTP_PORT: 'x' }, /HOST_HTTP_PORT/],
  ['a token file that is not there', free, { HOST_TOKEN_FILE: '/no/such/file' }, /HOST_TOKEN_FILE/],
  [
    'a stray % in the password of the broker',
    free,
    { HOST_MQTT_URL: 'mqtt://user:ge%zzheim@127.0.0.1:1883' },
    /^(?!.*heim).*HOST_MQTT_URL .* write % as %25/,
  ],
  [
    'a fleet without a broker for all',
    [...free, '--fleet-url', 'nats://127.0.0.1:1', '--secret-key-file', '/no/such/key'],
    {},
    /HOST_MQTT_URL .* is missing; a fleet/,
  ],
  [
    'a fleet without a key file',
    [...free, '--fleet-url', 'nats://127.0.0.1:1'],
    { HOST_MQTT_URL: 'mqtt://127.0.0.1:1' },
    /HOST_SECRET_KEY_FILE .* is missing; a fleet/,
  ],
  [
    'a certificate that is not there',
    [...free, '--tls-cert-file', '/no/such/certificate', '--tls-key-file', '/no/such/key'],
    {},
    /HOST_TLS_CERT_FILE/,
  ],
]

for (const [title, flags, environment, sentence] of usage) {
  test(`${title} ends with one line and code 2`, async () => {
    const { code, stderr, stdout } = await runProgram(flags, environment)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, sentence)
    assert.equal(stderr.trim().split('\n').length, 1)
  })
}

test('an address that others can reach needs a token', async (context) => {
  const directory = await temporaryDirectory(context)
  const { code, stderr } = await runProgram(['--data-dir', directory, '--http-bind', '0.0.0.0', ...free])
  assert.equal(code, 2)
  assert.match(stderr, /HOST_HTTP_BIND.*HOST_TOKEN/)
  assert.deepEqual(await readdir(directory), [])
})

test('the ready line has the addresses, the plugins by state and the time; SIGTERM unloads and ends with 0', async (context) => {
  const lua = 'p:onCleanup(function() p:log("info", "goodbye") end)'
  const directory = await directoryWithPlugin(context, lua)
  const host = await startHostProcess(directory)
  context.after(() => host.stop('SIGKILL'))
  const { http, mqtt, plugins, startupMs, msg } = host.ready
  assert.match(String(http), /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.match(String(mqtt), /^mqtt:\/\/127\.0\.0\.1:\d+$/)
  assert.deepEqual([msg, plugins, typeof startupMs], ['ready', { running: 1 }, 'number'])
  assert.equal(await host.stop('SIGTERM'), 0)
  assert.match(host.output(), /goodbye/)
  const snapshot = JSON.parse(await readFile(join(directory, '.host.json'), 'utf8'))
  assert.equal(snapshot.plugins.installed[0].state, 'unloaded')
  assert.equal((await stat(join(directory, '.host.json'))).mode & 0o777, 0o600)
  const lines = (await readFile(join(directory, '.host.journal'), 'utf8')).trim().split('\n')
  assert.equal(JSON.parse(lines.at(-1) ?? '').type, 'HostStopped')
  assert.equal(JSON.parse(lines.at(-1) ?? '').seq, snapshot.journal.seq)
})

for (const [title, signal, code] of [
  ['a second signal ends a stop that takes long at once', 'SIGTERM', 1],
  ['a terminal that is closed ends the host in order, however often it says so', 'SIGHUP', 0],
] as const) {
  test(title, async (context) => {
    const directory = await directoryWithPlugin(context, 'p:onCleanup(function() while true do end end)')
    const host = await startHostProcess(directory)
    context.after(() => host.stop('SIGKILL'))
    const stopping = new Promise<void>((resolve) => {
      host.process.stdout?.on('data', (chunk) => String(chunk).includes('"stopping"') && resolve())
    })
    host.process.kill(signal)
    await stopping
    assert.equal(await host.stop(signal), code)
  })
}

test('a damaged journal stops the start with its place and the command that repairs it, and the repair works', async (context) => {
  const directory = await temporaryDirectory(context)
  const first = await startHostProcess(directory)
  context.after(() => first.stop('SIGKILL'))
  await first.stop('SIGTERM')
  const path = join(directory, '.host.journal')
  const damaged = (await readFile(path, 'utf8')).replace('HostReady', 'HostRaedy')
  await writeFile(path, damaged)
  const refused = await runProgram(['--data-dir', directory, ...free])
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^lupine: .*\.host\.journal is damaged at line \d+ \(byte \d+\).*lupine repair.*\n$/,
  )
  const repaired = await runProgram(['repair', '--data-dir', directory])
  assert.deepEqual([repaired.code, repaired.stderr], [0, ''])
  assert.match(repaired.stdout, /Cut the journal before line/)
  const again = await startHostProcess(directory)
  context.after(() => again.stop('SIGKILL'))
  assert.equal(await again.stop('SIGTERM'), 0)
  const whole = await runProgram(['repair', '--data-dir', directory])
  assert.match(whole.stdout, /nothing was changed/)
})

for (const [title, file, content, flags] of [
  ['a .host.json that is no JSON', '.host.json', '{bad', ['repair']],
  ['a data directory that is not there', undefined, '', ['repair']],
  ['a journal that cannot be read', '.host.journal', undefined, free],
] as const) {
  test(`${title} ends with one line that says what to do, and code 1`, async (context) => {
    const directory = join(await temporaryDirectory(context), 'data')
    if (file !== undefined && content !== undefined) {
      await mkdir(directory)
      await writeFile(join(directory, file), content)
    } else if (file !== undefined) await mkdir(join(directory, file), { recursive: true })
    const { code, stderr } = await runProgram([...flags, '--data-dir', directory])
    assert.equal(code, 1)
    assert.match(stderr, /^lupine: .*data.* [Cc]orrect .*\n$/)
  })
}

const noFullDevice = existsSync('/dev/full') ? false : 'this system has no /dev/full'

test('a log on a full disk does not end the host', { skip: noFullDevice }, async (context) => {
  const directory = await temporaryDirectory(context)
  const full = await open('/dev/full', 'w')
  context.after(() => full.close())
  const port = await freePort()
  const flags = [
    '--data-dir',
    directory,
    '--http-port',
    String(port),
    '--mqtt-port',
    '0',
    '--log-level',
    'debug',
  ]
  const child = spawn(process.execPath, [programPath, ...flags, '--log-format', 'json'], {
    stdio: ['ignore', full.fd, 'inherit'],
  })
  context.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await until('the host', () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  assert.equal((await fetch(`http://127.0.0.1:${port}/api/plugins`)).status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

for (const [title, flags, told] of [
  ['help', ['--help'], /^lupine: Standard output cannot be written \((ENOSPC|EPIPE)\)\.\n$/],
  [
    'the public half of a new key',
    ['keygen', 'key'],
    /^lupine: Standard output cannot be written \((ENOSPC|EPIPE)\); this was to stand there:\nMade key .*\n(.*\n)+\w{2}.{54}\n$/,
  ],
] as const) {
  for (const [where, code] of [
    ['a full disk', 'ENOSPC'],
    ['a reader that is gone', 'EPIPE'],
  ] as const) {
    const skip = code === 'ENOSPC' && noFullDevice
    test(
      `${title} for ${where} ends with code 1, and words instead of a trace`,
      { skip },
      async (context) => {
        const full = code === 'ENOSPC' ? await open('/dev/full', 'w') : undefined
        context.after(() => full?.close())
        const child = spawn(process.execPath, [programPath, ...flags], {
          cwd: await temporaryDirectory(context),
          stdio: ['ignore', full?.fd ?? 'pipe', 'pipe'],
        })
        assert.ok(child.stderr)
        child.stdout?.destroy()
        const words = text(child.stderr)
        assert.deepEqual(await once(child, 'exit'), [1, null])
        assert.equal(told.exec(await words)?.[1], code)
      },
    )
  }
}
