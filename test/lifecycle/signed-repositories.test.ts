import assert from 'node:assert/strict'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import { StartError } from '../../src/host/start-conditions.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { type FixturePlugin, writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { newKey, signFolder } from '../helpers/signed-repository.ts'
import { startHostFor, type TestHost, type TestHostOptions } from '../helpers/test-host.ts'

const key = newKey()
const other = newKey()
const publicKey = key.public.text
const lamp = (version = '1.0.0'): FixturePlugin[] => [
  { id: 'lamp', version, lua: `-- ${version}\nPlugin:new("lamp")` },
]
const start = 1_700_000_000
const id = '@fixtures/lamp'

async function startHost(context: TestContext, options: TestHostOptions = {}): Promise<TestHost> {
  const host = await startHostFor(context, { plugins: lamp(), hostFile: { repositories: [] }, ...options })
  await signFolder(host.repository, key, start)
  return host
}

const add = (host: TestHost, body: object) =>
  host.request('POST', '/api/repositories', { body: { name: 'mine', url: host.repository, ...body } })
const install = (host: TestHost) => host.request('POST', '/api/plugins/install', { body: { fullId: id } })
const update = (host: TestHost) => host.request('POST', `/api/plugins/${id}/update`, { body: {} })

async function repositoryIn(host: TestHost): Promise<any> {
  const { body } = await host.request('GET', '/api/repositories')
  return body.repositories[0]
}

/** What a history tells of repositories. */
const facts = (host: TestHost): unknown[] =>
  host.host.lifecycle
    .history({ limit: 100 })
    .filter(({ type }) => type.startsWith('Repository'))
    .map(({ type, by, data }) => [type, by, data])

const hostFileOf = (host: TestHost): string => join(host.directory, '.host.json')
const readHostFile = async (host: TestHost): Promise<any> =>
  JSON.parse(await readFile(hostFileOf(host), 'utf8'))

test('a repository is added with its key, shown as signed, written down, and kept over a restart', async (context) => {
  let host = await startHost(context)
  const added = await add(host, { publicKey: `untrusted comment: mine\n${publicKey}\n` })
  assert.equal(added.status, 201, JSON.stringify(added.body))
  const shown = {
    name: 'mine',
    url: host.repository,
    publicKey,
    signed: true,
    signedAt: '2023-11-14T22:13:20.000Z',
    namespace: 'fixtures',
    namespaceHeldBy: null,
    plugins: 1,
    error: null,
  }
  assert.deepEqual(added.body.repositories, [shown])
  const data = { name: 'mine', url: host.repository, publicKey, signedAt: start }
  assert.deepEqual(facts(host), [['RepositoryAdded', 'http', data]])
  assert.deepEqual((await readHostFile(host)).repositories, [data])
  assert.equal((await install(host)).status, 201)
  host = await host.restart()
  assert.deepEqual(await repositoryIn(host), shown)
  assert.deepEqual(facts(host), [['RepositoryAdded', 'http', data]])
})

test('a repository that is not signed with the key is not added, and the answer says why', async (context) => {
  const host = await startHost(context)
  const wrong = await add(host, { publicKey: other.public.text })
  assert.deepEqual([wrong.status, wrong.body.code], [422, 'signature_invalid'])
  assert.match(wrong.body.detail, /is made with the key \w{16}, not with \w{16}/)
  await rm(join(host.repository, 'plugins.json.minisig'))
  const missing = await add(host, { publicKey })
  assert.deepEqual([missing.status, missing.body.code], [422, 'signature_invalid'])
  const nonsense = await add(host, { publicKey: 'RWQ' })
  assert.deepEqual(
    [nonsense.status, nonsense.body.code, nonsense.body.errors[0].path],
    [400, 'body_invalid', '/publicKey'],
  )
  assert.deepEqual(facts(host), [])
})

test('a pin stays: it can be added, but neither changed nor left out', async (context) => {
  const host = await startHost(context)
  assert.equal((await add(host, { publicKey: null })).body.repositories[0].signed, false)
  assert.equal((await add(host, { publicKey })).body.repositories[0].signed, true)
  const before = facts(host).length
  for (const body of [{}, { publicKey }, { publicKey: `${publicKey}\n` }]) {
    const { status, body: answer } = await add(host, body)
    assert.deepEqual([status, answer.repositories[0].publicKey], [201, publicKey])
  }
  assert.equal(facts(host).length, before, 'nothing has changed, so nothing is written')
  for (const body of [{ publicKey: other.public.text }, { publicKey: null }]) {
    const { status, body: answer } = await add(host, body)
    assert.deepEqual([status, answer.code], [409, 'repository_pinned'])
    assert.match(answer.detail, /delete it first, then add it again/)
  }
  const elsewhere = join(host.directory, '..', 'elsewhere')
  await host.publish(lamp())
  await signFolder(host.repository, key, start)
  await cp(host.repository, elsewhere, { recursive: true })
  const moved = await add(host, { url: elsewhere })
  assert.deepEqual([moved.status, moved.body.repositories[0].publicKey], [201, publicKey])
  await rm(join(elsewhere, 'plugins.json.minisig'))
  await add(host, {})
  assert.equal((await add(host, { url: elsewhere })).status, 422)
  await host.request('DELETE', '/api/repositories/mine')
  await signFolder(host.repository, other, start)
  const again = await add(host, { publicKey: other.public.text })
  assert.deepEqual([again.status, again.body.repositories[0].publicKey], [201, other.public.text])
})

test('installation, update, their previews and the catalog refuse what is not signed, and the plugin stays', async (context) => {
  const host = await startHost(context)
  await add(host, { publicKey })
  const installed = await install(host)
  assert.equal(installed.status, 201, JSON.stringify(installed.body))
  await host.publish(lamp('2.0.0'))
  for (const [path, body] of [
    [`${id}/update`, {}],
    [`${id}/update/check`, {}],
  ] as const) {
    const answer = await host.request('POST', `/api/plugins/${path}`, { body })
    assert.deepEqual([answer.status, answer.body.code], [422, 'signature_invalid'], path)
  }
  const status = await repositoryIn(host)
  assert.equal(status.signed, false)
  assert.match(status.error, /does not fit|is not there/)
  assert.deepEqual((await host.request('GET', '/api/catalog')).body, { plugins: [] })
  assert.equal((await host.request('GET', `/api/plugins/${id}`)).body.version, '1.0.0')
  await host.request('DELETE', `/api/plugins/${id}?purge=files`)
  for (const path of ['install', 'install/check']) {
    const answer = await host.request('POST', `/api/plugins/${path}`, { body: { fullId: id } })
    assert.deepEqual([answer.status, answer.body.code], [422, 'signature_invalid'], path)
  }
  assert.deepEqual(
    (await readdir(join(host.directory, 'plugins'))).filter((name) => !name.startsWith('.')),
    [],
  )
  await signFolder(host.repository, key, start + 1)
  assert.equal((await install(host)).body.version, '2.0.0')
})

test('a newer signature is remembered over a restart, and an older index is refused from then on', async (context) => {
  let host = await startHost(context)
  await add(host, { publicKey })
  await install(host)
  await host.publish(lamp('2.0.0'))
  await signFolder(host.repository, key, start + 100)
  assert.equal((await update(host)).body.version, '2.0.0')
  const accepted = ['RepositoryIndexAccepted', 'supervisor', { name: 'mine', signedAt: start + 100 }]
  assert.deepEqual(facts(host).at(-1), accepted)
  assert.equal((await readHostFile(host)).repositories[0].signedAt, start + 100)
  host = await host.restart()
  await host.publish(lamp('1.0.0'))
  await signFolder(host.repository, key, start + 99)
  const refused = await update(host)
  assert.deepEqual([refused.status, refused.body.code], [422, 'signature_invalid'])
  assert.match(refused.body.detail, /has been seen\. Somebody may be showing an old one/)
  assert.deepEqual(facts(host).at(-1), accepted)
  // Deleting and adding it again forgets: the owner has decided.
  await host.request('DELETE', '/api/repositories/mine')
  assert.equal((await add(host, { publicKey })).status, 201)
  assert.equal((await update(host)).body.version, '1.0.0')
})

test('many looks at once at a newer index are one fact', async (context) => {
  const host = await startHost(context)
  await add(host, { publicKey })
  await signFolder(host.repository, key, start + 1)
  await Promise.all(Array.from({ length: 8 }, () => host.request('GET', '/api/repositories')))
  assert.equal(facts(host).length, 2)
})

test('when it cannot be written down that an index is newer, reading goes on, and it is caught up', async (context) => {
  let full = false
  const warnings: string[] = []
  const host = await startHost(context, {
    files: failingFileSystem((operation) => full && operation === 'write'),
    logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
  })
  await add(host, { publicKey })
  await signFolder(host.repository, key, start + 1)
  full = true
  assert.equal((await repositoryIn(host)).signed, true)
  assert.deepEqual(
    warnings.filter((message) => message.includes('signed')),
    ['It could not be written down when an index was signed'],
  )
  full = false
  assert.equal((await repositoryIn(host)).signed, true)
  assert.equal((facts(host).at(-1) as unknown[])[0], 'RepositoryIndexAccepted')
})

test('a pin made by hand in .host.json counts, as the file of a new host and as an edit of an old one', async (context) => {
  let host = await startHost(context)
  await add(host, {})
  await host.host.close()
  const file = await readHostFile(host)
  file.repositories[0].publicKey = publicKey
  await writeFile(hostFileOf(host), JSON.stringify(file))
  host = await host.restart()
  assert.deepEqual(facts(host).slice(1, 2), [
    ['RepositoryAdded', 'file', { name: 'mine', url: host.repository, publicKey }],
  ])
  assert.equal((await repositoryIn(host)).signed, true)
  await host.host.close()
  // Another host takes the file over, and with it what was seen.
  const copy = await readHostFile(host)
  delete copy.journal
  const imported = await startHostFor(context, { hostFile: copy })
  assert.deepEqual(facts(imported)[0], [
    'RepositoryAdded',
    'file',
    { name: 'mine', url: host.repository, publicKey, signedAt: start },
  ])
  await signFolder(host.repository, key, start - 1)
  assert.match((await repositoryIn(imported)).error, /has been seen/)
})

const badEdits: [title: string, change: (repository: any) => void, sentence: RegExp][] = [
  [
    'no key any more',
    (repository) => delete repository.publicKey,
    /publicKey is missing \(null in its place/,
  ],
  [
    'a key that is none',
    (repository) => (repository.publicKey = 'RWQ'),
    /publicKey must be a public key of minisign/,
  ],
  [
    'one character of the key',
    (repository) => {
      const last = repository.publicKey.at(-1) === 'A' ? 'B' : 'A'
      repository.publicKey = repository.publicKey.slice(0, -1) + last
    },
    /\/repositories\/0\/publicKey has changed in part/,
  ],
  [
    'one character of its id',
    (repository) => {
      const swapped = repository.publicKey[5] === 'A' ? 'B' : 'A'
      repository.publicKey = repository.publicKey.slice(0, 5) + swapped + repository.publicKey.slice(6)
    },
    /\/repositories\/0\/publicKey has changed in part/,
  ],
  [
    'the time',
    (repository) => (repository.signedAt -= 1),
    /signedAt has changed, which only the host may do/,
  ],
]
test('damage to a key or to the time in .host.json stops the start with its place', async (context) => {
  const host = await startHost(context)
  await add(host, { publicKey })
  await host.host.close()
  for (const [title, change, sentence] of badEdits) {
    const file = await readHostFile(host)
    const before = JSON.stringify(file)
    change(file.repositories[0])
    await writeFile(hostFileOf(host), JSON.stringify(file))
    await assert.rejects(
      () => host.restart(),
      (error) => {
        assert.ok(error instanceof StartError, title)
        assert.match(error.message, sentence, title)
        return true
      },
    )
    await writeFile(hostFileOf(host), before)
  }
  // Another key, whole, is an edit, and so is none when that is said.
  const file = await readHostFile(host)
  file.repositories[0].publicKey = null
  await writeFile(hostFileOf(host), JSON.stringify(file))
  const unpinned = await host.restart()
  const data = { name: 'mine', url: host.repository }
  assert.deepEqual(facts(unpinned).at(-1), ['RepositoryAdded', 'file', data])
  await unpinned.host.close()
  Object.assign(file, await readHostFile(host))
  file.repositories[0].publicKey = other.public.text
  await writeFile(hostFileOf(host), JSON.stringify(file))
  const restarted = await host.restart()
  assert.deepEqual(facts(restarted).at(-1), [
    'RepositoryAdded',
    'file',
    { name: 'mine', url: host.repository, publicKey: other.public.text },
  ])
})

test('an update tells in the history which permissions it adds, and one that adds none tells nothing', async (context) => {
  const hello = (version: string, permissions: object | undefined): FixturePlugin[] => [
    {
      id: 'lamp',
      version,
      lua: `-- ${version}\nPlugin:new("lamp")`,
      manifest: permissions === undefined ? {} : { permissions },
    },
  ]
  const host = await startHostFor(context, { plugins: hello('1.0.0', { hosts: ['a.example'] }) })
  await install(host)
  for (const [version, permissions] of [
    ['2.0.0', { hosts: ['a.example', 'b.example'], mqtt: { publish: ['x/#'] } }],
    ['3.0.0', { hosts: ['a.example'] }],
    ['4.0.0', undefined],
  ] as const) {
    await host.publish(hello(version, permissions))
    assert.equal((await update(host)).status, 200)
  }
  const { body } = await host.request('GET', `/api/plugins/${id}/history`)
  const updates = body.events.filter(({ type }: { type: string }) => type === 'PluginUpdated')
  assert.deepEqual(
    updates.map(({ data }: { data: any }) => data.permissionsAdded),
    [
      [
        { kind: 'host', value: 'b.example' },
        { kind: 'publish', value: 'x/#' },
      ],
      undefined,
      [{ kind: 'everything', value: '*' }],
    ],
  )
})

test('another repository whose index takes the name of one that was removed does not get to update its plugins', async (context) => {
  const host = await startHost(context)
  // The index of every repository here calls itself "Fixtures".
  const name = 'Fixtures'
  assert.equal((await add(host, { name, publicKey })).status, 201)
  assert.equal((await install(host)).status, 201)
  assert.equal((await host.request('DELETE', `/api/repositories/${name}`)).status, 200)
  const theirs = join(host.directory, 'theirs')
  await writeFixtureRepository(theirs, lamp('6.6.6'))
  assert.equal((await add(host, { name: 'theirs', url: theirs })).status, 201)
  for (const path of ['update', 'update/check']) {
    const { status, body } = await host.request('POST', `/api/plugins/${id}/${path}`, { body: {} })
    assert.deepEqual([status, body.code], [404, 'repository_unknown'], path)
    assert.match(body.detail, /came from the repository "Fixtures".*Add it again/)
  }
  assert.equal((await host.request('GET', `/api/plugins/${id}`)).body.version, '1.0.0')
})
