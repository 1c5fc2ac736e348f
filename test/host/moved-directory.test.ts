import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { platform } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { directoryLookEvery } from '../../src/host/readiness.ts'
import { contentOf } from '../helpers/content-of.ts'
import { startHostFor, startTestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Keeps what its control is set to. */
const lua = `
local plugin = Plugin:new("keeper")
plugin:onInit(function()
  plugin:control("n", function() return plugin:kvGet("n", 0) end, function(value) plugin:kvSet("n", value) end)
end)`

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
      systemClock.schedule(milliseconds === directoryLookEvery ? 1 : milliseconds, callback)
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
