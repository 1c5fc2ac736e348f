import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Logger, silentLogger } from '../../src/base/log/log.ts'
import { type FixturePlugin, writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost, type TestHostOptions } from '../helpers/test-host.ts'
import { startServer } from './repository-fixture.ts'

const plugin = (id: string, version = '1.0.0'): FixturePlugin => ({
  id,
  version,
  lua: `-- ${version}\nPlugin:new("${id}"):onInit(function() end)`,
})

interface Stage {
  host: TestHost
  warnings: unknown[]
  /** Folder of a repository beside the first one. */
  folder(name: string): string
  /** Ends the host and starts it again. */
  restart(): Promise<void>
}

/** The first repository, `fixtures`, has `lamp`; its namespace is `fixtures`. */
async function start(context: TestContext, options: TestHostOptions = {}): Promise<Stage> {
  const warnings: unknown[] = []
  const logger: Logger = { ...silentLogger, warn: (message, fields) => warnings.push([message, fields]) }
  const stage: Stage = {
    host: await startTestHost({ plugins: [plugin('lamp')], logger, ...options }),
    warnings,
    folder: (name) => join(stage.host.repository, '..', name),
    async restart() {
      stage.host = await stage.host.restart()
    },
  }
  context.after(() => stage.host.close())
  return stage
}

/** Publishes a repository and tells the host of it. */
async function add({ host, folder }: Stage, name: string, plugins: FixturePlugin[], namespace = 'fixtures') {
  await writeFixtureRepository(folder(name), plugins, namespace)
  const { status, body } = await host.request('POST', '/api/repositories', {
    body: { name, url: folder(name) },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.repositories.find((one: { name: string }) => one.name === name)
}

const remove = ({ host }: Stage, name: string) => host.request('DELETE', `/api/repositories/${name}`)

/** From where it was installed, or why not. */
async function install({ host }: Stage, id: string, repository?: string): Promise<string> {
  const body = { fullId: `@fixtures/${id}`, ...(repository === undefined ? {} : { repository }) }
  const checked = await host.request('POST', '/api/plugins/install/check', { body })
  const done = await host.request('POST', '/api/plugins/install', { body })
  assert.equal(checked.body.code, done.body.code)
  return done.status === 201 ? done.body.repository : done.body.code
}

const uninstall = ({ host }: Stage, id: string) => host.request('DELETE', `/api/plugins/@fixtures/${id}`)

/** Each offer as `repository id`, with the repository that has the namespace instead. */
async function catalog({ host }: Stage): Promise<string[]> {
  const { body } = await host.request('GET', '/api/catalog')
  return body.plugins.map(
    ({ repository, fullId, namespaceHeldBy }: Record<string, string>) =>
      `${repository} ${fullId} ${namespaceHeldBy}`,
  )
}

test('a plugin of a second repository of the namespace is installed only when that one is named', async (context) => {
  const stage = await start(context)
  const added = await add(stage, 'evil', [plugin('lamp', '9.0.0'), plugin('extra')])
  assert.equal(added.namespaceHeldBy, 'fixtures')
  assert.deepEqual(await catalog(stage), [
    'fixtures @fixtures/lamp null',
    'evil @fixtures/lamp fixtures',
    'evil @fixtures/extra fixtures',
  ])
  assert.equal(await install(stage, 'lamp'), 'fixtures')
  assert.equal(await install(stage, 'extra'), 'plugin_not_in_repository')
  const { body } = await stage.host.request('POST', '/api/plugins/install', {
    body: { fullId: '@fixtures/extra' },
  })
  assert.match(
    body.detail,
    /belongs to the repository "fixtures".*"evil" claims it, too: .*name that repository/,
  )

  stage.warnings.length = 0
  const checked = await stage.host.request('POST', '/api/plugins/install/check', {
    body: { fullId: '@fixtures/extra', repository: 'evil' },
  })
  assert.equal(checked.body.namespaceHeldBy, 'fixtures')
  assert.equal(await install(stage, 'extra', 'evil'), 'evil')
  assert.deepEqual(stage.warnings, [
    [
      'Installed a plugin of a namespace that belongs to another repository',
      { plugin: '@fixtures/extra', version: '1.0.0', repository: 'evil', heldBy: 'fixtures' },
    ],
  ])
})

test('updates come from where a plugin came from, whoever has the namespace', async (context) => {
  const stage = await start(context)
  await add(stage, 'copy', [plugin('lamp')])
  assert.equal(await install(stage, 'lamp', 'copy'), 'copy')
  await writeFixtureRepository(stage.host.repository, [plugin('lamp', '2.0.0')])
  await writeFixtureRepository(stage.folder('copy'), [plugin('lamp', '3.0.0')])
  const { body } = await stage.host.request('GET', '/api/catalog')
  assert.deepEqual(
    body.plugins.map(({ repository, updateAvailable }: Record<string, unknown>) => [
      repository,
      updateAvailable,
    ]),
    [
      ['fixtures', false],
      ['copy', true],
    ],
  )
  const updated = await stage.host.request('POST', '/api/plugins/lamp/update', { body: {} })
  assert.equal(updated.body.version, '3.0.0')
})

test('who had a namespace first is known after a restart, though its repository cannot be read then', async (context) => {
  const stage = await start(context)
  await add(stage, 'evil', [plugin('lamp')])
  await rename(stage.host.repository, stage.folder('away'))
  await stage.restart()
  assert.equal(await install(stage, 'lamp'), 'repository_unreachable')
  assert.deepEqual(await catalog(stage), ['evil @fixtures/lamp fixtures'])
  await rename(stage.folder('away'), stage.host.repository)
  assert.equal(await install(stage, 'lamp'), 'fixtures')
})

test('a namespace whose repository was removed is free, wherever plugins of other namespaces came from', async (context) => {
  const stage = await start(context)
  assert.equal(await install(stage, 'lamp'), 'fixtures')
  await add(stage, 'former', [plugin('sun')], 'other')
  assert.equal((await remove(stage, 'former')).status, 200)
  assert.equal((await add(stage, 'next', [plugin('sun')], 'other')).namespaceHeldBy, null)
  const { body } = await stage.host.request('POST', '/api/plugins/install', {
    body: { fullId: '@other/sun' },
  })
  assert.equal(body.repository, 'next')
})

test('that the repository which has the namespace cannot be read is told, whatever others can be', async (context) => {
  const stage = await start(context)
  await add(stage, 'other', [plugin('sun')], 'other')
  await rename(stage.host.repository, stage.folder('away'))
  assert.equal(await install(stage, 'lamp'), 'repository_unreachable')
  const { body } = await stage.host.request('POST', '/api/plugins/install', {
    body: { fullId: '@fixtures/lamp' },
  })
  assert.match(body.detail, /^The repository "fixtures" \(.*\) cannot be read: there is no such folder/)
  await rename(stage.folder('away'), stage.host.repository)
  assert.equal(await install(stage, 'lamp'), 'fixtures')
})

test('another one that has its display name is not taken for it while it cannot be read', async (context) => {
  const stage = await start(context)
  await add(stage, 'other', [plugin('lamp')])
  await rename(stage.host.repository, stage.folder('away'))
  await stage.restart()
  assert.equal(await install(stage, 'lamp', 'Fixtures'), 'repository_unreachable')
})

test('a plugin of the repository that has its namespace waits for no other one to answer', async (context) => {
  const stage = await start(context)
  const index = JSON.stringify({ version: 1, name: 'Silent', namespace: 'silent', plugins: [] })
  let abandoned = 0
  const server = await startServer(context, (_, response) => void response.end(index))
  const body = { name: 'silent', url: server.url }
  assert.equal((await stage.host.request('POST', '/api/repositories', { body })).status, 201)
  server.handle = (_, response) => void response.on('close', () => (abandoned += 1))
  assert.equal(await install(stage, 'lamp'), 'fixtures')
  assert.equal(abandoned, 0)
})

test('nor does a plugin that names among its dependencies what is no plugin', async (context) => {
  const stage = await start(context, {
    plugins: [{ ...plugin('lamp'), manifest: { dependencies: ['mosquitto'] } }, plugin('sun')],
  })
  const index = JSON.stringify({ version: 1, name: 'Silent', namespace: 'silent', plugins: [] })
  let abandoned = 0
  const server = await startServer(context, (_, response) => void response.end(index))
  await stage.host.request('POST', '/api/repositories', { body: { name: 'silent', url: server.url } })
  await install(stage, 'lamp')
  const enabled = await stage.host.request('POST', '/api/plugins/lamp/toggle', { body: { enabled: true } })
  assert.equal(enabled.body.state, 'running')
  server.handle = (_, response) => void response.on('close', () => (abandoned += 1))
  await stage.restart()
  const { state, warnings } = (await stage.host.request('GET', '/api/plugins/lamp')).body
  assert.deepEqual([state, abandoned], ['running', 0])
  assert.match(JSON.stringify(warnings), /there is no @fixtures\/mosquitto, installed or in a repository/)
})

test('an update that goes back to an older version is told of, unless that version was asked for', async (context) => {
  const stage = await start(context, { plugins: [plugin('lamp', '2.0.0')] })
  await install(stage, 'lamp')
  const update = (version?: string) =>
    stage.host.request('POST', '/api/plugins/lamp/update', { body: version === undefined ? {} : { version } })
  await stage.host.publish([plugin('lamp', '1.0.0')])
  stage.warnings.length = 0
  assert.equal((await update()).body.version, '1.0.0')
  const message = 'An update went back to an older version: the repository offers no newer one'
  const went = { plugin: '@fixtures/lamp', was: '2.0.0', version: '1.0.0', repository: 'fixtures' }
  assert.deepEqual(stage.warnings.splice(0), [[message, went]])
  await stage.host.publish([plugin('lamp', '0.9.0')])
  await update('0.9.0')
  await stage.host.publish([plugin('lamp', '1.1.0')])
  assert.equal((await update()).body.version, '1.1.0')
  assert.deepEqual(stage.warnings, [])
})

test('a plugin moves with its settings to a mirror that is added under the name of its repository', async (context) => {
  const stage = await start(context)
  await install(stage, 'lamp')
  const post = (path: string, body: unknown) =>
    stage.host.request('POST', `/api/plugins/lamp/${path}`, { body })
  await post('config', { config: { watts: 7 } })
  await remove(stage, 'fixtures')
  const refused = await post('update', {})
  assert.equal(refused.body.code, 'repository_unknown')
  assert.match(
    refused.body.detail,
    /Add it again under that name, .* uninstall the plugin, which forgets its settings/,
  )
  await writeFixtureRepository(stage.folder('mirror'), [plugin('lamp', '1.1.0')])
  const body = { name: 'fixtures', url: stage.folder('mirror') }
  assert.equal((await stage.host.request('POST', '/api/repositories', { body })).status, 201)
  const { version, config } = (await post('update', {})).body
  assert.deepEqual([version, config], ['1.1.0', { watts: 7 }])
})

test('of repositories that are read for the first time together, the first in the list has the namespace', async (context) => {
  const probe = await start(context)
  await writeFixtureRepository(probe.folder('second'), [plugin('lamp'), plugin('extra')])
  const hostFile = {
    repositories: [
      { name: 'first', url: probe.host.repository },
      { name: 'second', url: probe.folder('second') },
    ],
  }
  const stage = await start(context, { hostFile })
  assert.equal(await install(stage, 'extra'), 'plugin_not_in_repository')
  assert.equal(await install(stage, 'lamp'), 'first')
  // It is written down once, however often somebody looks.
  for (let count = 0; count < 2; count += 1) await catalog(stage)
  const { body } = await stage.host.request('GET', '/api/history')
  const claims = body.events.filter(({ type }: { type: string }) => type === 'NamespaceClaimed')
  assert.deepEqual(
    claims.map(({ data }: { data: unknown }) => data),
    [{ namespace: 'fixtures', repository: 'first' }],
  )
})

test('a repository that takes another namespace later does not take over one that is in use', async (context) => {
  const stage = await start(context)
  await add(stage, 'other', [plugin('extra')], 'other')
  await writeFixtureRepository(stage.folder('other'), [plugin('lamp'), plugin('extra')], 'fixtures')
  assert.equal(await install(stage, 'extra'), 'plugin_not_in_repository')
  assert.equal(await install(stage, 'lamp'), 'fixtures')
})

test('a namespace is held while its repository or a plugin of it is there, and passes on after that', async (context) => {
  const stage = await start(context)
  await add(stage, 'copy', [plugin('lamp'), plugin('extra')])
  await install(stage, 'lamp')
  await remove(stage, 'fixtures')
  // A plugin of the first one is still there.
  assert.equal(await install(stage, 'extra'), 'plugin_not_in_repository')
  await uninstall(stage, 'lamp')
  assert.equal(await install(stage, 'extra'), 'copy')
  // It has passed on: the first one is the second now, also after a restart.
  await add(stage, 'fixtures', [plugin('lamp'), plugin('more')])
  await stage.restart()
  assert.equal(await install(stage, 'more'), 'plugin_not_in_repository')
  assert.deepEqual((await catalog(stage)).slice(-2), [
    'fixtures @fixtures/lamp copy',
    'fixtures @fixtures/more copy',
  ])
})

test('of two repositories that are gone and whose plugins stay, the one that had the namespace has it', async (context) => {
  const stage = await start(context)
  await add(stage, 'second', [plugin('extra')])
  assert.equal(await install(stage, 'extra', 'second'), 'second')
  assert.equal(await install(stage, 'lamp'), 'fixtures')
  for (const name of ['fixtures', 'second']) assert.equal((await remove(stage, name)).status, 200)
  assert.equal((await add(stage, 'third', [plugin('sun')])).namespaceHeldBy, 'fixtures')
  await uninstall(stage, 'lamp')
  const { body } = await stage.host.request('GET', '/api/repositories')
  assert.deepEqual(
    body.repositories.map(({ name, namespaceHeldBy }: Record<string, string>) => [name, namespaceHeldBy]),
    [['third', 'second']],
  )
})

for (const [title, isAgain, holder] of [
  ['installed first', false, 'one'],
  ['installed for the longest time', true, 'two'],
] as const) {
  test(`of repositories that are gone the one has the namespace whose plugin has been ${title}`, async (context) => {
    const stage = await start(context)
    await catalog(stage)
    await add(stage, 'one', [plugin('door')])
    await add(stage, 'two', [plugin('window')])
    assert.equal(await install(stage, 'door', 'one'), 'one')
    assert.equal(await install(stage, 'window', 'two'), 'two')
    if (isAgain) {
      await uninstall(stage, 'door')
      assert.equal(await install(stage, 'door', 'one'), 'one')
    }
    for (const name of ['fixtures', 'one', 'two']) await remove(stage, name)
    assert.equal((await add(stage, 'three', [plugin('lamp')])).namespaceHeldBy, holder)
  })
}

test('a namespace that has passed on while nobody claimed it stays there when its first repository is back', async (context) => {
  const stage = await start(context)
  await add(stage, 'second', [plugin('extra')])
  assert.equal(await install(stage, 'extra', 'second'), 'second')
  for (const name of ['second', 'fixtures']) assert.equal((await remove(stage, name)).status, 200)
  assert.deepEqual(await catalog(stage), [])
  assert.equal((await add(stage, 'fixtures', [plugin('lamp')])).namespaceHeldBy, 'second')
})

test('whoever installs the plugin of another repository is told that it reads what the former one had stored', async (context) => {
  const stage = await start(context)
  const { host } = stage
  const storedBy = async (repository: string): Promise<string> => {
    const body = { fullId: '@fixtures/lamp', repository }
    return (await host.request('POST', '/api/plugins/install/check', { body })).body.storedBy
  }
  assert.equal(await storedBy('fixtures'), null)
  await install(stage, 'lamp')
  await add(stage, 'copy', [plugin('lamp')])
  await uninstall(stage, 'lamp')
  assert.deepEqual([await storedBy('copy'), await storedBy('fixtures')], ['fixtures', null])
  stage.warnings.length = 0
  assert.equal(await install(stage, 'lamp', 'copy'), 'copy')
  assert.deepEqual(stage.warnings[0], [
    'A plugin can read what one of its name from another repository has stored',
    { plugin: '@fixtures/lamp', version: '1.0.0', repository: 'copy', storedBy: 'fixtures' },
  ])
  assert.equal(stage.warnings.length, 2)

  await host.request('DELETE', '/api/plugins/@fixtures/lamp?purge=kv')
  assert.deepEqual([await storedBy('copy'), await storedBy('fixtures')], [null, null])
})

test('a repository that is removed and added again before anybody else keeps its namespace', async (context) => {
  const stage = await start(context)
  await install(stage, 'lamp')
  await remove(stage, 'fixtures')
  const evil = await add(stage, 'evil', [plugin('lamp', '9.0.0')])
  assert.equal(evil.namespaceHeldBy, 'fixtures')
  const url = stage.host.repository
  await stage.host.request('POST', '/api/repositories', { body: { name: 'fixtures', url } })
  await uninstall(stage, 'lamp')
  assert.equal(await install(stage, 'lamp'), 'fixtures')
})

test('an entry written by hand gets its files from the repository that has the namespace', async (context) => {
  const probe = await start(context)
  await writeFixtureRepository(probe.folder('second'), [plugin('lamp', '9.0.0'), plugin('extra')])
  const hostFile = {
    repositories: [
      { name: 'first', url: probe.host.repository },
      { name: 'second', url: probe.folder('second') },
    ],
    plugins: {
      installed: [
        { id: '@fixtures/lamp', enabled: true },
        { id: '@fixtures/extra', enabled: true },
      ],
    },
  }
  const { host } = await start(context, { hostFile })
  const lamp = await host.request('GET', '/api/plugins/lamp')
  assert.equal(lamp.body.state, 'running', JSON.stringify(lamp.body.error))
  const logs = await host.request('GET', '/api/plugins/extra')
  assert.deepEqual([logs.body.state, logs.body.error.code], ['failed', 'plugin_not_in_repository'])
})
