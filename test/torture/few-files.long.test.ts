import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connectPacket } from '../bus/raw-client.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

/** Files that the host may have open: some thirty more than it needs with a plugin or two. */
const openFiles = 64
const id = '@starter/clock'

interface Plugin {
  state: string
  error: { code: string; message: string } | null
}

/** A host that is short of open files as long as there are clients enough; skips the test where the limit cannot be set. */
async function startHost(context: TestContext) {
  const within = ['prlimit', `--nofile=${openFiles}:${openFiles}`]
  if (spawnSync('prlimit', [...within.slice(1), 'true']).status !== 0) {
    context.skip('the limit of open files cannot be set here')
    return undefined
  }
  const host = launchHostProcess(join(await temporaryDirectory(context), 'data'), { within })
  // There is no room for another connection later.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const clients: Socket[] = []
  context.after(async () => {
    leave(clients.length)
    agent.destroy()
    await host.stop('SIGKILL')
  })
  const { http, mqtt } = await host.ready

  async function ask<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const sent = request(`${String(http)}/api/${path}`, { method, agent, headers })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [answer] = await once(sent, 'response')
    return JSON.parse(Buffer.concat(await answer.toArray()).toString()) as T
  }

  const filesOpen = async (): Promise<number> => (await readdir(`/proc/${host.process.pid}/fd`)).length

  async function come(): Promise<void> {
    const client = connect(Number(new URL(String(mqtt)).port), '127.0.0.1')
    client.on('error', () => undefined)
    clients.push(client)
    await once(client, 'connect')
    // One that says nothing is turned away after ten seconds.
    client.write(connectPacket({ id: `client-${clients.length}`, clean: true }))
  }

  /** Clients come until that many files are left to the host. */
  async function crowd(left: number): Promise<void> {
    await until('the host to have all its files open', async () => {
      await come()
      return (await filesOpen()) >= openFiles
    })
    // The last ones may have been turned away already.
    leave(left)
    const wanted = openFiles - left
    let before = openFiles
    await until(`all but ${left} files to be open`, async () => {
      const open = await filesOpen()
      const isSettled = open === before
      before = open
      // A file may have been open for a moment only, and others have waited to be let in.
      if (isSettled && open < wanted) await come()
      if (isSettled && open > wanted) leave(1)
      return isSettled && open === wanted
    })
  }

  function leave(count: number): void {
    for (const client of clients.splice(0, count)) client.destroy()
  }

  return { ask, crowd, leave: () => leave(clients.length) }
}

async function startHostWithPlugin(context: TestContext) {
  const host = await startHost(context)
  await host?.ask('POST', 'plugins/install', { fullId: id })
  return host
}

test('a host whose first command finds no file descriptor left says so, and takes the next one', async (context) => {
  const host = await startHost(context)
  if (host === undefined) return
  // The connection for the commands.
  await host.ask('GET', 'plugins')
  await host.crowd(0)
  const refused = await host.ask<{ code: string; detail: string }>('POST', 'plugins/install', { fullId: id })
  assert.equal(refused.code, 'storage_full')
  assert.match(
    refused.detail,
    /The host has too many files open; raise the limit \(ulimit -n\) and try again/,
  )
  host.leave()
  await until('the plugin to be installed', async () => {
    const { state } = await host.ask<Partial<Plugin>>('POST', 'plugins/install', { fullId: id })
    return state === 'installed'
  })
})

for (const { title, left, code, message } of [
  {
    title: 'a plugin whose files cannot be opened for want of open files is loaded when there are some',
    left: 0,
    code: 'internal',
    message: /cannot be read. The host has too many files open; raise the limit \(ulimit -n\)/,
  },
  {
    title:
      'a plugin for which no worker can be started is loaded when one can, into one that it shares as before',
    left: 2,
    code: 'worker_died',
    message: /no worker thread could be started: .*EMFILE/,
  },
]) {
  test(title, async (context) => {
    const host = await startHostWithPlugin(context)
    if (host === undefined) return
    await host.crowd(left)
    const { state, error } = await host.ask<Plugin>('POST', `plugins/${id}/toggle`, { enabled: true })
    assert.deepEqual({ state, code: error?.code }, { state: 'failed', code })
    assert.match(error?.message ?? '', message)
    host.leave()
    await until('the plugin to run', async () => {
      const plugin = await host.ask<Plugin>('GET', `plugins/${id}`)
      return plugin.state === 'running'
    })
    const { isolates } = await host.ask<{ isolates: { isolation: string }[] }>('GET', 'system')
    assert.deepEqual(
      isolates.map(({ isolation }) => isolation),
      ['shared'],
    )
  })
}
