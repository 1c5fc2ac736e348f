import assert from 'node:assert/strict'
import { mkdir, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import {
  FileRefused,
  isContainedPath,
  readContainedFile,
} from '../../src/repository/sources/contained-file.ts'
import { type Logger, silentLogger } from '../../src/base/log/log.ts'
import { identifierOf } from '../../src/schema/names/identifier.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import {
  clockPlugin,
  clockRepository,
  createStage,
  hash,
  problemOf,
  readTree,
  writeTree,
} from './repository-fixture.ts'

const local = { name: 'local', url: './repository' }

test('a plugin from a folder is staged, swapped in byte for byte, and hashed', async (context) => {
  const { directory, catalog, plugins } = await createStage(context)
  const manifest =
    '{\n  "id": "@test/clock", "name": "Clock", "version": "1.0.0",\n  "files": ["init.lua", "lib/moment.lua"], "extra": [1],\n  "docs": [{ "title": "Read me", "file": "docs/README.md" }]\n}\n'
  const files = {
    'plugin.json': manifest,
    'init.lua': '-- clock 1.0.0',
    'lib/moment.lua': 'return {}',
    'docs/README.md': '# Clock',
  }
  const inClock = Object.fromEntries(Object.entries(files).map(([path, text]) => [`clock/${path}`, text]))
  await writeTree(join(directory, 'repository'), { ...clockRepository(), ...inClock, 'clock/other.lua': '' })
  const integrity = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, hash(text)]))

  const staged = await catalog.stage(local, clockPlugin)
  assert.deepEqual(staged.integrity, integrity)
  assert.deepEqual(
    [staged.repository, staged.indexVersion, Reflect.get(staged.manifest, 'extra')],
    ['local', '1.0.0', [1]],
  )
  assert.equal(await plugins.exists(clockPlugin), false)
  await staged.swapIn()
  await staged.discard()

  assert.deepEqual(
    await readTree(join(directory, 'plugins')),
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`test--clock/${path}`, text])),
  )
  const installed = await plugins.read(clockPlugin)
  assert.deepEqual(installed.integrity, integrity)
  assert.deepEqual(Object.keys(installed.files).sort(), ['init.lua', 'lib/moment.lua'])
})

test('what was staged and is discarded leaves nothing behind', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(join(directory, 'repository'), clockRepository())
  const staged = await catalog.stage(local, clockPlugin)
  await staged.discard()
  await staged.discard()
  assert.deepEqual(await readTree(join(directory, 'plugins')), {})
})

test('a folder is found by a relative path, an absolute one, a file: address, or its index', async (context) => {
  const { directory, catalog } = await createStage(context)
  const folder = join(directory, 'repository')
  await writeTree(folder, clockRepository())
  const urls = [
    'repository',
    './repository/',
    folder,
    pathToFileURL(folder).href,
    './repository/plugins.json',
  ]
  for (const url of urls) {
    const [status] = await catalog.statuses([{ name: 'local', url }])
    assert.deepEqual(status, {
      name: 'local',
      url,
      publicKey: null,
      signed: false,
      signedAt: null,
      namespace: 'test',
      plugins: 1,
      error: null,
    })
  }
})

test('a relative path that the data directory does not have starts from the program', async (context) => {
  const programDirectory = await temporaryDirectory(context)
  const { directory, catalog } = await createStage(context, { programDirectory })
  await writeTree(join(programDirectory, 'repository'), clockRepository('1.0.0'))
  assert.deepEqual(
    (await catalog.offers([local])).map(({ version }) => version),
    ['1.0.0'],
  )
  await writeTree(join(directory, 'repository'), clockRepository('2.0.0'))
  assert.deepEqual(
    (await catalog.offers([local])).map(({ version }) => version),
    ['2.0.0'],
  )
})

test('an address that is none says what is wrong with it', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(directory, { 'a-file': 'x', 'empty/x': '' })
  const expected: Record<string, RegExp> = {
    'ftp://example.com/': /ftp:.*not supported/,
    'http://': /address is not valid/,
    'http:foo': /address is not valid/,
    '': /empty/,
    'a\0b': /NUL/,
    './missing': /no such folder/,
    './a-file': /not a folder/,
    './empty': /holds no plugins\.json/,
    'file://host.example/x': /file: address/,
  }
  for (const [url, sentence] of Object.entries(expected)) {
    const { code, message } = await problemOf(catalog.index({ name: 'local', url }))
    assert.equal(code, 'repository_unreachable', url)
    assert.match(message, sentence)
    const [status] = await catalog.statuses([{ name: 'local', url }])
    assert.deepEqual([status?.namespace, status?.plugins, status?.error], [null, 0, message])
  }
})

test('a bad entry hides no good one, and is explained when it is asked for', async (context) => {
  const { directory, catalog, warnings } = await createStage(context)
  const entry = (id: string, path: string, more: object = {}) => ({
    id,
    name: id,
    version: '1.0.0',
    path,
    ...more,
  })
  const index = {
    version: 1,
    name: 'Test plugins',
    namespace: 'test',
    maintainer: 'kept',
    plugins: [
      entry('@test/clock', './clock/', { tag: 'time', tags: ['time'], description: 'Tells the time' }),
      entry('escape', '../outside'),
      entry('encoded', '%2e%2E/outside'),
      entry('@other/lamp', 'lamp'),
      entry('UPPER', 'upper'),
      'nonsense',
    ],
  }
  await writeTree(join(directory, 'repository'), {
    ...clockRepository(),
    'plugins.json': JSON.stringify(index),
  })
  await writeTree(directory, {
    'outside/plugin.json': '{"id":"escape","name":"x","version":"1.0.0"}',
    'outside/init.lua': '',
  })

  assert.deepEqual(await catalog.offers([local]), [
    {
      fullId: '@test/clock',
      name: '@test/clock',
      version: '1.0.0',
      description: 'Tells the time',
      author: null,
      tags: ['time'],
      minHostVersion: null,
      permissions: null,
      repository: 'local',
    },
  ])
  const read = await catalog.index(local)
  assert.deepEqual(
    [Reflect.get(read, 'maintainer'), Reflect.get(read.plugins[0] ?? {}, 'tag')],
    ['kept', 'time'],
  )
  assert.equal(warnings.length, 10)
  await (await catalog.stage(local, clockPlugin)).discard()

  const before = await readTree(directory)
  for (const id of ['@test/escape', '@test/encoded']) {
    const { code, message } = await problemOf(catalog.stage(local, identifierOf(id)))
    assert.equal(code, 'repository_unreachable')
    assert.match(message, /\/plugins\/[12]\/path must be a relative path/)
  }
  const { code } = await problemOf(catalog.stage(local, identifierOf('@test/lamp')))
  assert.equal(code, 'plugin_not_in_repository')
  assert.deepEqual(await readTree(directory), before)
})

/** What is wrong with a repository, and what is said of it. Whatever it is, nothing is written. */
const refusals: Record<
  string,
  { files: Record<string, string>; code: string; sentence: RegExp; version?: string }
> = {
  'an index that is not JSON': {
    files: { 'plugins.json': '{"version": 1,' },
    code: 'repository_unreachable',
    sentence: /plugins\.json is not valid JSON/,
  },
  'an index that is an array': {
    files: { 'plugins.json': '[]' },
    code: 'repository_unreachable',
    sentence: /is not an index: it must be object/,
  },
  'an index of a later version': {
    files: { 'plugins.json': '{"version": 2}' },
    code: 'repository_unreachable',
    sentence: /version 2.*update the host/,
  },
  'an index that lacks members': {
    files: { 'plugins.json': '{"version": 1, "plugins": {}}' },
    code: 'repository_unreachable',
    sentence: /\/name is required; \/namespace is required; \/plugins must be array/,
  },
  'an index that is too large': {
    files: { 'plugins.json': `{"version": 1, "x": "${'x'.repeat(1024 * 1024)}"}` },
    code: 'repository_unreachable',
    sentence: /larger than 1048576 bytes/,
  },
  'an index without the plugin': {
    files: { 'plugins.json': '{"version": 1, "name": "x", "namespace": "test", "plugins": []}' },
    code: 'plugin_not_in_repository',
    sentence: /has no @test\/clock/,
  },
  'a version that is not offered': {
    files: clockRepository('1.0.0'),
    version: '2.0.0',
    code: 'plugin_not_in_repository',
    sentence: /no version 2\.0\.0 of @test\/clock; it has 1\.0\.0/,
  },
  'a plugin without plugin.json': {
    files: { 'plugins.json': clockRepository()['plugins.json'] ?? '' },
    code: 'repository_unreachable',
    sentence: /has no clock\/plugin\.json/,
  },
  'a manifest that is no object': {
    files: clockRepository('1.0.0', { files: { 'clock/plugin.json': '[]' } }),
    code: 'manifest_invalid',
    sentence: /must be a JSON object, not an array/,
  },
  'a manifest of another plugin': {
    files: clockRepository('1.0.0', { manifest: { id: 'lamp' } }),
    code: 'manifest_invalid',
    sentence: /\/id must be "clock" or "@test\/clock"/,
  },
  'a manifest whose files leave the folder': {
    files: {
      ...clockRepository('1.0.0', { manifest: { files: ['init.lua', '../secret.lua'] } }),
      'secret.lua': 'x',
    },
    code: 'manifest_invalid',
    sentence: /\/files\/1 must be a relative path/,
  },
  'a Lua file that is not there': {
    files: clockRepository('1.0.0', { manifest: { files: ['init.lua', 'missing.lua'] } }),
    code: 'repository_unreachable',
    sentence: /^@test\/clock needs missing\.lua, but the repository .* has no clock\/missing\.lua; tell /,
  },
  'a Lua file that is too large': {
    files: clockRepository('1.0.0', { files: { 'clock/init.lua': 'x'.repeat(1024 * 1024 + 1) } }),
    code: 'repository_unreachable',
    sentence: /clock\/init\.lua is larger than 1048576 bytes/,
  },
  'files that are too large together': {
    files: clockRepository('1.0.0', {
      manifest: { files: ['init.lua', ...Array.from({ length: 11 }, (_, index) => `${index}.lua`)] },
      files: Object.fromEntries(
        Array.from({ length: 11 }, (_, index) => [`clock/${index}.lua`, 'x'.repeat(1024 * 1024)]),
      ),
    }),
    code: 'repository_unreachable',
    sentence: /larger than 10485760 bytes together/,
  },
  'a hash that does not match': {
    files: clockRepository('1.0.0', { entry: { sha256: { 'init.lua': hash('another one') } } }),
    code: 'integrity_mismatch',
    sentence: /init\.lua of @test\/clock is not the one/,
  },
  'a manifest hash that does not match': {
    files: clockRepository('1.0.0', { entry: { sha256: { 'plugin.json': hash('another one') } } }),
    code: 'integrity_mismatch',
    sentence: /plugin\.json of @test\/clock is not the one/,
  },
  'an entry that needs a newer host': {
    files: clockRepository('1.0.0', { entry: { minHostVersion: '1.0.1' } }),
    code: 'host_version_unsupported',
    sentence: /needs host version 1\.0\.1 or newer; this is 1\.0\.0/,
  },
  'an entry that needs a newer host, whose manifest is none for this one,': {
    files: clockRepository('1.0.0', { entry: { minHostVersion: '1.0.1' }, manifest: { files: 'all' } }),
    code: 'host_version_unsupported',
    sentence: /needs host version 1\.0\.1 or newer/,
  },
  'an entry that needs a newer host, by the version of its manifest,': {
    files: clockRepository('1.1.0', { entry: { minHostVersion: '1.0.1' }, manifest: { version: '1.0.5' } }),
    version: '1.0.5',
    code: 'host_version_unsupported',
    sentence: /needs host version 1\.0\.1 or newer/,
  },
  'a manifest that needs a newer host': {
    files: clockRepository('1.0.0', { manifest: { minHostVersion: 'v2.0.0' } }),
    code: 'host_version_unsupported',
    sentence: /needs host version v2\.0\.0/,
  },
}

for (const [what, { files, code, sentence, version }] of Object.entries(refusals)) {
  test(`${what} is refused, and nothing is written`, async (context) => {
    const { directory, catalog } = await createStage(context)
    await writeTree(join(directory, 'repository'), files)
    const before = await readTree(directory)
    const problem = await problemOf(catalog.stage(local, clockPlugin, { version }))
    assert.equal(problem.code, code)
    assert.match(problem.message, sentence)
    assert.deepEqual(await readTree(directory), before)
  })
}

test('the log says of an index full of mistakes what the first of them are, and how many there are', async (context) => {
  const { directory, catalog, warnings } = await createStage(context)
  const plugins = Array.from({ length: 500 }, () => ({ id: 'clock' }))
  const index = { version: 1, name: 'Test plugins', namespace: 'test', plugins }
  await writeTree(join(directory, 'repository'), { 'plugins.json': JSON.stringify(index) })
  await catalog.index(local)
  assert.equal(warnings.length, 21)
  assert.deepEqual(warnings.at(-1)?.fields, { repository: 'local', more: 480 })
})

test('an index is not read anew while nothing in it has changed, and at once when something has', async (context) => {
  const { directory, catalog } = await createStage(context)
  const publish = (version: string) => writeTree(join(directory, 'repository'), clockRepository(version))
  await publish('1.0.0')
  const first = await catalog.index(local)
  await publish('1.0.0')
  assert.equal(await catalog.index(local), first)
  await publish('1.1.0')
  assert.equal((await catalog.index(local)).plugins[0]?.version, '1.1.0')
  await publish('1.0.0')
  assert.deepEqual(await catalog.index(local), first)
})

test('entries whose permissions are none cost a look at the offers no more than others', async (context) => {
  const { directory, catalog } = await createStage(context)
  const topics = Array.from({ length: 20 }, (_, number) => number)
  const publish = async (publish: readonly unknown[]): Promise<number> => {
    const entry = { name: 'x', version: '1.0.0', path: 'x', permissions: { mqtt: { publish } } }
    const plugins = Array.from({ length: 5_000 }, (_, number) => ({ id: `x${number}`, ...entry }))
    const index = { version: 1, name: 'Test plugins', namespace: 'test', plugins }
    await writeTree(join(directory, 'repository'), { 'plugins.json': JSON.stringify(index) })
    await catalog.index(local)
    const before = process.cpuUsage()
    assert.equal((await catalog.offers([local])).length, 5_000)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const usual = await publish(topics.map(String))
  const broken = await publish(topics)
  assert.ok(broken < 4 * usual, `${broken / usual} times as much time of the processor`)
})

test('hashes that match, in capitals too, and hashes of files that are not fetched, are no obstacle', async (context) => {
  const { directory, catalog } = await createStage(context)
  const sha256 = { 'init.lua': hash('-- clock 1.0.0').toUpperCase(), 'other.lua': hash('x') }
  await writeTree(join(directory, 'repository'), clockRepository('1.0.0', { entry: { sha256 } }))
  const staged = await catalog.stage(local, clockPlugin)
  assert.equal(staged.integrity['init.lua'], hash('-- clock 1.0.0'))
})

test('index, manifest and request may name different versions; the manifest counts', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(join(directory, 'repository'), clockRepository('1.1.0', { manifest: { version: '1.0.5' } }))
  for (const version of [undefined, '1.1.0', 'v1.1.0', '1.0.5']) {
    const staged = await catalog.stage(local, clockPlugin, { version })
    assert.deepEqual([staged.manifest.version, staged.indexVersion], ['1.0.5', '1.1.0'])
  }
})

/** A repository that has these versions of one plugin. */
async function publish(directory: string, versions: readonly string[]): Promise<void> {
  const tree: Record<string, string> = {}
  for (const version of versions) {
    tree[`${version}/plugin.json`] = JSON.stringify({ id: 'clock', name: 'Clock', version })
    tree[`${version}/init.lua`] = ''
  }
  const plugins = versions.map((version) => ({ id: 'clock', name: 'Clock', version, path: version }))
  tree['plugins.json'] = JSON.stringify({ version: 1, name: 'x', namespace: 'test', plugins })
  await writeTree(join(directory, 'repository'), tree)
}

test('of several versions in an index the newest is offered, and each can be had', async (context) => {
  const { directory, catalog } = await createStage(context)
  await publish(directory, ['1.9.0', '1.10.0', '1.10.0-beta.1'])
  assert.deepEqual(
    (await catalog.offers([local])).map(({ version }) => version),
    ['1.10.0'],
  )
  assert.equal((await catalog.stage(local, clockPlugin)).manifest.version, '1.10.0')
  assert.equal((await catalog.stage(local, clockPlugin, { version: '1.9.0' })).manifest.version, '1.9.0')
  const { code, message } = await problemOf(catalog.stage(local, clockPlugin, { version: '1.8.0' }))
  assert.equal(code, 'plugin_not_in_repository')
  assert.match(message, /it has 1\.10\.0, 1\.10\.0-beta\.1, 1\.9\.0\.$/)
})

test('the newest of several versions can be had by what its manifest calls it, as who looks at it is told', async (context) => {
  const { directory, catalog } = await createStage(context)
  await publish(directory, ['1.0.0', '1.1.0'])
  const manifest = JSON.stringify({ id: 'clock', name: 'Clock', version: '1.1.5', minHostVersion: '1.0.0' })
  await writeTree(join(directory, 'repository'), { '1.1.0/plugin.json': manifest })
  const { version } = (await catalog.preview(local, clockPlugin)).manifest
  assert.equal(version, '1.1.5')
  const staged = await catalog.stage(local, clockPlugin, { version })
  assert.deepEqual([staged.manifest.version, staged.indexVersion], ['1.1.5', '1.1.0'])
  const { code, message } = await problemOf(catalog.stage(local, clockPlugin, { version: '1.1.6' }))
  assert.equal(code, 'plugin_not_in_repository')
  assert.match(message, /has no version 1\.1\.6 of \S+; it has 1\.1\.0, 1\.0\.0\.$/)
})

test('of many versions the newest are named to who asks for one that is not there', async (context) => {
  const { directory, catalog } = await createStage(context)
  for (const [count, rest] of [
    [20, '.'],
    [25, ' and 5 older ones.'],
  ] as const) {
    await publish(
      directory,
      Array.from({ length: count }, (_, index) => `1.0.${index}`),
    )
    const { message } = await problemOf(catalog.stage(local, clockPlugin, { version: '2.0.0' }))
    const newest = Array.from({ length: 20 }, (_, index) => `1.0.${count - 1 - index}`)
    assert.equal(message.split('; it has ')[1], `${newest.join(', ')}${rest}`)
  }
})

test('a prerelease is offered to who has one that is newer than all releases, and where there is no release', async (context) => {
  const { directory, catalog } = await createStage(context)
  const offered = async (versions: string[], installed?: string): Promise<string> => {
    await publish(directory, versions)
    const { manifest } = await catalog.stage(local, clockPlugin, { installed })
    const [offer] = await catalog.offers([local], () => installed)
    assert.equal(offer?.version, manifest.version)
    return manifest.version
  }
  const index = ['1.9.0', '2.0.0-beta.2', '2.0.0-beta.1', '1.8.0']
  assert.equal(await offered(index), '1.9.0')
  assert.equal(await offered(index, '1.8.0'), '1.9.0')
  assert.equal(await offered(index, '1.9.0-beta.1'), '1.9.0')
  // Who has a release is offered releases, also where it is newer than all that there are.
  assert.equal(await offered(index, '1.10.0'), '1.9.0')
  assert.equal(await offered(index, '2.0.0-beta.1'), '2.0.0-beta.2')
  assert.equal(await offered([...index, '2.0.0', '2.1.0-alpha.1'], '2.0.0-beta.2'), '2.0.0')
  assert.equal(await offered(['2.0.0-beta.1', '2.0.0-beta.2']), '2.0.0-beta.2')
})

test('init.lua belongs to every plugin, and a document that is missing is no obstacle', async (context) => {
  const { directory, catalog, warnings } = await createStage(context)
  const manifest = { files: ['lib.lua'], docs: [{ title: 'Read me', file: 'README.md' }] }
  await writeTree(
    join(directory, 'repository'),
    clockRepository('1.0.0', { manifest, files: { 'clock/lib.lua': '' } }),
  )
  const staged = await catalog.stage(local, clockPlugin)
  assert.deepEqual(Object.keys(staged.integrity), ['init.lua', 'lib.lua', 'plugin.json'])
  assert.deepEqual(
    warnings.map(({ fields }) => fields?.file),
    ['README.md'],
  )
})

test('a repository may be one plugin, with its index beside the manifest', async (context) => {
  const { directory, catalog } = await createStage(context)
  const { 'plugins.json': index = '', 'clock/plugin.json': manifest = '' } = clockRepository('1.0.0', {
    entry: { path: '.' },
  })
  await writeTree(join(directory, 'repository'), {
    'plugins.json': index,
    'plugin.json': manifest,
    'init.lua': 'x',
  })
  assert.equal((await catalog.stage(local, clockPlugin)).manifest.version, '1.0.0')
})

test('links that lead out of a repository are not followed, and a pipe does not hold the host up', async (context) => {
  const { directory, catalog } = await createStage(context)
  const folder = join(directory, 'repository')
  await writeTree(folder, clockRepository())
  await writeFile(join(directory, 'secret.lua'), 'secret')
  await unlink(join(folder, 'clock/init.lua'))
  await symlink(join(directory, 'secret.lua'), join(folder, 'clock/init.lua'))
  const before = await readTree(directory)
  const { code, message } = await problemOf(catalog.stage(local, clockPlugin))
  assert.equal(code, 'repository_unreachable')
  assert.match(message, /clock\/init\.lua is a link that leads out/)
  assert.deepEqual(await readTree(directory), before)

  await unlink(join(folder, 'clock/init.lua'))
  await mkdir(join(folder, 'clock/init.lua'))
  assert.match((await problemOf(catalog.stage(local, clockPlugin))).message, /init\.lua is not a file/)
})

test('the repository is chosen by name, by display name, or as the only one that has the plugin', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(join(directory, 'one'), clockRepository('1.0.0'))
  await writeTree(join(directory, 'two'), {
    'plugins.json': '{"version": 1, "name": "Second", "namespace": "test", "plugins": []}',
  })
  const [one, two, broken] = ['one', 'two', 'three'].map((name) => ({ name, url: `./${name}` })) as [
    typeof local,
    typeof local,
    typeof local,
  ]
  assert.equal(await catalog.choose([two, one, broken], '@test/clock'), one)
  assert.equal(await catalog.choose([one, two], '@test/clock', { name: 'two' }), two)
  assert.equal(await catalog.choose([one, two], '@test/clock', { name: 'Second' }), two)
  const [twin, displayed] = [{ name: 'twin', url: './two' }, { name: 'Second' }]
  assert.equal(
    (await problemOf(catalog.choose([twin, two], '@test/clock', displayed))).code,
    'ambiguous_repository',
  )
  assert.equal(await catalog.choose([twin, two], '@test/clock', { ...displayed, holder: 'two' }), two)

  const refused = async (...given: Parameters<typeof catalog.choose>): Promise<[string, string]> => {
    const { code, message } = await problemOf(catalog.choose(...given))
    return [code, message]
  }
  assert.deepEqual(await refused([one, two], '@test/clock', { name: 'nine' }), [
    'repository_unknown',
    'There is no repository named "nine". Known are "one", "two".',
  ])
  assert.deepEqual(await refused([one, { name: 'copy', url: './one' }], '@test/clock'), [
    'ambiguous_repository',
    '@test/clock is in "one", "copy"; name the repository to install from.',
  ])
  assert.deepEqual(await refused([], '@test/clock'), [
    'plugin_not_in_repository',
    'No repository is configured; add one first.',
  ])
  assert.equal((await refused([two], '@test/clock'))[0], 'plugin_not_in_repository')
  assert.equal((await refused([broken], '@test/clock'))[0], 'repository_unreachable')
  const [code, message] = await refused([two, broken], '@test/clock')
  assert.equal(code, 'plugin_not_in_repository')
  assert.match(message, /three.*no such folder/)
})

test('after the end nothing is read any more', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(join(directory, 'repository'), clockRepository())
  await catalog.close()
  await catalog.close()
  assert.equal((await problemOf(catalog.index(local))).code, 'shutting_down')
  assert.equal((await problemOf(catalog.stage(local, clockPlugin))).code, 'shutting_down')
})

test('no path, however it is written, reads a file outside of its folder', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeTree(directory, {
    'inside/a/b': 'inside',
    'inside/..%2fsecret': 'inside',
    secret: 'secret',
    'inside/x': 'inside',
  })
  const piece = fc.constantFrom(
    '..',
    '.',
    '/',
    '\\',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '%00',
    '\0',
    '\n',
    'a',
    'b',
    'x',
    'secret',
    ' ',
    '//',
    '...',
    'é',
    '😀',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      async (path) => {
        const read = await readContainedFile(join(directory, 'inside'), path, 100).then(
          (bytes) => Buffer.from(bytes).toString(),
          (error: unknown) => {
            assert.ok(error instanceof FileRefused || (error instanceof Error && 'code' in error))
            return undefined
          },
        )
        assert.notEqual(read, 'secret')
        if (!isContainedPath(path)) assert.equal(read, undefined)
      },
    ),
    { numRuns: 500 },
  )
  assert.equal(isContainedPath('lib/a b/😀é.lua'), true)
  const refused = [
    '',
    '/',
    '/etc/passwd',
    'a//b',
    'a/',
    './a',
    'a/..',
    'a/./b',
    'a\\b',
    'a\0',
    '%2e%2e/a',
    'a%2Fb',
    'a%5cb',
    '\ud800',
    'x'.repeat(256),
  ]
  assert.deepEqual(refused.filter(isContainedPath), [])
})

test('a plugin from a folder that takes long for each file is given up after a minute', async (context) => {
  const asked: string[] = []
  const logger: Logger = {
    ...silentLogger,
    warn(_, fields) {
      asked.push(String(fields?.file))
      clock.advance(31_000)
    },
  }
  const { directory, catalog, clock } = await createStage(context, {
    logger,
    limits: { parallelRequests: 1 },
  })
  const folder = join(directory, 'repository')
  await writeTree(folder, clockRepository('1.0.0', { manifest: { docs: ['a.md', 'b.md', 'c.md'] } }))
  const { code, message } = await problemOf(catalog.stage({ name: 'folder', url: folder }, clockPlugin))
  assert.deepEqual([code, asked], ['repository_unreachable', ['a.md', 'b.md']])
  assert.match(message, /did not arrive within 60 s/)
  assert.equal(clock.waiting, 0)
})
