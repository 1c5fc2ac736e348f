import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRestartPolicy } from '../../../src/lifecycle/loading/restart-policy.ts'
import { assertAccessible, assertFitsWidth, type View } from '../../helpers/browser.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import { generousTime } from '../../helpers/generous-time.ts'
import {
  heading,
  hostWithLamp,
  lamp,
  lampHost,
  nameOf,
  options,
  run,
  runningLamp,
  useBrowser,
  views,
} from './fixture.ts'

/** What the pages say and do when something has gone wrong, or might. */

const lampPage = useBrowser()

async function post(host: TestHost, path: string, body: object = {}): Promise<any> {
  const answer = await host.request('POST', `/api/plugins/${path}`, { body })
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

const publish = (host: TestHost, version: string): Promise<void> => host.publish([{ ...lampPlugin, version }])

test('the page of a plugin says that another one, which it needs, does not run', options, async (context) => {
  const host = await lampHost(context)
  for (const id of ['hello', 'dependent']) await run(host, `@fixtures/${id}`)
  const { page } = await lampPage(context, host)
  await page.goto('/plugins/@fixtures/dependent/logs')
  await page.locator('.page-state .chip').getByText('Running').waitFor()
  const note = page.locator('.note', { hasText: 'It needs' })
  assert.equal(await note.count(), 0)
  await post(host, 'hello/toggle', { enabled: false })
  await note.getByText('which does not run: Off.').waitFor()
  await post(host, 'hello/toggle', { enabled: true })
  await note.waitFor({ state: 'detached' })
})

for (const view of views) {
  test(`safe mode is told on every page, and left from any (${nameOf(view)})`, options, async (context) => {
    const settings = { safeMode: false }
    const before = await lampHost(context, { settings })
    await runningLamp(before)
    settings.safeMode = true
    const host = await before.restart()
    context.after(() => host.close())
    const { page, faults } = await lampPage(context, host, view)
    const banner = page.getByRole('region', { name: 'Safe mode' })
    for (const path of ['/plugins', `/plugins/${lamp}`, '/history', '/system']) {
      await page.goto(path)
      await banner.getByText('Safe mode: no plugin is loaded.').waitFor()
      await assertFitsWidth(page, path)
    }
    await assertAccessible(page, 'safe mode')
    await page.goto(`/plugins/${lamp}`)
    const chip = page.locator('.page-state .chip')
    assert.notEqual(await chip.innerText(), 'Running')

    // Settings can be changed all the same; nothing is loaded by that.
    await page.goto(`/plugins/${lamp}/settings`)
    await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
    await page.getByRole('button', { name: /^Save/ }).click()
    await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
    assert.equal((await host.request('GET', `/api/plugins/${lamp}`)).body.config.room, 'cellar')
    assert.notEqual(await chip.innerText(), 'Running')

    await banner.getByRole('button', { name: 'Leave safe mode' }).click()
    await banner.waitFor({ state: 'detached' })
    await chip.getByText('Running').waitFor()
    await page.reload()
    await chip.getByText('Running').waitFor()
    assert.equal(await banner.count(), 0)
    assert.deepEqual(faults, [])
  })
}

for (const view of views) {
  test(
    `what is wrong with the host is told on every page, until it is mended (${nameOf(view)})`,
    options,
    async (context) => {
      const disk = { full: false }
      const files = failingFileSystem(
        (operation, path) => disk.full && operation === 'rename' && path.endsWith('.host.json'),
      )
      const host = await lampHost(context, { files })
      disk.full = true
      await runningLamp(host)
      const { page, faults } = await lampPage(context, host, view)
      const banner = page.getByRole('region', { name: 'Health' })
      for (const path of ['/plugins', `/plugins/${lamp}`, '/system']) {
        await page.goto(path)
        await banner
          .getByText(
            'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
          )
          .waitFor()
        await assertFitsWidth(page, path)
      }
      await assertAccessible(page, 'not in order')
      disk.full = false
      await post(host, `${lamp}/config`, { config: { room: 'cellar' } })
      await banner.waitFor({ state: 'detached' })
      assert.deepEqual(faults, [])
    },
  )
}

test(
  'every version that is kept can be gone back to, with the settings that it had',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    await publish(host, '1.1.0')
    await post(host, 'lamp/update')
    await post(host, 'lamp/config', { config: { room: 'attic' } })
    await publish(host, '1.2.0')
    await post(host, 'lamp/update')
    const { page, faults } = await lampPage(context, host)
    await page.goto(`/plugins/${lamp}`)
    const versions = page.getByRole('list', { name: 'Versions' }).getByRole('listitem')
    await versions.nth(2).waitFor()
    const numbers = async (): Promise<string[]> => versions.locator('strong').allInnerTexts()
    assert.deepEqual(await numbers(), ['1.2.0', '1.1.0', '1.0.0'])
    await assertAccessible(page, 'kept versions')
    // One way back, and not two with different names.
    assert.equal(await page.getByRole('button', { name: /back to/i }).count(), 2)

    // Nobody is to wonder afterwards where the settings of today are.
    await page.getByText('Going back brings the settings of then back, too; those of now are kept').waitFor()
    await page.getByRole('button', { name: 'Go back to 1.0.0' }).click()
    await page.getByText('Lamp is back at version 1.0.0, with the settings it had.').waitFor()
    await versions.filter({ hasText: '1.0.0' }).getByText('Installed', { exact: true }).waitFor()
    await page.reload()
    await page.locator('.id', { hasText: '1.0.0' }).waitFor()
    const { body } = await host.request('GET', `/api/plugins/${lamp}`)
    assert.deepEqual([body.version, body.config.room, body.state], ['1.0.0', 'kitchen', 'running'])
    await page.getByRole('button', { name: 'Go back to 1.2.0' }).click()
    await page.getByText('Lamp is back at version 1.2.0, with the settings it had.').waitFor()
    await page.goto(`/plugins/${lamp}/settings`)
    await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Room' }).inputValue(), 'attic')
    assert.deepEqual(faults, [])
  },
)

/** A plugin whose control takes all memory that there is. */
const bomb = {
  id: 'bomb',
  lua: `
local plugin = Plugin:new("bomb")
plugin:onInit(function() plugin:log("warn", "the fuse is laid") end)
plugin:control("go", function() return 0 end, function()
  local all = {}
  while true do all[#all + 1] = {{}, {}} end
end)
`,
}

/** Resolves when it has crashed, however long its memory takes to be full on a busy machine. */
function explode(host: TestHost): Promise<void> {
  const crashed = new Promise<void>((resolve) => {
    const stop = host.host.lifecycle.subscribe((announcement) => {
      if (announcement.kind !== 'lifecycle' || announcement.event.type !== 'PluginCrashed') return
      stop()
      resolve()
    })
  })
  void host.request('PUT', '/api/plugins/bomb/controls/go', { body: { value: 1 } }).catch(() => undefined)
  return crashed
}

async function runningBomb(host: TestHost): Promise<void> {
  await post(host, 'install', { fullId: '@fixtures/bomb' })
  // The less it may take, the sooner it has.
  await host.request('PUT', '/api/plugins/bomb/limits', { body: { limits: { memory: 24 } } })
  assert.equal((await post(host, 'bomb/toggle', { enabled: true })).state, 'running')
}

test('an update is shown as on trial, and what comes of it, without a reload', options, async (context) => {
  const host = await lampHost(context, { plugins: [bomb], limits: generousTime })
  await runningBomb(host)
  await host.publish([{ ...bomb, version: '2.0.0' }])
  const { page } = await lampPage(context, host)
  await page.goto('/plugins/@fixtures/bomb')
  await page.getByRole('button', { name: 'Look for an update' }).click()
  const update = page.getByRole('dialog', { name: /^Update/ })
  await update.getByText('1.0.0 → 2.0.0').waitFor()
  await update.getByRole('button', { name: 'Update', exact: true }).click()
  const trial = page.getByText(/^Version 2\.0\.0 is on trial since .* 1\.0\.0 comes back by itself\.$/)
  await trial.waitFor()
  await assertAccessible(page, 'a trial')
  await explode(host)
  await page.locator('.id', { hasText: '1.0.0' }).waitFor()
  await trial.waitFor({ state: 'detached' })
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
})

const narrow: View = { theme: 'dark', width: 390, reducedMotion: true }

test('a plugin that has failed shows the last lines of its log, and why', options, async (context) => {
  const restartPolicy = { ...defaultRestartPolicy, budget: 2, firstDelay: 1 }
  const host = await lampHost(context, { plugins: [bomb], limits: generousTime, restartPolicy })
  await runningBomb(host)
  await explode(host)
  await until('it runs again', async () => {
    const { body } = await host.request('GET', '/api/plugins/bomb')
    return body.state === 'running' && body.crashes === 1
  })
  const { page } = await lampPage(context, host, narrow)
  await page.goto('/plugins/@fixtures/bomb')
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
  const isDown = page.getByText('It has crashed 2 times in a row, and is not started again by itself.')
  assert.equal(await isDown.count(), 0)
  await explode(host)
  await page.getByRole('alert').first().waitFor()
  await isDown.waitFor()
  await page.getByText('The last lines of its log', { exact: true }).click()
  const lines = page.getByRole('list', { name: 'The last lines of its log' }).getByRole('listitem')
  await lines.filter({ hasText: 'the fuse is laid' }).first().waitFor()
  await assertFitsWidth(page, 'a failed plugin')
  await assertAccessible(page, 'a failed plugin')
  await page.reload()
  await page.getByText('The last lines of its log', { exact: true }).click()
  await lines.filter({ hasText: 'the fuse is laid' }).first().waitFor()
})

for (const view of views) {
  test(
    `limits are checked while they are typed, saved, and taken back (${nameOf(view)})`,
    options,
    async (context) => {
      const host = await hostWithLamp(context)
      const { page, faults } = await lampPage(context, host, view)
      await page.goto(`/plugins/${lamp}/limits`)
      await heading(page, 'Lamp').waitFor()
      const memory = page.getByRole('textbox', { name: 'Memory', exact: true })
      const save = page.getByRole('button', { name: 'Save the limits' })
      await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
      await assertFitsWidth(page, 'limits')
      await assertAccessible(page, 'limits')

      await memory.fill('1')
      await page.getByText(/^Memory must be a whole number from 24 to/).waitFor()
      await page.getByText('Cannot be saved yet: Memory.').waitFor()
      assert.equal(await save.isDisabled(), true)
      await assertAccessible(page, 'limits with a mistake')
      await memory.fill('256')
      await page.getByText('Saving reloads Lamp.').waitFor()
      await save.click()
      await page.getByText('The limits of Lamp are saved.').waitFor()
      await page.reload()
      assert.equal(await memory.inputValue(), '256')
      const limits = async () => (await host.request('GET', `/api/plugins/${lamp}`)).body.limits
      assert.deepEqual([(await limits()).set, (await limits()).effective.memory], [{ memory: 256 }, 256])

      await memory.fill('512')
      await page.getByRole('button', { name: 'Discard changes' }).click()
      assert.equal(await memory.inputValue(), '256')
      await memory.fill('')
      await save.click()
      await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
      assert.deepEqual((await limits()).set, {})
      assert.deepEqual(faults, [])
    },
  )
}

test(
  'the picture of a machine fits into its panel, with letters that can be read',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    // A screen of 1280 pixels beside a scroll bar, which a browser without a window does not show.
    const { page } = await lampPage(context, host, { theme: 'light', width: 1264 })
    for (const path of [`/machines/plugin-lifecycle?plugin=${lamp}`, '/machines/host']) {
      await page.goto(path)
      await page.locator('.chart svg').waitFor()
      const { excess, letters } = await page.evaluate<{ excess: number; letters: number }>(`(() => {
      const frame = document.querySelector('.chart'), picture = frame.querySelector('svg')
      const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width
      const size = parseFloat(getComputedStyle(frame.querySelector('.arrow-label')).fontSize)
      return { excess: frame.scrollWidth - frame.clientWidth, letters: size * scale }
    })()`)
      assert.ok(excess <= 0, `${path} is ${excess} pixels wider than its panel`)
      assert.ok(letters >= 10, `${path}: letters of ${letters} pixels`)
    }
  },
)
