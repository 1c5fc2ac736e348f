import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockRepository, serve, startServer } from '../../repository/repository-fixture.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** A plugin that goes to another host while the files of an update are being fetched. */

const id = '@test/clock'
const path = '/api/plugins/clock'
const tree = (version: string) =>
  clockRepository(version, { files: { 'clock/init.lua': 'return Plugin:new("clock")' } })

for (const asked of ['a', 'b'] as const) {
  test(`an update that a move has ended is done by the next host, and that is the answer, asked of ${asked}`, async (t) => {
    const stage = await startFleetStage(t, [])
    const a = await stage.start('a')
    const server = await startServer(t, serve(tree('1.0.0')))
    await a.request('POST', '/api/repositories', { body: { name: 'test', url: server.url } })
    await install(a, id)
    const b = await stage.start('b')
    await untilPlugin(b, id, 'to run on a', ({ host, state }) => host === 'a' && state === 'running')
    const isFetching = new Promise<void>((resolve) => {
      server.handle = () => resolve()
    })
    const update = { a, b }[asked].request('POST', `${path}/update`, { body: {} })
    await isFetching
    server.handle = serve(tree('2.0.0'))
    assert.equal((await b.request('PUT', `${path}/placement`, { body: { host: 'b' } })).status, 200)
    const { status, body } = await update
    assert.deepEqual([status, body.version, body.host], [200, '2.0.0', 'b'], body.detail)
    const { events } = (await b.request('GET', `${path}/history`)).body
    const updates = events.filter(({ type }: { type: string }) => type === 'PluginUpdated')
    assert.equal(updates.length, 1)
  })
}
