import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connectStore } from '../../../src/fleet/store/connect-store.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'

const configuration = join(import.meta.dirname, '..', '..', '..', 'docker', 'nats.conf')
/** Digits that the server would take for a number, if they were not in quotes. */
const password = '12e34'

interface Started {
  client: string
  route: string
}

/** A server with the file as it is, but for its ports and its folder. */
async function startServer(context: TestContext, name: string, routes: readonly string[]): Promise<Started> {
  const directory = await temporaryDirectory(context)
  let text = await readFile(configuration, 'utf8')
  const places = {
    '"0.0.0.0:4222"': '"127.0.0.1:-1"',
    '"127.0.0.1:8222"': '"127.0.0.1:-1"',
    '"0.0.0.0:6222"': '"127.0.0.1:-1"',
    '"/data"': JSON.stringify(directory),
  }
  for (const [there, here] of Object.entries(places)) {
    assert.ok(text.includes(there), there)
    text = text.replace(there, here)
  }
  const [file, ports] = [join(directory, 'nats.conf'), join(directory, 'ports')]
  await writeFile(file, text)
  await mkdir(ports)
  const child = spawn('nats-server', ['--config', file, '--ports_file_dir', ports], {
    env: {
      PATH: `${process.env.PATH ?? ''}:/usr/sbin`,
      NATS_NAME: name,
      NATS_PASSWORD: JSON.stringify(password),
      NATS_ROUTES: JSON.stringify(routes),
    },
    stdio: 'ignore',
  })
  context.after(() => end(child))
  return until('the ports of a server', async () => {
    assert.equal(child.exitCode, null, 'it takes the file')
    const [found] = await readdir(ports)
    const content = found === undefined ? '' : await readFile(join(ports, found), 'utf8')
    if (!content.endsWith('}')) return undefined
    const { nats, cluster } = JSON.parse(content) as { nats: [string]; cluster: [string] }
    return { client: nats[0], route: cluster[0].replace('//', `//lupine:${password}@`) }
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

test('three servers with the configuration of the containers keep a stream together, and let in whoever has the password', async (context) => {
  const servers: Started[] = []
  for (const name of ['nats-1', 'nats-2', 'nats-3']) {
    const routes = [`nats://lupine:${password}@127.0.0.1:1`, ...servers.map(({ route }) => route)]
    servers.push(await startServer(context, name, routes))
  }
  const folder = await temporaryDirectory(context)
  const login = async (line: string): Promise<string> => {
    const file = join(folder, `login-${line.length}`)
    await writeFile(file, `${line}\n`)
    return file
  }
  const address = { servers: servers.map(({ client }) => client), name: 'test' }
  const connection = await connectStore({ ...address, passwordFile: await login(`lupine:${password}`) })
  context.after(() => connection.close())
  const manager = await until('JetStream', () => jetstreamManager(connection).catch(() => undefined))
  const info = await until('the cluster', () =>
    manager.streams.add({ name: 'TOGETHER', subjects: ['together'], num_replicas: 3 }).catch(() => undefined),
  )
  assert.equal(info.config.num_replicas, 3)
  const names = [info.cluster?.leader, ...(info.cluster?.replicas ?? []).map(({ name }) => name)]
  assert.deepEqual(names.sort(), ['nats-1', 'nats-2', 'nats-3'])
  assert.ok(
    (connection.info?.max_payload ?? 0) > 2 * 1_024 * 1_024,
    'a whole configuration fits into a message',
  )
  const wrong = { ...address, passwordFile: await login('lupine:another') }
  await assert.rejects(connectStore(wrong), /refuses this login/)
})
