import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible } from '../../helpers/browser.ts'
import { install, lamp, lampHost, options, useBrowser } from './fixture.ts'

/** What the page of a plugin says above its tabs: why it does not run, and what to do about it. */

const open = useBrowser()

test('a plugin whose setting is missing leads from the reason to the setting', options, async (context) => {
  const host = await lampHost(context)
  await install(host, lamp)
  const { body } = await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'failed')
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}`)
  const reason = page.getByRole('alert').filter({ hasText: 'Room (/config/room) is required' })
  await reason.waitFor()
  await assertAccessible(page, 'a plugin that lacks a setting')
  await reason.getByRole('link', { name: 'Go to its settings' }).click()
  await page.getByRole('textbox', { name: 'Room' }).fill('attic')
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
})
