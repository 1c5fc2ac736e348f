import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { collect, connect, connectListening, lines } from '../bus/bus-fixture.ts'
import { untilOnDisk } from '../bus/kept-bus.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('kill -9 of a host: what its broker had acknowledged is there again, for new clients and for those that were away', async (context) => {
  const directory = await temporaryDirectory(context)
  const first = launchHostProcess(directory)
  context.after(() => first.stop('SIGKILL'))
  const { mqtt } = await first.ready
  const away = await connectAsync(String(mqtt), { clientId: 'away', clean: false })
  await away.subscribeAsync('house/#', { qos: 2 })
  await away.endAsync()
  const client = await connectAsync(String(mqtt))
  await client.publishAsync('homeassistant/light/lamp/config', '{"name":"lamp"}', { qos: 1, retain: true })
  await client.publishAsync('house/one', '1', { qos: 1 })
  await client.publishAsync('house/two', '2', { qos: 2 })
  await client.endAsync()
  await untilOnDisk(directory, 'house/two')
  await first.stop('SIGKILL')

  const second = launchHostProcess(directory)
  context.after(() => second.stop('SIGKILL'))
  const url = String((await second.ready).mqtt)
  const back = connectListening(context, url, { clientId: 'away', clean: false })
  assert.deepEqual(lines(await back.received.take(2)), ['house/one 1', 'house/two 2'])
  const fresh = await connect(context, url)
  const received = collect(fresh)
  await fresh.subscribeAsync('homeassistant/+/lamp/config', { qos: 1 })
  assert.deepEqual(lines(await received.take(1)), ['homeassistant/light/lamp/config {"name":"lamp"}'])
  const { ready } = (await (await fetch(`${String((await second.ready).http)}/readyz`)).json()) as {
    ready: boolean
  }
  assert.ok(ready)
})

/** Node then finds no such package, as on a platform for which it has no binary. */
const withoutLevel = `data:text/javascript,${encodeURIComponent(`
  import { register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    export async function resolve(specifier, context, next) {
      if (specifier === 'classic-level') throw new Error('no binary')
      return next(specifier, context)
    }
  \`))
`)}`

test('where the database has no binary, the broker goes on in memory, and log and readyz say so', async (context) => {
  const directory = await temporaryDirectory(context)
  const host = launchHostProcess(directory, { environment: { NODE_OPTIONS: `--import=${withoutLevel}` } })
  context.after(() => host.stop('SIGKILL'))
  const { mqtt, http } = await host.ready
  const told = host.said('The broker keeps everything in memory only: a restart forgets it')
  const client = await connect(context, String(mqtt))
  await client.publishAsync('kept', 'as long as it runs', { qos: 1, retain: true })
  assert.equal((await told).level, 'error')
  const answer = await fetch(`${String(http)}/readyz`)
  const { ready, reasons } = (await answer.json()) as { ready: boolean; reasons: string[] }
  assert.deepEqual([answer.status, ready, reasons.length], [200, true, 1])
  assert.match(reasons[0] ?? '', /^what the broker keeps is lost at a restart: there is no binary/)
  const received = collect(client)
  await client.subscribeAsync('kept', { qos: 1 })
  assert.deepEqual(lines(await received.take(1)), ['kept as long as it runs'])
  assert.equal(await host.stop('SIGTERM'), 0)
})
