import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { createKeyRing } from '../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { writeDelay } from '../../src/base/files/delayed-write.ts'
import { createKeyValueStores } from '../../src/lifecycle/stores/key-value-stores.ts'
import { defaultRepositoryLimits } from '../../src/repository/limits.ts'
import { generousTime } from '../helpers/generous-time.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import {
  announced,
  installAndStart,
  startHostFor,
  type TestHost,
  type TestHostOptions,
} from '../helpers/test-host.ts'

/** Commands that arrive while something of the same plugin, or of the host, is still being put away. */

async function start(context: TestContext, options: TestHostOptions): Promise<TestHost> {
  return await startHostFor(context, { limits: generousTime, ...options })
}

/** A clock on which nothing ever happens after exactly so many milliseconds. */
function clockWithout(never: number): typeof systemClock {
  return {
    ...systemClock,
    schedule: (milliseconds, callback) =>
      milliseconds === never ? { cancel: () => undefined } : systemClock.schedule(milliseconds, callback),
  }
}

/** Resolves when something with these words in it is announced. */
const heard = (host: TestHost, words: string) =>
  announced(host, (one) => JSON.stringify(one.kind === 'log' ? one.line.value() : one).includes(words))

test('what a plugin stored before it crashed is there when a command loads it while that is still being written', async (context) => {
  const lua = `local p = Plugin:new("x")
p:onInit(function() p:upsertObject("store", { n = p:kvGet("n", 0) }) end)
p:control("n", function() return p:kvGet("n", 0) end, function(value) p:kvSet("n", value) end)
p:control("go", function() return 0 end, function() local t = {} while true do t[#t + 1] = {{}, {}} end end)
`
  let hold = false
  const held = createLatch()
  const free = createLatch()
  const isStore = (path: unknown): boolean => String(path).endsWith('fixtures--x.json')
  const files: typeof systemFileSystem = {
    ...systemFileSystem,
    async rename(from, to) {
      if (hold && isStore(to)) {
        held.open()
        await free.opened
      }
      await systemFileSystem.rename(from, to)
    },
    readFile: ((...given: Parameters<typeof systemFileSystem.readFile>) => {
      // Too early, so the test need not wait any longer.
      const read = systemFileSystem.readFile(...given)
      if (hold && isStore(given[0])) void read.catch(() => undefined).then(free.open)
      return read
    }) as typeof systemFileSystem.readFile,
  }
  // Nothing is written before the crash.
  const host = await start(context, {
    plugins: [{ id: 'x', lua }],
    ...{ files, clock: clockWithout(writeDelay) },
    // In a shared worker it would be moved first.
    settings: { isolation: 'dedicated' },
  })
  const set = (value: number) => host.request('PUT', '/api/plugins/x/controls/n', { body: { value } })
  const stored = async () => (await host.request('GET', '/api/plugins/x/objects')).body.objects.store
  await installAndStart(host, 'x')
  hold = true
  await set(1)
  void host.request('PUT', '/api/plugins/x/controls/go', { body: { value: 1 } }).catch(() => undefined)
  await heard(host, 'The plugin ended by itself')
  await held.opened
  const unloading = heard(host, 'PluginUnloadRequested')
  const reloaded = host.request('POST', '/api/plugins/x/reload')
  await unloading
  for (let turn = 0; turn < 20; turn += 1) await host.request('GET', '/livez')
  free.open()
  assert.equal((await reloaded).body.state, 'running')
  assert.deepEqual(await stored(), { n: 1 })
  hold = false
  await set(2)
  await host.request('POST', '/api/plugins/x/reload')
  assert.deepEqual(await stored(), { n: 2 })
})

test('the host does not wait for a repository that does not answer before it stops', async (context) => {
  const server = createServer(() => asked())
  let asked = (): void => undefined
  const request = new Promise<void>((resolve) => {
    asked = resolve
  })
  server.listen(0, '127.0.0.1')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = await new Promise<string>((resolve) =>
    server.on('listening', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  )
  // The deadlines of requests never come.
  const clock = clockWithout(defaultRepositoryLimits.requestTime)
  const host = await start(context, { clock, hostFile: { repositories: [{ name: 'silent', url }] } })
  const installed = host.request('POST', '/api/plugins/install', { body: { fullId: '@silent/x' } })
  await request
  await host.close()
  const { status, body } = await installed
  assert.deepEqual([status, body.code], [503, 'shutting_down'])
})

test('a store that is removed while it is being written does not come back', async (context) => {
  const directory = await temporaryDirectory(context)
  const held = createLatch()
  const free = createLatch()
  const renamed = createLatch()
  const files: typeof systemFileSystem = {
    ...systemFileSystem,
    async rename(from, to) {
      held.open()
      await free.opened
      await systemFileSystem.rename(from, to)
      renamed.open()
    },
  }
  const ring = createKeyRing([])
  const stores = createKeyValueStores({ directory, files, clock: systemClock, logger: silentLogger, ring })
  context.after(() => stores.close())
  await stores.open('@fixtures/x')
  stores.set('@fixtures/x', 'n', { value: 1 })
  await held.opened
  const removed = stores.remove('@fixtures/x')
  for (let turn = 0; turn < 20; turn += 1) await readdir(directory)
  free.open()
  await Promise.all([removed, renamed.opened])
  assert.deepEqual(await readdir(join(directory, '.kv')), [])
})

function createLatch(): { opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
