import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

/** Files that the host may have open: some thirty more than it needs. */
const openFiles = 64

for (const listener of ['http', 'mqtt']) {
  test(`clients of ${listener} that take nearly all files are told in the log, and all is well when they go`, async (context) => {
    const within = ['prlimit', `--nofile=${openFiles}:${openFiles}`]
    if (spawnSync('prlimit', [...within.slice(1), 'true']).status !== 0) {
      context.skip('the limit of open files cannot be set here')
      return
    }
    const host = launchHostProcess(join(await temporaryDirectory(context), 'data'), { within })
    const clients: Socket[] = []
    context.after(async () => {
      for (const client of clients) client.destroy()
      await host.stop('SIGKILL')
    })
    const ready = await host.ready
    const port = Number(new URL(String(ready[listener])).port)
    for (let count = 0; count < openFiles; count += 1) {
      const client = connect(port, '127.0.0.1')
      client.on('error', () => undefined)
      clients.push(client)
      await once(client, 'connect')
    }
    const said =
      /"warn".*Clients have taken nearly all of the 64 files that this host may have open: .*\(ulimit -n\)/
    await until('a line in the log', async () => said.test(host.output()), 20_000)
    for (const client of clients.splice(0)) client.destroy()
    await until('an answer', async () => {
      const answer = await fetch(`${String(ready.http)}/readyz`).catch(() => undefined)
      await answer?.text()
      return answer?.status === 200
    })
    const body = JSON.stringify({ fullId: '@starter/clock' })
    const headers = { 'content-type': 'application/json' }
    const installed = await fetch(`${String(ready.http)}/api/plugins/install`, {
      method: 'POST',
      headers,
      body,
    })
    assert.equal(installed.status, 201)
  })
}
