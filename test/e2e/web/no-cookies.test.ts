import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { openWindow } from '../../helpers/browser-window.ts'
import { hostWithLamp, lamp, lampHost, options, token } from './fixture.ts'

/** The pages in a browser where somebody has all cookies blocked: it keeps nothing, and throws where a page asks for its storage. */

async function openTab(context: TestContext): Promise<Page> {
  const window = await openWindow(context, {
    profile: { default_content_setting_values: { cookies: 2 } },
  })
  const page = await window.newPage()
  // Firefox refuses it then, as Chromium does not.
  await page.addInitScript(`globalThis.BroadcastChannel = class {
    constructor() {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    }
  }`)
  return page
}

test('a browser that keeps nothing shows the pages, and takes settings', options, async (context) => {
  const host = await hostWithLamp(context)
  const page = await openTab(context)
  await page.goto(`${host.url}/plugins/${lamp}/settings`)
  await assert.rejects(page.evaluate('localStorage.length'), /denied/)
  await page.getByRole('button', { name: 'Theme: as the system' }).click()
  await page.getByRole('button', { name: 'Theme: light' }).click()
  await page.locator('html[data-theme=dark]').waitFor()
  await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
  assert.equal((await host.request('GET', `/api/plugins/${lamp}`)).body.config.room, 'cellar')
})

test(
  'whose browser keeps no login is told so, and not asked for the token again',
  options,
  async (context) => {
    const host = await lampHost(context, { settings: { token } })
    const page = await openTab(context)
    await page.goto(host.url)
    await page.getByLabel('Token of this host').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('The token is right, but this browser keeps no cookie of this host').waitFor()
    assert.equal(await page.getByLabel('Token of this host').inputValue(), token)
  },
)
