import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { hostWithLamp, lamp, options, useBrowser } from './fixture.ts'

/** Two people who change the same plugin, one of them on a page that has not heard of the other. */

const open = useBrowser()
const path = `/api/plugins/${lamp}`

/** The page, which has read all that it shows, hears of no change, until one of its own is refused for that; what it sends itself arrives. */
async function deafen(page: Page): Promise<void> {
  let isDeaf = true
  page.on('response', (answer) => {
    if (answer.status() === 412) isDeaf = false
  })
  for (const read of [`**${path}`, '**/api/plugins'])
    await page.route(read, (route) => (isDeaf ? route.abort() : route.continue()))
}

test(
  'settings that somebody else has saved are not overwritten by a page that has not heard of it',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.goto(`/plugins/${lamp}/settings`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Room' }).waitFor()
    await deafen(page)
    const changed = { room: 'kitchen', interval: 7 }
    assert.equal((await host.request('POST', `${path}/config`, { body: { config: changed } })).status, 200)
    await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
    await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
    const save = page.getByRole('button', { name: 'Save and reload' })
    await save.click()
    await page.getByText('Lamp has been changed elsewhere meanwhile').waitFor()
    assert.deepEqual((await host.request('GET', path)).body.config, changed)
    assert.equal(await page.getByRole('textbox', { name: 'Room' }).inputValue(), 'cellar')
    assert.equal(await page.getByRole('textbox', { name: 'Interval' }).inputValue(), '7')
    await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
    await save.click()
    await page.getByText('There is nothing to save').waitFor()
    assert.deepEqual((await host.request('GET', path)).body.config, { room: 'cellar', interval: 7 })
  },
)

test(
  'limits that somebody else has set are not overwritten by a page that has not heard of it',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.goto(`/plugins/${lamp}/limits`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Memory', exact: true }).waitFor()
    await deafen(page)
    const set = { timers: 100 }
    assert.equal((await host.request('PUT', `${path}/limits`, { body: { limits: set } })).status, 200)
    await page.getByRole('textbox', { name: 'Memory', exact: true }).fill('512')
    const save = page.getByRole('button', { name: 'Save the limits' })
    await save.click()
    await page.getByText('Lamp has been changed elsewhere meanwhile').waitFor()
    assert.deepEqual((await host.request('GET', path)).body.limits.set, set)
    await save.click()
    await page.getByText('The limits of Lamp are saved.').waitFor()
    assert.deepEqual((await host.request('GET', path)).body.limits.set, { ...set, memory: 512 })
  },
)

test('a plugin that was only loaded again meanwhile takes its settings at once', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/settings`)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Room' }).waitFor()
  await deafen(page)
  assert.equal((await host.request('POST', `${path}/reload`)).status, 200)
  await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
  await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.getByText('There is nothing to save').waitFor()
  assert.deepEqual((await host.request('GET', path)).body.config, { room: 'cellar' })
})

test(
  'the switch of a plugin follows what others do as its state does, before the plugin is read again',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.goto('/plugins')
    await page.getByText('Live', { exact: true }).waitFor()
    const row = page.getByRole('listitem').filter({ hasText: 'Lamp' })
    await row.waitFor()
    await deafen(page)
    for (const enabled of [false, true]) {
      assert.equal((await host.request('POST', `${path}/toggle`, { body: { enabled } })).status, 200)
      await row.getByText(enabled ? 'Running' : 'Off', { exact: true }).waitFor()
      await row.getByRole('switch', { checked: enabled }).waitFor()
    }
  },
)
