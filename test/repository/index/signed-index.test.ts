import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Problem } from '../../../src/base/problem.ts'
import { newKey, signedTree, withSignature } from '../../helpers/signed-repository.ts'
import {
  clockPlugin,
  clockRepository,
  createStage,
  problemOf,
  readTree,
  serve,
  startServer,
  type WebServer,
  writeTree,
} from '../repository-fixture.ts'

const key = newKey()
const other = newKey()
const publicKey = key.public.text
const seconds = 1_700_000_000
const manifest = { docs: [{ title: 'Read me', file: 'README.md' }], files: ['init.lua', 'lib.lua'] }
const files = { 'clock/README.md': '# Clock', 'clock/lib.lua': 'return 1' }
const plain = clockRepository('1.0.0', { manifest, files })
const signed = signedTree(plain, key, seconds)

type Tree = Record<string, string>

const without = (tree: Tree, ...paths: string[]): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !paths.includes(path)))

/** The same index with other hashes, signed again. */
function withHashes(change: (sha256: Record<string, string>) => void): Tree {
  const index = JSON.parse(signed['plugins.json'] ?? '')
  change(index.plugins[0].sha256)
  return withSignature({ ...signed, 'plugins.json': JSON.stringify(index) }, key, seconds)
}

const pinned = { name: 'pinned', publicKey }

for (const kind of ['a folder', 'a web server'] as const) {
  test(`a repository in ${kind} that is signed with its key is listed as signed, and its plugin staged`, async (context) => {
    const { directory, catalog, plugins } = await createStage(context)
    const root = join(directory, 'repository')
    await writeTree(root, signed)
    const url = kind === 'a folder' ? root : (await startServer(context, serve(signed))).url
    const repository = { ...pinned, url }
    assert.deepEqual(await catalog.statuses([repository]), [
      {
        ...repository,
        signed: true,
        signedAt: '2023-11-14T22:13:20.000Z',
        namespace: 'test',
        plugins: 1,
        error: null,
      },
    ])
    assert.deepEqual(await catalog.check(repository), { signedAt: seconds })
    await (await catalog.stage(repository, clockPlugin)).swapIn()
    assert.deepEqual(Object.keys((await plugins.read(clockPlugin)).integrity), [
      'README.md',
      'init.lua',
      'lib.lua',
      'plugin.json',
    ])
  })
}

test('without a key a signature is neither asked for nor believed', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, serve(withSignature(signed, other)))
  const [status] = await catalog.statuses([{ name: 'open', url: server.url }])
  assert.deepEqual([status?.signed, status?.signedAt, status?.error], [false, null, null])
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/plugins.json'],
  )
})

const refusals: [title: string, tree: Tree, message: RegExp][] = [
  ['no signature', plain, /its plugins\.json\.minisig is not there\. If its maintainer/],
  [
    'the signature of another key',
    withSignature(signed, other),
    /is made with the key \w{16}, not with \w{16}/,
  ],
  [
    'another key under the id of the right one',
    withSignature(signed, { ...other, keyId: key.keyId }),
    /does not fit: it is of another content, or of another key/,
  ],
  [
    'a changed index',
    { ...signed, 'plugins.json': `${signed['plugins.json']} ` },
    /does not fit: it is of another content/,
  ],
  [
    'a changed trusted comment',
    {
      ...signed,
      'plugins.json.minisig': (signed['plugins.json.minisig'] ?? '').replace(
        /timestamp:\d+/,
        'timestamp:2000000000',
      ),
    },
    /trusted comment that is not the signed one/,
  ],
  [
    'a page in its place',
    { ...signed, 'plugins.json.minisig': '<!doctype html>' },
    /is not a signature file of minisign/,
  ],
  ['an empty signature', { ...signed, 'plugins.json.minisig': '' }, /is not a signature file of minisign/],
  [
    'no hash of the manifest',
    withHashes((sha256) => delete sha256['plugin.json']),
    /no sha256 for plugin\.json of @test\/clock.*"lupine sign" fills it in/,
  ],
  [
    'no hash of a manifest at which nobody can look',
    { ...withHashes((sha256) => delete sha256['plugin.json']), 'clock/plugin.json': '{' },
    /no sha256 for plugin\.json of @test\/clock/,
  ],
  ['no hash of the code', withHashes((sha256) => delete sha256['init.lua']), /no sha256 for init\.lua/],
  ['no hash of a file', withHashes((sha256) => delete sha256['lib.lua']), /no sha256 for lib\.lua/],
  ['no hash of a document', withHashes((sha256) => delete sha256['README.md']), /no sha256 for README\.md/],
]

for (const kind of ['a folder', 'a web server'] as const) {
  for (const [title, tree, message] of refusals) {
    test(`${kind} with ${title} is refused, for an installation and for a look at it, and nothing is written`, async (context) => {
      const { directory, catalog } = await createStage(context)
      const root = join(directory, 'repository')
      await writeTree(root, tree)
      const url = kind === 'a folder' ? root : (await startServer(context, serve(tree))).url
      const repository = { ...pinned, url }
      for (const attempt of [
        () => catalog.stage(repository, clockPlugin),
        () => catalog.stage(repository, clockPlugin, { version: '1.0.0' }),
        () => catalog.preview(repository, clockPlugin),
      ]) {
        const problem = await problemOf(attempt())
        assert.equal(problem.code, 'signature_invalid')
        assert.match(problem.message, message)
        assert.match(problem.message, /\.$/)
      }
      const indexIsGood = title.startsWith('no hash')
      const [status] = await catalog.statuses([repository])
      assert.equal(status?.signed, indexIsGood)
      assert.equal(status?.error === null, indexIsGood)
      assert.equal((await catalog.offers([repository])).length, indexIsGood ? 1 : 0)
      assert.deepEqual(await readTree(join(directory, 'plugins')), {})
    })
  }
}

test('a file that is not the one that is signed for is refused, whichever it is', async (context) => {
  for (const file of ['plugin.json', 'init.lua', 'lib.lua', 'README.md']) {
    const { catalog } = await createStage(context)
    const path = `clock/${file}`
    const content = file === 'plugin.json' ? `${signed[path]} ` : `${signed[path]}!`
    const server = await startServer(context, serve({ ...signed, [path]: content }))
    const { code, message } = await problemOf(catalog.stage({ ...pinned, url: server.url }, clockPlugin))
    assert.deepEqual([code, message.includes(`The file ${file} of`)], ['integrity_mismatch', true], message)
  }
})

test('a document that is signed for must be there', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, serve(without(signed, 'clock/README.md')))
  const { message } = await problemOf(catalog.stage({ ...pinned, url: server.url }, clockPlugin))
  assert.match(message, /README\.md, which is signed for, but it is not there/)
})

test('a signature that is too large is not read to its end', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, serve({ ...signed, 'plugins.json.minisig': 'x'.repeat(20_000) }))
  const { code, message } = await problemOf(catalog.stage({ ...pinned, url: server.url }, clockPlugin))
  assert.equal(code, 'repository_unreachable')
  assert.match(message, /plugins\.json\.minisig is larger than 16384 bytes/)
  assert.equal(
    server.requests.length,
    2,
    'an index is fetched again only where the two may not belong together',
  )
})

test('a repository that was signed at a time beyond all dates is listed, and its time is a number', async (context) => {
  const { directory, catalog } = await createStage(context)
  const repository = { ...pinned, url: join(directory, 'repository') }
  await writeTree(repository.url, signedTree(plain, key, 999_999_999_999_999))
  const [status] = await catalog.statuses([repository])
  assert.deepEqual([status?.error, status?.signedAt], [null, 'second 999999999999999'])
})

/** Answers `now` for a path as often as it is asked for, then `later`. */
function changing(server: WebServer, path: string, now: Tree, later: Tree, times = 1): void {
  let left = times
  server.handle = (request, response) => {
    if (request.url === `/${path}` && left > 0) {
      left -= 1
      serve(now)(request, response)
    } else serve(later)(request, response)
  }
}

test('an index that is replaced between it and its signature is fetched once more', async (context) => {
  const newer = signedTree(clockRepository('2.0.0', { manifest, files }), key, seconds + 1)
  for (const path of ['plugins.json', 'plugins.json.minisig']) {
    const { catalog } = await createStage(context)
    const server = await startServer(context, serve(signed))
    changing(server, path, signed, newer)
    const staged = await catalog.stage({ ...pinned, url: server.url }, clockPlugin)
    assert.equal(staged.manifest.version, '2.0.0')
    await staged.discard()
    changing(server, path, signed, newer, 9)
    const { code } = await problemOf(catalog.stage({ ...pinned, url: server.url }, clockPlugin))
    assert.equal(code, 'signature_invalid', 'it is not tried for ever')
    const asked = server.requests.filter((request) => request.path === '/plugins.json')
    assert.equal(asked.length, 4)
    assert.ok(asked.every(({ headers }) => headers['cache-control'] === 'no-cache'))
  }
})

/** Answers that it has not changed, to whoever has it. */
const serveUnchanged: RequestListener = (request, response) => {
  if (request.headers['if-none-match'] === '"one"') return void response.writeHead(304).end()
  response.setHeader('etag', '"one"')
  serve(signed)(request, response)
}

test('an index that has not changed needs no second look at its signature', async (context) => {
  const { catalog, clock } = await createStage(context)
  const server = await startServer(context, serveUnchanged)
  const repository = { ...pinned, url: server.url }
  await catalog.index(repository)
  clock.advance(60_000)
  const [status] = await catalog.statuses([repository])
  assert.deepEqual([status?.signed, status?.error], [true, null])
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/plugins.json', '/plugins.json.minisig', '/plugins.json'],
  )
})

test('what was read with one key, or with none, does not count for another', async (context) => {
  const { catalog } = await createStage(context)
  const server = await startServer(context, serveUnchanged)
  const open = { name: 'r', url: server.url }
  const rightly = { ...open, publicKey }
  const wrongly = { ...open, publicKey: other.public.text }
  const seen = async (repository: typeof open): Promise<unknown> => {
    const [status] = await catalog.statuses([repository])
    return [status?.signed, status?.error === null]
  }
  assert.deepEqual(await seen(open), [false, true])
  assert.deepEqual(await seen(wrongly), [false, false])
  assert.deepEqual(await seen(rightly), [true, true])
  assert.deepEqual(await seen(wrongly), [false, false])
  assert.deepEqual(await seen(open), [false, true])
})

test('an index that was good is not replaced by one that is not, which the log says once', async (context) => {
  const { catalog, clock, warnings } = await createStage(context)
  const server = await startServer(context, serve(signed))
  const repository = { ...pinned, url: server.url }
  await catalog.index(repository)
  server.handle = serve(plain)
  assert.equal((await problemOf(catalog.stage(repository, clockPlugin))).code, 'signature_invalid')
  clock.advance(60_000)
  assert.equal((await problemOf(catalog.index(repository))).code, 'signature_invalid')
  const told = (): unknown[] => warnings.filter(({ message }) => message === 'A repository is refused')
  assert.equal(told().length, 1)
  server.handle = serve(signed)
  assert.equal((await catalog.index(repository)).namespace, 'test')
  server.handle = serve(plain)
  await problemOf(catalog.stage(repository, clockPlugin))
  assert.equal(told().length, 2)
})

test('nothing of an index is believed before it is kept when that was signed', async (context) => {
  const kept: number[] = []
  let full = true
  const { directory, catalog } = await createStage(context, {
    times: {
      latest: () => kept.at(-1),
      // As the journal refuses it, which comes later than the question.
      async remember(_repository, signedAt) {
        await setImmediate()
        if (full) throw new Problem('storage_full', 'There is no room.')
        kept.push(signedAt)
      },
    },
  })
  const root = join(directory, 'repository')
  await writeTree(root, signed)
  const repository = { ...pinned, url: root }
  assert.equal((await problemOf(catalog.stage(repository, clockPlugin))).code, 'storage_full')
  full = false
  assert.equal((await catalog.index(repository)).plugins.length, 1)
  assert.deepEqual(kept, [seconds])
})

test('an index that was signed before one that was seen is refused, however good its signature is', async (context) => {
  const { directory, catalog } = await createStage(context)
  const root = join(directory, 'repository')
  const repository = { ...pinned, url: root }
  const publish = async (version: string, time: number): Promise<void> =>
    writeTree(root, signedTree(clockRepository(version, { manifest, files }), key, time))
  const offered = async (): Promise<unknown> => (await catalog.index(repository)).plugins[0]?.version
  await publish('2.0.0', seconds)
  assert.equal(await offered(), '2.0.0')
  await publish('1.0.0', seconds - 1)
  const { code, message } = await problemOf(catalog.stage(repository, clockPlugin))
  assert.equal(code, 'signature_invalid')
  assert.match(
    message,
    /signed on 2023-11-14T22:13:19\.000Z, and one that was signed on 2023-11-14T22:13:20\.000Z/,
  )
  await publish('2.0.1', seconds)
  assert.equal(await offered(), '2.0.1', 'signed in the same second')
  await publish('2.1.0', 4_000_000_000)
  assert.equal(await offered(), '2.1.0', 'no clock of this computer counts')
  await publish('2.2.0', seconds + 1)
  assert.match((await problemOf(catalog.index(repository))).message, /signed on 2096-10-02/)
  assert.match(
    (await problemOf(catalog.index(repository))).message,
    /delete the repository here and add it again/,
  )
})

test('a signature without a time is taken until one with a time was seen', async (context) => {
  const { directory, catalog } = await createStage(context)
  const root = join(directory, 'repository')
  const repository = { ...pinned, url: root }
  const { signMinisign } = await import('../../../src/base/keys/minisign-secret-key.ts')
  const { sign } = await import('node:crypto')
  const timeless = (tree: Tree): Tree => {
    const lines = signMinisign(Buffer.from(tree['plugins.json'] ?? ''), 'x', 0, key).split('\n')
    const signature = Buffer.from(lines[1] ?? '', 'base64').subarray(-64)
    lines[2] = 'trusted comment: no time'
    lines[3] = sign(null, Buffer.concat([signature, Buffer.from('no time')]), key.private).toString('base64')
    return { ...tree, 'plugins.json.minisig': lines.join('\n') }
  }
  await writeTree(root, timeless(signed))
  assert.deepEqual(await catalog.check(repository), { signedAt: undefined })
  const [status] = await catalog.statuses([repository])
  assert.deepEqual([status?.signed, status?.signedAt], [true, null])
  await writeTree(root, signed)
  await catalog.check(repository)
  await writeTree(root, timeless(signed))
  assert.match(
    (await problemOf(catalog.check(repository))).message,
    /was signed at a time that it does not tell/,
  )
})

test('another repository does not take the place of a pinned one that is refused', async (context) => {
  const { directory, catalog } = await createStage(context)
  await writeTree(join(directory, 'good'), signed)
  await writeTree(join(directory, 'open'), plain)
  const repositories = [
    { ...pinned, url: 'good' },
    { name: 'open', url: 'open' },
  ]
  assert.equal((await problemOf(catalog.choose(repositories, '@test/clock'))).code, 'ambiguous_repository')
  await rm(join(directory, 'good', 'plugins.json.minisig'))
  const { code, message } = await problemOf(catalog.choose(repositories, '@test/clock'))
  assert.equal(code, 'ambiguous_repository')
  assert.match(message, /is in "open"; name the repository.*"pinned".*is refused/)
  assert.equal((await catalog.choose(repositories, '@test/clock', { name: 'open' })).name, 'open')
  // After a restart it is not known what the pinned one has.
  const { catalog: newer } = await createStage(context, { directory })
  assert.equal((await problemOf(newer.choose(repositories, '@test/clock'))).code, 'ambiguous_repository')
  // One of another namespace has nothing to do with it.
  const index = { version: 1, name: 'x', namespace: 'other', plugins: [] }
  const elsewhere = signedTree({ 'plugins.json': JSON.stringify(index) }, key, seconds)
  await writeTree(join(directory, 'good'), elsewhere)
  assert.equal((await catalog.choose(repositories, '@test/clock')).name, 'open')
  await rm(join(directory, 'good', 'plugins.json.minisig'))
  assert.equal((await catalog.choose(repositories, '@test/clock')).name, 'open')
  const alone = await problemOf(catalog.choose(repositories.slice(0, 1), '@test/clock'))
  assert.equal(alone.code, 'signature_invalid')
})

test('the catalog shows the permissions that an index names, and nothing for what is no list of them', async (context) => {
  const { directory, catalog } = await createStage(context)
  const entry = (id: string, permissions?: unknown) => ({
    id,
    name: id,
    version: '1.0.0',
    path: id,
    permissions,
  })
  const permissions = { hosts: ['api.example.com'], mqtt: { publish: ['a/#'] } }
  const index = {
    version: 1,
    name: 'x',
    namespace: 'test',
    plugins: [entry('a', permissions), entry('b', {}), entry('c'), entry('d', ['net']), entry('e', null)],
  }
  await writeTree(join(directory, 'r'), { 'plugins.json': JSON.stringify(index) })
  const offers = await catalog.offers([{ name: 'r', url: 'r' }])
  assert.deepEqual(
    offers.map((offer) => offer.permissions),
    [permissions, {}, null, null, null],
  )
})
