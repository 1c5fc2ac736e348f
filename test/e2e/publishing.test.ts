import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseMinisign, parsePublicKey, signingTime, verifyMinisign } from '../../src/base/keys/minisign.ts'
import { makeSecretKey, parseSecretKey } from '../../src/base/keys/minisign-secret-key.ts'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { runProgram } from '../helpers/host-process.ts'
import { signFolder } from '../helpers/signed-repository.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startTestHost } from '../helpers/test-host.ts'

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'minisign')

interface Workshop {
  directory: string
  folder: string
  keyFile: string
  publicKey: string
}

/** A repository with unknown members in its index, and a key. */
async function workshop(context: TestContext): Promise<Workshop> {
  const directory = await temporaryDirectory(context)
  const folder = join(directory, 'plugins')
  await writeFixtureRepository(folder, [
    {
      id: 'lamp',
      lua: 'Plugin:new("lamp")',
      manifest: {
        permissions: { hosts: ['a.example'] },
        files: ['init.lua', 'lib/x.lua'],
        docs: [{ title: 'Read me', file: 'README.md' }],
      },
      files: { 'lib/x.lua': 'return 1', 'README.md': '# Lamp', 'notes.txt': 'not fetched' },
    },
    { id: 'other', lua: 'Plugin:new("other")' },
  ])
  const index = JSON.parse(await readFile(join(folder, 'plugins.json'), 'utf8'))
  index.mine = { a: [1, null] }
  index.plugins[0].mine = 'kept'
  index.plugins[0].sha256 = { 'init.lua': '0'.repeat(64), 'gone.lua': '1'.repeat(64) }
  index.plugins[1].permissions = { hosts: ['*'] }
  await writeFile(join(folder, 'plugins.json'), JSON.stringify(index))
  const keyFile = join(directory, 'key')
  const { key, text } = makeSecretKey()
  await writeFile(keyFile, text, { mode: 0o600 })
  return { directory, folder, keyFile, publicKey: key.public.text }
}

const read = (...path: string[]): Promise<Buffer> => readFile(join(...path))

test('a key is made for its owner alone, shown by its public half, and never written over', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  const made = await runProgram(['keygen', keyFile])
  assert.deepEqual([made.code, made.stderr], [0, ''])
  const publicKey = made.stdout.trimEnd().split('\n').at(-1) ?? ''
  const before = await read(keyFile)
  assert.equal((await stat(keyFile)).mode & 0o777, 0o600)
  assert.equal(parseSecretKey(before.toString()).public.text, parsePublicKey(publicKey).text)
  const { code, stdout, stderr } = await runProgram(['keygen', keyFile])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^lupine: .* is there already and stays as it is; .*\n$/)
  assert.deepEqual(await read(keyFile), before)
})

test('an index gets its hashes and its signature, and keeps everything else; a host then takes it', async (context) => {
  const { folder, keyFile, publicKey } = await workshop(context)
  const { code, stdout, stderr } = await runProgram(['sign', folder, '--key', keyFile])
  assert.deepEqual([code, stderr], [0, ''])
  assert.ok(stdout.includes(publicKey), stdout)
  const bytes = await read(folder, 'plugins.json')
  const index = JSON.parse(bytes.toString())
  const [lamp, other] = index.plugins
  assert.deepEqual(
    [index.mine, lamp.mine, Object.keys(lamp.sha256), lamp.permissions, other.permissions],
    [
      { a: [1, null] },
      'kept',
      ['README.md', 'init.lua', 'lib/x.lua', 'plugin.json'],
      { hosts: ['a.example'] },
      undefined,
    ],
  )
  const signature = await read(folder, 'plugins.json.minisig')
  verifyMinisign(bytes, parseMinisign(signature), parsePublicKey(publicKey))
  assert.deepEqual((await readdir(folder)).sort(), ['lamp', 'other', 'plugins.json', 'plugins.json.minisig'])

  const host = await startTestHost({ hostFile: { repositories: [{ name: 'mine', url: folder, publicKey }] } })
  context.after(() => host.close())
  for (const fullId of ['@fixtures/lamp', '@fixtures/other']) {
    const { status, body } = await host.request('POST', '/api/plugins/install', { body: { fullId } })
    assert.equal(status, 201, JSON.stringify(body))
  }
})

test('the index itself may be named in place of its folder', async (context) => {
  const { folder, keyFile } = await workshop(context)
  const { code, stdout, stderr } = await runProgram(['sign', join(folder, 'plugins.json'), '--key', keyFile])
  assert.deepEqual([code, stderr], [0, ''])
  assert.ok(stdout.includes(`${join(folder, 'plugins.json')} is signed`), stdout)
  assert.deepEqual((await readdir(folder)).sort(), ['lamp', 'other', 'plugins.json', 'plugins.json.minisig'])
})

test('signing again changes nothing of an index that is right, and never goes back in time', async (context) => {
  const { folder, keyFile } = await workshop(context)
  await runProgram(['sign', folder, '--key', keyFile])
  const index = await read(folder, 'plugins.json')
  const key = parseSecretKey((await read(keyFile)).toString())
  // As if it had been signed on a computer whose clock is far ahead.
  const ahead = 4_000_000_000
  await signFolder(folder, key, ahead)
  await writeFile(join(folder, 'plugins.json'), index)
  const { stdout } = await runProgram(['sign', folder, '--key', keyFile])
  assert.match(stdout, /^The hashes of 2 plugins are right/)
  assert.deepEqual(await read(folder, 'plugins.json'), index)
  assert.equal(signingTime(parseMinisign(await read(folder, 'plugins.json.minisig'))), ahead + 1)
})

test('with --hashes-only no key is needed, and nothing is signed', async (context) => {
  const { folder } = await workshop(context)
  const { code, stdout } = await runProgram(['sign', folder, '--hashes-only'])
  assert.equal(code, 0)
  assert.match(stdout, /minisign -Sm/)
  assert.deepEqual((await readdir(folder)).sort(), ['lamp', 'other', 'plugins.json'])
  assert.equal(
    Object.keys(JSON.parse((await read(folder, 'plugins.json')).toString()).plugins[0].sha256).length,
    4,
  )
})

test('a key that minisign has made signs, also from its usual place', async (context) => {
  const { directory, folder } = await workshop(context)
  await mkdir(join(directory, '.minisign'))
  const place = join(directory, '.minisign', 'minisign.key')
  await writeFile(place, await read(fixtures, 'secret.key'), { mode: 0o600 })
  const { code, stderr } = await runProgram(['sign', folder], { HOME: directory })
  assert.deepEqual([code, stderr], [0, ''])
  const key = parsePublicKey((await read(fixtures, 'public.key')).toString())
  verifyMinisign(
    await read(folder, 'plugins.json'),
    parseMinisign(await read(folder, 'plugins.json.minisig')),
    key,
  )
})

const refusals: [
  title: string,
  prepare: (shop: Workshop) => Promise<string[]>,
  code: number,
  sentence: RegExp,
][] = [
  [
    'no folder',
    async ({ directory, keyFile }) => ['sign', join(directory, 'x'), '--key', keyFile],
    1,
    /no such folder/,
  ],
  [
    'a folder without an index',
    async ({ directory, keyFile }) => ['sign', directory, '--key', keyFile],
    1,
    /holds no plugins\.json/,
  ],
  [
    'no key',
    async ({ directory, folder }) => ['sign', folder, '--key', join(directory, 'none')],
    1,
    /There is no key at .*lupine keygen/,
  ],
  [
    'a key that others may read',
    async ({ folder, keyFile }) => {
      await chmod(keyFile, 0o644)
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /can be used by others; run "chmod 600/,
  ],
  [
    'a key with a password',
    async ({ folder, keyFile }) => {
      await writeFile(keyFile, await read(fixtures, 'password.key'))
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /has a password.*--hashes-only/,
  ],
  [
    'a file that a manifest names and that is not there',
    async ({ folder, keyFile }) => {
      await writeFile(
        join(folder, 'other', 'plugin.json'),
        JSON.stringify({ id: 'other', name: 'x', version: '1.0.0', files: ['init.lua', 'gone.lua'] }),
      )
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /@fixtures\/other: .*gone\.lua.* is not there/,
  ],
  [
    'a document that is not there',
    async ({ folder, keyFile }) => {
      const manifest = { id: 'other', name: 'x', version: '1.0.0', docs: [{ title: 'x', file: 'gone.md' }] }
      await writeFile(join(folder, 'other', 'plugin.json'), JSON.stringify(manifest))
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /@fixtures\/other: gone\.md is in its docs, but it is not there/,
  ],
  [
    'a manifest that is none',
    async ({ folder, keyFile }) => {
      await writeFile(join(folder, 'other', 'plugin.json'), '{}')
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /@fixtures\/other: .*\/id/,
  ],
  [
    'a manifest that is no JSON, which is told once',
    async ({ folder, keyFile }) => {
      await writeFile(join(folder, 'other', 'plugin.json'), '{ "id": "other"')
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /@fixtures\/other: The plugin\.json of @fixtures\/other is not valid JSON \([^)]*\)\.\n$/,
  ],
  [
    'an index that is none',
    async ({ folder, keyFile }) => {
      await writeFile(join(folder, 'plugins.json'), '{"version":1,')
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /plugins\.json is not valid JSON/,
  ],
  [
    'an entry that no host would take',
    async ({ folder, keyFile }) => {
      const index = { version: 1, name: 'x', namespace: 'fixtures', plugins: [{ id: 'lamp', path: '../x' }] }
      await writeFile(join(folder, 'plugins.json'), JSON.stringify(index))
      return ['sign', folder, '--key', keyFile]
    },
    1,
    /\/plugins\/0\/path/,
  ],
  ['sign without a folder', async () => ['sign'], 2, /lupine sign FOLDER/],
  ['keygen without a file', async () => ['keygen'], 2, /lupine keygen FILE/],
  [
    'keygen with a flag of sign',
    async ({ directory }) => ['keygen', join(directory, 'k'), '--key', 'x'],
    2,
    /keygen FILE/,
  ],
  [
    'sign with a setting of the host',
    async ({ folder }) => ['sign', folder, '--http-port', '0'],
    2,
    /sign FOLDER/,
  ],
  ['a key for the host', async () => ['--key', 'x'], 2, /--key belongs to "lupine sign"/],
  [
    'keygen into a folder that is not there',
    async ({ directory }) => ['keygen', join(directory, 'x', 'k')],
    1,
    /\(ENOENT\): its folder is not there, so make that first\.$/m,
  ],
]

for (const [title, prepare, expected, sentence] of refusals) {
  test(`${title}: one line, code ${expected}, and nothing is written`, async (context) => {
    const shop = await workshop(context)
    const flags = await prepare(shop)
    const before = await read(shop.folder, 'plugins.json')
    const { code, stdout, stderr } = await runProgram(flags)
    assert.deepEqual([code, stdout], [expected, ''], stderr)
    assert.match(stderr, /^lupine: [^\n]+\n$/)
    assert.match(stderr, sentence)
    assert.deepEqual(await read(shop.folder, 'plugins.json'), before)
    assert.deepEqual((await readdir(shop.folder)).sort(), ['lamp', 'other', 'plugins.json'])
    assert.ok(!stderr.includes((await read(shop.keyFile)).toString().split('\n')[1] ?? ' '))
  })
}
