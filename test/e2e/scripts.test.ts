import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { directoryWithPlugin } from '../helpers/data-directory.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startTestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

const root = join(import.meta.dirname, '..', '..')

/** A program of this project that is called wrongly: its last line, and how it ended. */
function run(...line: string[]): { status: number | null; stderr: string } {
  const loader = line[0]?.endsWith('.ts') ? ['--import', 'tsx'] : []
  const { status, stderr } = spawnSync(process.execPath, [...loader, ...line], {
    cwd: root,
    encoding: 'utf8',
  })
  return { status, stderr }
}

const wrong: [line: string[], status: number, sentence: RegExp][] = [
  [['scripts/index-repository.mjs', 'no-such-folder'], 1, /^There is no folder no-such-folder\n$/],
  [['scripts/index-repository.mjs', '--dry'], 1, /^--dry is not known; there is only --check\n$/],
  [['scripts/index-repository.mjs', 'package.json'], 1, /^.*package\.json.*\n$/],
  [['scripts/test.mjs', 'no-such.test.ts'], 2, /^There is no no-such\.test\.ts: .*\n$/],
  [['bench/main.ts', '--mqtt', 'many'], 2, /^--mqtt, --http and --minutes must be numbers above 0\. .*\n$/],
  [['bench/main.ts', '--nonsense'], 2, /^.*--nonsense.*\n$/],
  [['bench/journal.ts', 'x'], 2, /^How many events\? .*\n$/],
]

for (const [line, status, sentence] of wrong) {
  test(`${line.join(' ')} ends with a sentence`, () => {
    const ended = run(...line)
    assert.equal(ended.status, status)
    assert.match(ended.stderr, sentence)
  })
}

for (const [title, target, signal] of [
  ['the host of npm start ends in order with the shell by way of which npm runs it', 1, 'SIGKILL'],
  ['a service manager that signals the shell of npm and the host together cuts no unload off', -1, 'SIGTERM'],
] as const) {
  test(title, async (t) => {
    // Its end takes longer than the host takes to see that the shell is gone.
    const directory = await directoryWithPlugin(t, 'p:onCleanup(function() while true do end end)')
    const settings = { HOST_DATA_DIR: directory, HOST_HTTP_PORT: '0', HOST_MQTT_PORT: '0' }
    const shell = spawn('sh', ['-c', '"$0" scripts/start.mjs; true', process.execPath], {
      cwd: root,
      env: { PATH: process.env.PATH ?? '', npm_lifecycle_event: 'start', ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    const { pid = 0 } = shell
    t.after(() => shell.kill('SIGKILL'))
    let said = ''
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    const closed = once(shell.stdout, 'close', { signal: AbortSignal.timeout(60_000) })
    await until('the host', async () => said.includes('"msg":"ready"'))
    process.kill(target * pid, signal)
    // The host has the other end of it, too.
    await closed
    assert.match(said, /"msg":"stopped"/)
  })
}

test('a repository whose files are not there, or no manifests, cannot be indexed, and the file is named', async (t) => {
  const folder = await temporaryDirectory(t)
  await mkdir(join(folder, 'lamp'))
  const index = (manifest: unknown): Promise<void> =>
    writeFile(join(folder, 'lamp', 'plugin.json'), JSON.stringify(manifest))
  for (const [manifest, sentence] of [
    [{ id: 'lamp' }, /^\S*lamp\/init\.lua cannot be read \(ENOENT\); every plugin begins with it\n$/],
    [
      { id: 'lamp', files: [], docs: ['a.md'] },
      /^\S*lamp\/a\.md cannot be read \(ENOENT\); its plugin\.json names it\n$/,
    ],
    [null, /^\S*lamp\/plugin\.json is no manifest: .*\n$/],
    [{ id: 'lamp', files: 'init.lua' }, /^\S*lamp\/plugin\.json is no manifest: .*\n$/],
  ] as const) {
    await index(manifest)
    const { status, stderr } = run('scripts/index-repository.mjs', folder)
    assert.equal(status, 1)
    assert.match(stderr, sentence)
  }
})

test('a manifest without what every plugin has, or with what none can have, is not written into an index, where no host would take it', async (t) => {
  const folder = await temporaryDirectory(t)
  await mkdir(join(folder, 'lamp'))
  await writeFile(join(folder, 'lamp', 'init.lua'), '')
  for (const [manifest, sentence] of [
    [{ id: 'lamp', name: 'Lamp' }, /^\S*lamp\/plugin\.json has no version; see \S+\n$/],
    [{ name: '', version: '1.0.0' }, /^\S*lamp\/plugin\.json has no id and no name; .*\n$/],
    [[], /^\S*lamp\/plugin\.json has no id and no name and no version; .*\n$/],
    [
      { id: 'My Lamp', name: 'Lamp', version: '1.0.0' },
      /^\S*plugin\.json has the id "My Lamp": small letters, .*\n$/,
    ],
    [
      { id: 'lamp', name: 'Lamp', version: 'one' },
      /^\S*plugin\.json has the version "one": .* such as 1\.2\.3\n$/,
    ],
  ] as const) {
    await writeFile(join(folder, 'lamp', 'plugin.json'), JSON.stringify(manifest))
    const { status, stderr } = run('scripts/index-repository.mjs', folder)
    assert.equal(status, 1)
    assert.match(stderr, sentence)
  }
  assert.deepEqual(await readdir(folder), ['lamp'])
})

test('what an index lacks above its list comes from the name of its folder, and what is no index stays as it is', async (t) => {
  const folder = join(await temporaryDirectory(t), 'my-own')
  await mkdir(join(folder, 'lamp'), { recursive: true })
  await writeFile(join(folder, 'lamp', 'init.lua'), '')
  await writeFile(
    join(folder, 'lamp', 'plugin.json'),
    JSON.stringify({ id: 'lamp', name: 'Lamp', version: '1.0.0' }),
  )
  const index = join(folder, 'plugins.json')
  for (const [text, sentence] of [
    ['[]', /^\S*plugins\.json is no index: .*\n$/],
    ['null', /^\S*plugins\.json is no index: .*\n$/],
    ['{ "namespace": "My Own" }', /^\S*plugins\.json has the namespace "My Own": .* small letters, .*\n$/],
    ['{ "namespace": 5 }', /^\S*plugins\.json has the namespace 5: it must be a text .*\n$/],
    ['{ "name": ["x"] }', /^\S*plugins\.json has the name \["x"\]: it must be a text\n$/],
    ['{ "version": 2 }', /^\S*plugins\.json has the version 2: it must be 1\n$/],
  ] as const) {
    await writeFile(index, text)
    const { status, stderr } = run('scripts/index-repository.mjs', folder)
    assert.equal(status, 1)
    assert.match(stderr, sentence)
    assert.equal(await readFile(index, 'utf8'), text)
  }
  for (const [text, expected] of [
    [
      '{ "namespace": "own", "plugins": [{ "id": "lamp" }], "url": "x" }',
      [
        ['namespace', 'own'],
        ['url', 'x'],
        ['version', 1],
        ['name', 'my-own'],
      ],
    ],
    [
      '{ "name": null, "namespace": "" }',
      [
        ['name', 'my-own'],
        ['namespace', 'my-own'],
        ['version', 1],
      ],
    ],
  ] as const) {
    await writeFile(index, text)
    assert.deepEqual(run('scripts/index-repository.mjs', folder), { status: 0, stderr: '' })
    const { plugins, ...head } = JSON.parse(await readFile(index, 'utf8'))
    // As it was written, in the same order, with what it lacked behind.
    assert.deepEqual(Object.entries(head), expected)
    assert.equal(plugins[0].version, '1.0.0')
  }
})

test('an index that says all above its list is up to date in whatever order it does so', async (t) => {
  const folder = await temporaryDirectory(t)
  const index = join(folder, 'plugins.json')
  const text = '{ "name": "Mine", "namespace": "own", "version": 1, "plugins": [] }'
  await writeFile(index, text)
  for (const flags of [['--check'], []])
    assert.deepEqual(run('scripts/index-repository.mjs', ...flags, folder), { status: 0, stderr: '' })
  assert.equal(await readFile(index, 'utf8'), text)
})

test('an index has the hash of every file that a host fetches, however the manifest names them', async (t) => {
  const folder = await temporaryDirectory(t)
  await mkdir(join(folder, 'lamp', 'doc'), { recursive: true })
  const manifest = {
    ...{ id: 'lamp', name: 'Lamp', version: '1.0' },
    ...{ files: ['./a.lua', null], docs: ['./README.md', { file: './doc/b.md' }, null] },
  }
  const files = ['plugin.json', 'init.lua', 'a.lua', 'README.md', 'doc/b.md']
  for (const file of files) await writeFile(join(folder, 'lamp', file), '-- as it was published')
  await writeFile(join(folder, 'lamp', 'plugin.json'), `\uFEFF${JSON.stringify(manifest)}`)
  assert.deepEqual(run('scripts/index-repository.mjs', folder), { status: 0, stderr: '' })

  const host = await startTestHost({ hostFile: { repositories: [{ name: 'mine', url: folder }] } })
  t.after(() => host.close())
  const { namespace } = JSON.parse(await readFile(join(folder, 'plugins.json'), 'utf8'))
  const body = { fullId: `@${namespace}/lamp` }
  for (const file of files) {
    const place = join(folder, 'lamp', file)
    const before = await readFile(place, 'utf8')
    await writeFile(place, `${before} `)
    const refused = await host.request('POST', '/api/plugins/install', { body })
    assert.deepEqual([file, refused.status, refused.body.code], [file, 422, 'integrity_mismatch'])
    await writeFile(place, before)
  }
  assert.equal((await host.request('POST', '/api/plugins/install', { body })).status, 201)
})
