import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import {
  command,
  installAndStart,
  logMessages,
  startHostFor,
  type TestHost,
  type TestHostOptions,
} from '../../helpers/test-host.ts'

/** Files that are not where the journal says they are: entries written by hand, folders deleted by hand. */

const probe = (version: string): FixturePlugin => ({
  id: 'probe',
  version,
  lua: `
local plugin = Plugin:new("probe")
plugin:onInit(function() plugin:upsertObject("code", { version = "${version}" }) end)
return plugin
`,
})

async function start(context: TestContext, options: TestHostOptions = {}): Promise<TestHost> {
  return await startHostFor(context, { plugins: [probe('1.0.0')], ...options })
}

async function view(host: TestHost) {
  const { version, state, repository, error, integrity } = (await host.request('GET', '/api/plugins/probe'))
    .body
  return { version, state, repository, error: error?.code ?? null, intact: integrity.intact }
}

interface Fact {
  type: string
  data: { version: string; repository: string | null; integrity: Record<string, string>; source?: string }
}

async function restored(
  host: TestHost,
): Promise<[version: string, source: string | undefined, files: string[]][]> {
  const { events } = (await host.request('GET', '/api/plugins/@fixtures/probe/history')).body as {
    events: Fact[]
  }
  return events
    .filter(({ type }) => type === 'PluginFilesRestored')
    .map(({ data }) => [data.version, data.source, Object.keys(data.integrity)])
}

const files = ['init.lua', 'plugin.json']
const removeFolder = (host: TestHost): Promise<void> =>
  rm(join(host.directory, 'plugins', 'fixtures--probe'), { recursive: true })

test('of an entry written by hand, version, repository and hashes of what was fetched are facts', async (context) => {
  const host = await start(context)
  await host.host.close()
  const { repository } = host
  const warnings: string[] = []
  const again = await start(context, {
    plugins: [probe('1.4.0')],
    logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    hostFile: {
      repositories: [{ name: 'fixtures', url: repository }],
      plugins: { installed: [{ id: '@fixtures/probe', enabled: true, config: {} }] },
    },
  })
  const expected = { version: '1.0.0', state: 'running', repository: 'fixtures', error: null, intact: true }
  assert.deepEqual(await view(again), expected)
  assert.deepEqual(await restored(again), [['1.0.0', 'repository', files]])
  // Such an entry is enough: nothing is wrong with it.
  assert.deepEqual(
    warnings.filter((message) => message.includes('plugin')),
    [],
  )
})

test('missing files come back in the version that the journal names', async (context) => {
  const host = await start(context)
  await installAndStart(host, 'probe')
  await removeFolder(host)
  await command(host, 'probe/reload')
  assert.deepEqual(await view(host), {
    version: '1.0.0',
    state: 'running',
    repository: 'fixtures',
    error: null,
    intact: true,
  })
  assert.deepEqual(await restored(host), [['1.0.0', 'repository', files]])
})

test('where only another version can be had, that is a fact, and the version that runs is shown', async (context) => {
  const host = await start(context)
  await installAndStart(host, 'probe')
  await host.publish([probe('2.0.0')])
  await removeFolder(host)
  await command(host, 'probe/reload')
  assert.deepEqual(await view(host), {
    version: '2.0.0',
    state: 'running',
    repository: 'fixtures',
    error: null,
    intact: true,
  })
  assert.deepEqual(await restored(host), [['2.0.0', 'repository', files]])
  assert.match((await logMessages(host, 'probe')).join('\n'), /Version 1\.0\.0 could not be had any more/)
})

test('files of the same version that are not those of before are named in the log of the plugin', async (context) => {
  const host = await start(context)
  await installAndStart(host, 'probe')
  const warnings = (): Promise<string[]> => logMessages(host, 'probe', '?level=warn')
  await removeFolder(host)
  await command(host, 'probe/reload')
  assert.deepEqual(await warnings(), [])
  await host.publish([{ ...probe('1.0.0'), lua: `${probe('1.0.0').lua} -- published anew` }])
  await removeFolder(host)
  await command(host, 'probe/reload')
  assert.deepEqual(await warnings(), [
    'The files of version 1.0.0 were missing, and what takes their place is not all as it was installed: init.lua',
  ])
})

test('missing files come from a version that is kept before anybody is asked', async (context) => {
  const host = await start(context)
  await command(host, 'install', { fullId: '@fixtures/probe' })
  await host.publish([probe('2.0.0')])
  await command(host, 'probe/update')
  await host.host.close()
  await removeFolder(host)
  // By hand: the version before is to run.
  const path = join(host.directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8'))
  delete file.journal
  const { integrity: _integrity, ...entry } = file.plugins.installed[0]
  file.plugins.installed = [{ ...entry, version: '1.0.0', enabled: true }]
  await rm(join(host.directory, '.host.journal'))
  await writeFile(path, JSON.stringify(file))
  await rm(host.repository, { recursive: true })
  const again = await host.restart()
  assert.deepEqual(await restored(again), [['1.0.0', 'kept', files]])
  assert.equal((await view(again)).state, 'running')
})

test('an update to the version that is installed fetches a file again that is gone, and leaves what can be read', async (context) => {
  const host = await start(context)
  await installAndStart(host, 'probe')
  const init = join(host.directory, 'plugins', 'fixtures--probe', 'init.lua')
  const original = await readFile(init, 'utf8')
  await rm(init)
  await command(host, 'probe/reload')
  assert.equal((await view(host)).error, 'manifest_invalid')
  await command(host, 'probe/update')
  const running = { version: '1.0.0', state: 'running', repository: 'fixtures', error: null, intact: true }
  assert.deepEqual([await view(host), await readFile(init, 'utf8')], [running, original])
  // While it runs nobody notices that a file is gone; the next load would.
  await rm(join(host.directory, 'plugins', 'fixtures--probe', 'plugin.json'))
  await command(host, 'probe/update')
  await command(host, 'probe/reload')
  assert.deepEqual(await view(host), running)
  await writeFile(init, `${original}-- mine`)
  await command(host, 'probe/update')
  assert.equal(await readFile(init, 'utf8'), `${original}-- mine`)
})

test('a document that is missing is fetched again by an update, as its error says, and what somebody has edited stays', async (context) => {
  const documented = {
    ...probe('1.0.0'),
    manifest: { docs: ['README.md', 'MORE.md'] },
    files: { 'README.md': '# Probe', 'MORE.md': '# More' },
  }
  const host = await start(context, { plugins: [documented] })
  await installAndStart(host, 'probe')
  const place = (file: string): string => join(host.directory, 'plugins', 'fixtures--probe', file)
  await rm(place('README.md'))
  await writeFile(place('MORE.md'), '# Mine')
  const document = (file: string) => host.request('GET', `/api/plugins/probe/doc?file=${file}`)
  const missing = await document('README.md')
  assert.match(missing.body.detail, /README\.md is missing; .* update the plugin to fetch it again\.$/)
  await command(host, 'probe/update')
  assert.equal((await document('README.md')).body, '# Probe')
  assert.equal((await document('MORE.md')).body, '# Mine')
  assert.equal((await view(host)).state, 'running')
})
