import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible } from '../../helpers/browser.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { held, install, lamp, lampHost, options, runningLamp, useBrowser } from './fixture.ts'

/** What the page of a plugin says above its tabs: why it does not run, and what to do about it. */

const open = useBrowser()

/** Fails at its first start. */
const late: FixturePlugin = {
  id: 'late',
  lua: `
local plugin = Plugin:new("late")
plugin:onInit(function()
  if not plugin:kvGet("answers") then
    plugin:kvSet("answers", true)
    error("the meter does not answer")
  end
end)`,
}

test('a plugin whose setting is missing leads from the reason to the setting', options, async (context) => {
  const host = await lampHost(context)
  await install(host, lamp)
  const { body } = await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'failed')
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}`)
  const reason = page.getByRole('alert').filter({ hasText: 'Room (/config/room) is required' })
  await reason.waitFor()
  assert.equal(await reason.locator('time').getAttribute('datetime'), body.error.at)
  await assertAccessible(page, 'a plugin that lacks a setting')
  await reason.getByRole('link', { name: 'Go to its settings' }).click()
  await page.getByRole('textbox', { name: 'Room' }).fill('attic')
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
})

test('why a plugin had failed is not said of it while it runs', options, async (context) => {
  const host = await lampHost(context, { plugins: [late] })
  await install(host, '@fixtures/late')
  const path = '/api/plugins/@fixtures/late'
  await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/late/limits')
  const reason = page.getByRole('alert').filter({ hasText: 'the meter does not answer' })
  await reason.waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  // On a slow line it takes a while until it is known what else has changed.
  const release = await held(page, 'GET', /\/late$/)
  const { body } = await host.request('POST', `${path}/reload`)
  assert.equal(body.state, 'running')
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
  assert.equal(await reason.count(), 0)
  release()
})

test(
  'an update to other files of the same version says that those of before come back',
  options,
  async (context) => {
    const host = await lampHost(context)
    await runningLamp(host)
    await host.publish([{ ...lampPlugin, lua: `${lampPlugin.lua}-- as it was meant` }])
    const { status } = await host.request('POST', `/api/plugins/${lamp}/update`, { body: {} })
    assert.equal(status, 200)
    const { page } = await open(context, host)
    await page.goto(`/plugins/${lamp}`)
    await page
      .getByText(/^Version 1\.0\.0 is on trial since .* what was installed before comes back by itself\.$/)
      .waitFor()
  },
)

/** Stores more than it may. */
const hoarder: FixturePlugin = {
  id: 'hoarder',
  lua: `
local plugin = Plugin:new("hoarder")
plugin:onInit(function() pcall(plugin.kvSet, plugin, "all", string.rep("x", 3000)) end)`,
}

test('a limit that was reached, or set, has the unit of its value', options, async (context) => {
  const host = await lampHost(context, { plugins: [hoarder] })
  await install(host, '@fixtures/hoarder')
  const path = '/api/plugins/@fixtures/hoarder'
  const limits = { keyValueBytes: 2_048, memory: 64 }
  assert.equal((await host.request('PUT', `${path}/limits`, { body: { limits } })).status, 200)
  const { body } = await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/hoarder/limits')
  await page.getByText(/^It has reached Key value bytes \(2 KiB, at /).waitFor()
  await page.getByText(/Usual: 128 MiB\.$/).waitFor()
  await page.goto('/plugins/@fixtures/hoarder/history')
  await page.getByText('Key value bytes: 2 KiB, Memory: 64 MiB', { exact: true }).waitFor()
})

test('a limit that is kept for several plugins together is told as such', options, async (context) => {
  const host = await lampHost(context, { settings: { isolation: 'shared' } })
  await runningLamp(host)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/limits`)
  const shared = page.getByText('Now it shares a worker, with a limit for all in it')
  await shared.waitFor()
  assert.equal(await shared.count(), 1)
  await page.getByRole('textbox', { name: 'Memory', exact: true }).fill('64')
  await page.getByRole('button', { name: 'Save the limits' }).click()
  await shared.waitFor({ state: 'detached' })
})

test('a plugin that is tried again in hours says so in hours', options, async (context) => {
  const host = await lampHost(context)
  await install(host, lamp)
  const { body } = await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: true } })
  const { page } = await open(context, host)
  // As after a week in which its repository could not be read.
  const error = { ...body.error, code: 'repository_unreachable' }
  const plugin = { ...body, error, restart: { attempt: 40, delay: 21_600_000 } }
  await page.route('**/api/plugins', (route) => route.fulfill({ json: { plugins: [plugin] } }))
  await page.route(`**/api/plugins/${lamp}`, (route) => route.fulfill({ json: plugin }))
  await page.goto(`/plugins/${lamp}`)
  await page.getByText('It is started again by itself, 6.0 hours after this failure (attempt 40).').waitFor()
})
