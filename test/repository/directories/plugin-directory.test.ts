import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { Problem } from '../../../src/base/problem.ts'
import {
  createPluginDirectory,
  isMissingFiles,
} from '../../../src/repository/directories/plugin-directory.ts'
import type { PluginDirectory } from '../../../src/repository/repository.ts'
import { asStorageProblem } from '../../../src/base/files/storage-fault.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { clockPlugin, createStage, hash, problemOf, readTree, writeTree } from '../repository-fixture.ts'

const manifest = JSON.stringify({
  id: 'clock',
  name: 'Clock',
  version: '1.0.0',
  files: ['init.lua', 'lib.lua'],
  docs: [
    { title: 'Read me', file: 'README.md' },
    { title: 'More', file: 'docs/more.md' },
  ],
})
const plugin = {
  'plugin.json': manifest,
  'init.lua': '-- init',
  'lib.lua': '-- lib',
  'README.md': '# Clock',
  'docs/more.md': 'More',
  'kept.txt': 'no part of the plugin',
}
const folder = 'plugins/test--clock'

test('an installed plugin is read with its Lua files and the hashes of everything', async (context) => {
  const { directory, plugins } = await createStage(context)
  assert.equal(await plugins.exists(clockPlugin), false)
  await writeTree(join(directory, folder), plugin)
  assert.equal(await plugins.exists(clockPlugin), true)
  const { files, integrity, manifest: read } = await plugins.read(clockPlugin)
  assert.deepEqual(
    Object.entries(files).map(([file, bytes]) => [file, Buffer.from(bytes).toString()]),
    [
      ['init.lua', '-- init'],
      ['lib.lua', '-- lib'],
    ],
  )
  const { 'kept.txt': _, ...listed } = plugin
  assert.deepEqual(
    integrity,
    Object.fromEntries(Object.entries(listed).map(([file, text]) => [file, hash(text)])),
  )
  assert.deepEqual(await plugins.readManifest(clockPlugin), read)
})

test('a large manifest is parsed once, for as long as its file is the same', async (context) => {
  const { directory, plugins } = await createStage(context)
  const text = (name: string): string =>
    JSON.stringify({ id: 'clock', name, version: '1.0.0', more: 'x'.repeat(100_000) })
  await writeTree(join(directory, folder), { 'plugin.json': text('One'), 'init.lua': '' })
  const { manifest: first } = await plugins.read(clockPlugin)
  assert.equal(await plugins.readManifest(clockPlugin), first)
  await writeTree(join(directory, folder), { 'plugin.json': text('Two') })
  assert.equal((await plugins.readManifest(clockPlugin)).name, 'Two')
})

test('files that are missing are told from a manifest that is broken', async (context) => {
  const { directory, plugins } = await createStage(context)
  const failure = async (): Promise<[boolean, string]> => {
    const error = await plugins.read(clockPlugin).catch((reason: unknown) => reason)
    return [isMissingFiles(error), (await problemOf(Promise.reject(error))).message]
  }
  const again = 'put it there, or update the plugin to fetch it again.'
  assert.deepEqual(await failure(), [true, `The file ${folder}/plugin.json is missing; ${again}`])
  await writeTree(join(directory, folder), { 'plugin.json': manifest })
  assert.deepEqual(await failure(), [true, `The file ${folder}/init.lua is missing; ${again}`])
  await writeTree(join(directory, folder), { 'plugin.json': '{' })
  const [missing, message] = await failure()
  assert.equal(missing, false)
  assert.match(message, /plugin\.json of @test\/clock is not valid JSON/)
  assert.equal((await problemOf(plugins.readManifest(clockPlugin))).code, 'manifest_invalid')
})

test('a document that is missing does not keep a plugin from being read', async (context) => {
  const { directory, plugins } = await createStage(context)
  await writeTree(join(directory, folder), plugin)
  await rm(join(directory, folder, 'docs'), { recursive: true })
  assert.deepEqual(Object.keys((await plugins.read(clockPlugin)).integrity), [
    'README.md',
    'init.lua',
    'lib.lua',
    'plugin.json',
  ])
  const { code, message } = await problemOf(plugins.readDocument(clockPlugin, 'docs/more.md'))
  assert.equal(code, 'doc_not_found')
  assert.match(message, /docs\/more\.md is missing/)
})

test('files edited into something too large are refused', async (context) => {
  const { directory, plugins } = await createStage(context)
  await writeTree(join(directory, folder), { ...plugin, 'lib.lua': 'x'.repeat(1024 * 1024 + 1) })
  const { code, message } = await problemOf(plugins.read(clockPlugin))
  assert.equal(code, 'manifest_invalid')
  assert.match(message, /lib\.lua is larger than 1048576 bytes/)
})

test('files that are too large together are refused before all of them are read', async (context) => {
  const { directory, plugins } = await createStage(context)
  // The last one is not there: nobody has come so far.
  const names = Array.from({ length: 20 }, (_, index) => `part${index}.lua`)
  const manifest = { ...JSON.parse(plugin['plugin.json']), files: ['init.lua', ...names] }
  const mebibyte = ' '.repeat(1024 * 1024)
  await writeTree(join(directory, folder), {
    ...plugin,
    'plugin.json': JSON.stringify(manifest),
    ...Object.fromEntries(names.slice(0, -1).map((name) => [name, mebibyte])),
  })
  const { code, message } = await problemOf(plugins.read(clockPlugin))
  assert.equal(code, 'manifest_invalid')
  assert.match(message, /^The files of @test\/clock are larger than 10485760 bytes together/)
})

test('only documents that the manifest lists are shown, and none from outside', async (context) => {
  const { directory, plugins } = await createStage(context)
  await writeTree(directory, { 'secret.txt': 'secret' })
  await writeTree(join(directory, folder), plugin)
  assert.equal(Buffer.from(await plugins.readDocument(clockPlugin, 'README.md')).toString(), '# Clock')
  for (const file of ['init.lua', 'plugin.json', 'kept.txt', '../../secret.txt', './README.md', '']) {
    assert.equal((await problemOf(plugins.readDocument(clockPlugin, file))).code, 'doc_not_found', file)
  }
  await rm(join(directory, folder, 'README.md'))
  await symlink('../../secret.txt', join(directory, folder, 'README.md'))
  const { code, message } = await problemOf(plugins.readDocument(clockPlugin, 'README.md'))
  assert.equal(code, 'doc_not_found')
  assert.match(message, /README\.md is a link that leads out/)
})

test('a plugin folder that is a link to where somebody works on it is read', async (context) => {
  const { directory, plugins } = await createStage(context)
  await writeTree(join(directory, 'work'), plugin)
  await mkdir(join(directory, 'plugins'))
  await symlink(join(directory, 'work'), join(directory, folder))
  assert.equal((await plugins.read(clockPlugin)).manifest.version, '1.0.0')
})

test('a kept version is found by its files or its version, and one that is unusable is told', async (context) => {
  const { directory, plugins, warnings } = await createStage(context)
  const release = { version: '1.0.0', integrity: {} }
  assert.equal(await plugins.hasKept(clockPlugin, release), false)
  await writeTree(join(directory, 'plugins/.previous/test--clock'), plugin)
  assert.equal(await plugins.hasKept(clockPlugin, release), true)
  assert.equal(await plugins.hasKept(clockPlugin, { ...release, version: '3.0.0' }), false)
  assert.deepEqual(warnings, [])
  await writeFile(join(directory, 'plugins/.previous/test--clock/plugin.json'), '[]')
  assert.equal(await plugins.hasKept(clockPlugin, release), false)
  assert.equal(warnings.length, 1)
})

test('the start completes or undoes what was interrupted, and says so', async (context) => {
  const { directory, plugins, warnings } = await createStage(context)
  await writeTree(join(directory, 'plugins'), { '.swap/test--clock/init.lua': 'old', '.staging/x/y': 'half' })
  await plugins.recover()
  assert.deepEqual(await readTree(directory), { 'plugins/test--clock/init.lua': 'old' })
  await mkdir(join(directory, 'plugins/.swap'), { recursive: true })
  await rename(join(directory, folder), join(directory, 'plugins/.swap/test--clock'))
  await writeTree(join(directory, folder), { 'init.lua': 'new' })
  await plugins.recover()
  assert.deepEqual(await readTree(directory), {
    'plugins/.previous/test--clock/init.lua': 'old',
    'plugins/test--clock/init.lua': 'new',
  })
  assert.deepEqual(
    warnings.map(({ fields }) => fields?.outcome),
    ['undone', 'completed'],
  )
  await plugins.remove(clockPlugin)
  assert.deepEqual(await readTree(directory), {})
})

test('each way in which a disk refuses has a sentence that says what to do', async () => {
  for (const [code, sentence] of Object.entries({
    ENOSPC: /free some space/,
    EDQUOT: /quota/,
    EROFS: /read-only/,
    EACCES: /may not write/,
    EPERM: /may not write/,
    EIO: /reports an error/,
    EFBIG: /ulimit -f/,
    EBUSY: /mounted by itself/,
    EXDEV: /on one volume/,
    EMFILE: /ulimit -n/,
    ENFILE: /too many files/,
  })) {
    const problem = await problemOf(
      asStorageProblem(() => Promise.reject(Object.assign(new Error(code), { code }))),
    )
    assert.equal(problem.code, 'storage_full')
    assert.match(problem.message, sentence)
  }
  await assert.rejects(
    asStorageProblem(() => Promise.reject(new TypeError('a mistake'))),
    TypeError,
  )
})

/** One call after the other fails, for `task` on the tree. Answers each outcome that was: what was told, and what is there. */
async function eachCallFails(
  context: TestContext,
  tree: Record<string, string>,
  task: (plugins: PluginDirectory) => Promise<void>,
): Promise<{ where: string; refused: boolean; left: string[] }[]> {
  const outcomes = []
  for (let place = 1; ; place += 1) {
    const directory = await temporaryDirectory(context)
    await writeTree(directory, tree)
    const calls: string[] = []
    const files = failingFileSystem((operation) => calls.push(operation) === place && 'EIO', {
      questions: true,
    })
    const plugins = createPluginDirectory({ directory, files, logger: silentLogger })
    const refused = await task(plugins).then(
      () => false,
      (error: unknown) => error instanceof Problem && error.code === 'storage_full',
    )
    if (calls.length < place) return outcomes
    const left = Object.keys(await readTree(directory)).filter((path) => !path.includes('/.staging/'))
    outcomes.push({ where: `${calls[place - 1]} at call ${place}`, refused, left })
  }
}

test('whichever call fails once, a removal that was not refused has left nothing, of older versions neither', async (context) => {
  const tree = {
    [`${folder}/init.lua`]: 'three',
    'plugins/.previous/test--clock/init.lua': 'two',
    'plugins/.older/test--clock/one/init.lua': 'one',
  }
  for (const { where, refused, left } of await eachCallFails(context, tree, (plugins) =>
    plugins.remove(clockPlugin),
  )) {
    if (!refused) assert.deepEqual(left, [], where)
  }
})

test('whichever call fails once, versions that can be returned to are not among those that go', async (context) => {
  const versionIn = (place: string, version: string): [string, string][] =>
    Object.entries(plugin).map(([file, text]) => [`${place}/${file}`, text.replace('1.0.0', version)])
  const wanted = 'plugins/.older/test--clock/two'
  const tree = Object.fromEntries([
    ...versionIn(folder, '4.0.0'),
    ...versionIn('plugins/.previous/test--clock', '3.0.0'),
    ...versionIn(wanted, '2.0.0'),
    ...versionIn('plugins/.older/test--clock/one', '1.0.0'),
  ])
  const kept = ['3.0.0', '2.0.0'].map((version) => ({ version, integrity: {} }))
  for (const { where, left } of await eachCallFails(context, tree, (plugins) =>
    plugins.prune(clockPlugin, kept),
  )) {
    assert.ok(left.includes(`${wanted}/init.lua`), where)
  }
})
