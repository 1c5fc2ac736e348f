import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JournalEventView } from '../../../src/schema/journal/journal-event.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { until } from '../../helpers/until.ts'
import { openJournal } from '../../fleet/fleet-stage.ts'
import { clockRepository, serve, startServer } from '../../repository/repository-fixture.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** One plugin that several hosts are to install. */

const id = '@fixtures/one'
const one = { id: 'one', lua: 'return Plugin:new("one")' }
const body = { fullId: id }

test('an installation that one host is at is neither ended nor repeated by another one', async (t) => {
  const stage = await startFleetStage(t, [one])
  await stage.start('a')
  const b = await stage.start('b')
  // What a writes down first when it installs the plugin.
  const { journal } = await openJournal(t, [stage.nats.url], { fleet: 'test' })
  const data = { repository: 'fixtures', version: '1.0.0' }
  const [requested] = await journal.append([{ type: 'PluginInstallRequested', plugin: id, data }], 'http')
  await until('the other host to know', async () => b.host.lifecycle.lastSeq >= (requested?.seq ?? 0))
  const refused = await b.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /^@fixtures\/one is being installed already/)
  const { events } = (await b.request('GET', '/api/history?limit=1000')).body
  assert.deepEqual(
    events.filter(({ plugin }: JournalEventView) => plugin === id).map(({ type }: JournalEventView) => type),
    ['PluginInstallRequested'],
  )
})

test('of hosts that install a plugin at the same time one does, and the others say that it is there', async (t) => {
  const stage = await startFleetStage(t, [one])
  const hosts = [await stage.start('a'), await stage.start('b'), await stage.start('c')]
  const answers = await Promise.all(
    hosts.map((host) => host.request('POST', '/api/plugins/install', { body })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409])
  for (const { status, body: problem } of answers)
    if (status === 409) assert.match(problem.detail, /^@fixtures\/one is (being )?installed/)
})

test('what was uninstalled a moment ago is installed anew, while its host still gives back what it had', async (t) => {
  const stage = await startFleetStage(t, [])
  const host = await stage.start('a')
  const files = serve(clockRepository('1.0.0', { files: { 'clock/init.lua': 'return Plugin:new("clock")' } }))
  const server = await startServer(t, files)
  await host.request('POST', '/api/repositories', { body: { name: 'test', url: server.url } })
  await install(host, '@test/clock')
  await untilPlugin(host, '@test/clock', 'to be had', (plugin) => plugin.host === 'a')
  await host.request('DELETE', '/api/plugins/clock')
  // The first request for its files waits until that is over, or is ended by it.
  server.handle = (...exchange) => {
    server.handle = files
    void until('the lease to end', async () => {
      const { hosts } = (await host.request('GET', '/api/hosts')).body
      return hosts[0].plugins === 0
    }).then(() => files(...exchange))
  }
  const again = await host.request('POST', '/api/plugins/install', { body: { fullId: '@test/clock' } })
  assert.equal(again.status, 201, again.body.detail)
})

test('an update that asks for more than was shown is refused, also where another host has the plugin', async (t) => {
  const version = (number: string, hosts: string[]) => ({
    ...one,
    ...{ version: number, manifest: { permissions: { hosts } } },
  })
  const stage = await startFleetStage(t, [version('1.0.0', ['a.example'])])
  const a = await stage.start('a')
  await install(a, id)
  const b = await stage.start('b')
  await untilPlugin(b, id, 'to run on a', ({ host, state }) => host === 'a' && state === 'running')
  const post = (path: string) => b.request('POST', `/api/plugins/one/${path}`, { body: {} })
  await stage.publish([version('2.0.0', ['a.example'])])
  const { status, body: check } = await post('update/check')
  assert.deepEqual([status, check.to, check.permissionChanges.added], [200, '2.0.0', []])
  await stage.publish([version('2.0.0', ['a.example', 'b.example'])])
  const refused = await post('update')
  assert.deepEqual([refused.status, refused.body.code], [422, 'integrity_mismatch'])
})

test('a host that could not have the files of a plugin of another one gets them by itself, and tells of it once', async (t) => {
  const stage = await startFleetStage(t, [{ ...one, manifest: { description: 'The first one' } }])
  const a = await stage.start('a')
  const logger = createRecordingLogger()
  const b = await stage.start('b', { logger })
  await b.request('POST', '/api/hosts/b/drain')
  const folder = join(b.directory, 'plugins')
  await rm(folder, { recursive: true, force: true })
  await writeFile(folder, 'not a folder')
  await install(a, id)
  await untilPlugin(b, id, 'to run on a', ({ state }) => state === 'running')
  // What b itself knows of it.
  const description = () => b.host.lifecycle.get(id).description
  assert.equal(description(), null)
  const told = (): number =>
    logger.lines.filter(({ message }) => message.startsWith('The files of a plugin could not be fetched'))
      .length
  await until('b to say why', async () => told() > 0)
  await rm(folder)
  await until('b to know it', async () => description() === 'The first one')
  assert.equal(told(), 1)
})

test('a host follows an update and a rollback on another one without a warning of other files', async (t) => {
  const version = (number: string) => ({ ...one, version: number, manifest: { description: number } })
  const stage = await startFleetStage(t, [version('1.0.0')])
  const a = await stage.start('a')
  await install(a, id)
  const logger = createRecordingLogger()
  const b = await stage.start('b', { logger })
  /** What the manifest says that b itself has. */
  const follows = (number: string) =>
    until(`b to have ${number}`, async () => b.host.lifecycle.get(id).description === number)
  await follows('1.0.0')
  await stage.publish([version('2.0.0')])
  await a.request('POST', '/api/plugins/one/update', { body: {} })
  await follows('2.0.0')
  const { body: back } = await a.request('POST', '/api/plugins/one/rollback', { body: {} })
  assert.deepEqual([back.version, back.host], ['1.0.0', 'a'])
  await follows('1.0.0')
  assert.deepEqual(
    logger.lines.filter(({ fields, level }) => fields?.plugin === id && level !== 'debug'),
    [],
  )
})
