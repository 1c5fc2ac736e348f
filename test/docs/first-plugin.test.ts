import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../bus/bus-fixture.ts'
import { startTestHost } from '../helpers/test-host.ts'
import { blocks } from './guide.ts'

/** A message that never comes is a failure, not a wait without end. */
const timeout = 30_000

const script = join(import.meta.dirname, '..', '..', 'scripts', 'index-repository.mjs')

test('the first plugin of the guide does what the guide shows', { timeout }, async (context) => {
  const host = await startTestHost()
  context.after(() => host.close())
  const repository = join(host.directory, 'my-plugins')
  const [manifest = ''] = blocks('json')
  const [code = ''] = blocks('lua')
  await mkdir(join(repository, 'greeter'), { recursive: true })
  await writeFile(join(repository, 'greeter', 'plugin.json'), manifest)
  await writeFile(join(repository, 'greeter', 'init.lua'), code)
  const { status, stderr } = spawnSync(process.execPath, [script, repository], { encoding: 'utf8' })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })

  const post = async (path: string, body: object) => {
    const answer = await host.request('POST', path, { body })
    assert.ok(answer.status < 300, `${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await post('/api/repositories', { name: 'mine', url: repository })
  await post('/api/plugins/install', { fullId: '@my-plugins/greeter' })
  assert.equal((await post('/api/plugins/greeter/toggle', { enabled: true })).state, 'running')

  const client = await connect(context, host.mqttUrl)
  // What mosquitto_sub -v shows, as far as the guide shows it, in any order.
  const expected = new Set(
    blocks('')
      .find((block) => block.startsWith('host/plugins/'))
      ?.trim()
      .split('\n'),
  )
  assert.equal(expected.size, 3)
  const complete = new Promise<void>((resolve) => {
    client.on('message', (topic, payload) => {
      expected.delete(`${topic} ${payload.toString()}`)
      if (expected.size === 0) resolve()
    })
  })
  await client.subscribeAsync('host/plugins/@my-plugins/greeter/#')
  await client.publishAsync('greeter/please', 'a visitor')
  await complete
})
