import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { directoryCheckInterval } from '../../src/host/readiness.ts'
import { snapshotRetryDelay } from '../../src/journal/snapshot/snapshot-writer.ts'
import { contentOf } from '../helpers/content-of.ts'
import { startHostFor, startTestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Keeps what its control is set to. */
const lua = `
local plugin = Plugin:new("keeper")
plugin:onInit(function()
  plugin:control("n", function() return plugin:kvGet("n", 0) end, function(value) plugin:kvSet("n", value) end)
end)`

/** Resolves when `.host.json` has been written anew. */
async function watchSnapshot(directory: string): Promise<void> {
  const path = join(directory, '.host.json')
  const { ino } = await stat(path)
  await until('another snapshot', async () => (await stat(path)).ino !== ino)
}

/** Undefined where there is no such folder. */
const lookInto = (directory: string) => contentOf(directory).catch(() => undefined)

const displacements: [title: string, replace: (directory: string, away: string) => Promise<unknown>][] = [
  ['moved away', () => Promise.resolve()],
  ['unmounted', (directory) => mkdir(directory)],
  ['replaced by a copy', (directory, away) => cp(away, directory, { recursive: true })],
]

for (const [title, replace] of displacements) {
  const skip = platform() === 'win32' && 'Windows moves no folder in which a file is open'
  test(
    `a host whose data directory is ${title} writes nothing there, says so, and goes on when it is put back`,
    { skip },
    async (context) => {
      const host = await startTestHost({ plugins: [{ id: 'keeper', lua }] })
      context.after(() => host.close())
      const { directory } = host
      const away = `${directory}-away`
      const post = (path: string, body: object) => host.request('POST', `/api/plugins/${path}`, { body })
      const keep = (value: number) =>
        host.request('PUT', '/api/plugins/keeper/controls/n', { body: { value } })
      const reasons = async (): Promise<string[]> => (await host.request('GET', '/readyz')).body.reasons
      const isKept = async (value: number): Promise<boolean> => {
        const text = await readFile(join(directory, '.kv', 'fixtures--keeper.json'), 'utf8').catch(() => '')
        return text.includes(`"value":${value}`)
      }
      await post('install', { fullId: '@fixtures/keeper' })
      await post('keeper/toggle', { enabled: true })
      assert.equal((await keep(1)).status, 200)
      await until('the stored value', () => isKept(1))

      await rename(directory, away)
      await replace(directory, away)
      const before = await lookInto(directory)
      assert.equal((await keep(2)).status, 200)
      const ofStore = /the stored values of @fixtures\/keeper .* moved, replaced or unmounted; put it back/
      await until('the host to say so', async () => ofStore.test((await reasons()).join()))
      assert.equal((await post('keeper/config', { config: {} })).status, 507)
      assert.equal((await post('install', { fullId: '@fixtures/keeper' })).status, 409)
      assert.deepEqual(await lookInto(directory), before)

      await rm(directory, { recursive: true, force: true })
      await rename(away, directory)
      await until('the stored value', () => isKept(2))
      assert.equal((await post('keeper/config', { config: {} })).status, 200)
      await until('a host in order', async () => (await reasons()).length === 0)

      // Nor at the end.
      await rename(directory, away)
      await replace(directory, away)
      const last = await lookInto(directory)
      await keep(3)
      await host.host.close()
      assert.deepEqual(await lookInto(directory), last)
    },
  )
}

test(
  'a host that writes nothing says that its data directory is gone, until it is back',
  { skip: platform() === 'win32' && 'Windows moves no folder in which a file is open' },
  async (context) => {
    const schedule: Clock['schedule'] = (milliseconds, callback) =>
      systemClock.schedule(milliseconds === directoryCheckInterval ? 1 : milliseconds, callback)
    const host = await startHostFor(context, { clock: { ...systemClock, schedule } })
    const isTold = async (): Promise<boolean> => {
      const { status, body } = await host.request('GET', '/readyz')
      assert.equal(body.ready, status === 200)
      return body.reasons.join() === 'the data directory was moved, replaced or unmounted; put it back'
    }
    assert.equal(await isTold(), false)
    await rename(host.directory, `${host.directory}-away`)
    await until('the host to say so', isTold)
    await rename(`${host.directory}-away`, host.directory)
    await until('a host in order', async () => !(await isTold()))
  },
)

test(
  'a host whose journal could not be written as its data directory was gone is in order when that is back, without a command',
  { skip: platform() === 'win32' && 'Windows moves no folder in which a file is open' },
  async (context) => {
    // The snapshot is tried again when the test says so.
    let retries: (() => void)[] = []
    const schedule: Clock['schedule'] = (milliseconds, callback) => {
      if (milliseconds !== snapshotRetryDelay)
        return systemClock.schedule(milliseconds === directoryCheckInterval ? 1 : milliseconds, callback)
      retries.push(callback)
      return { cancel: () => void (retries = retries.filter((other) => other !== callback)) }
    }
    const tryAgain = (): void => {
      for (const retry of retries.splice(0)) retry()
    }
    const host = await startHostFor(context, { clock: { ...systemClock, schedule } })
    const journal = join(host.directory, '.host.journal')
    const reasons = async (): Promise<string> => (await host.request('GET', '/readyz')).body.reasons.join()
    const isTold = async (): Promise<boolean> => /journal cannot be written/.test(await reasons())
    const change = () =>
      host.host.lifecycle.record([{ type: 'RepositoryRemoved', plugin: null, data: { name: 'x' } }], 'http')

    await rename(host.directory, `${host.directory}-away`)
    await assert.rejects(change(), { code: 'storage_full' })
    assert.equal(await isTold(), true)
    await rename(`${host.directory}-away`, host.directory)
    tryAgain()
    await until('a host in order', async () => (await reasons()) === '')
    await change()

    // That other files are written says nothing of the one of the journal.
    await rename(journal, `${journal}-away`)
    const isWritten = watchSnapshot(host.directory)
    await assert.rejects(change(), { code: 'storage_full' })
    tryAgain()
    await isWritten
    assert.equal(await isTold(), true)
    await rename(`${journal}-away`, journal)
    await change()
    assert.equal(await reasons(), '')
  },
)
