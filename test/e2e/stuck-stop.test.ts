import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { launchHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** Servers whose end nobody hears of, and a minute that is over sooner, so that nothing here waits for one. */
const stuckServers = `
import { Server } from 'node:net'
Server.prototype.close = () => undefined
const schedule = globalThis.setTimeout
globalThis.setTimeout = (callback, delay, ...more) => schedule(callback, delay === 60_000 ? 100 : delay, ...more)
`

test('a stop that is stuck ends after a minute in which nothing was written down, with a line that says so', async (context) => {
  const directory = await temporaryDirectory(context)
  const preload = join(await temporaryDirectory(context), 'stuck-servers.mjs')
  await writeFile(preload, stuckServers)
  const host = launchHostProcess(directory, {
    environment: { NODE_OPTIONS: `--import ${pathToFileURL(preload).href}` },
  })
  context.after(() => void host.process.kill('SIGKILL'))
  await host.ready
  assert.equal(await host.stop('SIGTERM'), null)
  assert.match(host.output(), /The host does not stop, and is killed: what was acknowledged is on disk/)
})
