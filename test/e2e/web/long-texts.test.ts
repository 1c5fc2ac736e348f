import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { assertAccessible } from '../../helpers/browser.ts'
import { lampHost, nameOf, options, run, useBrowser, views } from './fixture.ts'

/** Texts of plugins that fill many screens. */

const open = useBrowser()

/** Refuses each value with other words, and at length. */
const refuser: FixturePlugin = {
  id: 'refuser',
  lua: `
local plugin = Plugin:new("refuser")
plugin:onInit(function()
  for _, name in ipairs({ "first", "second", "third" }) do
    plugin:control(name, function() return false end, function() error(string.rep(name .. " no ", 1000)) end)
  end
end)`,
}

for (const view of views)
  test(
    `notices, however long, leave the page to be used, and can be closed: ${nameOf(view)}`,
    options,
    async (context) => {
      const host = await lampHost(context, { plugins: [refuser] })
      await run(host, '@fixtures/refuser')
      const { page } = await open(context, host, view)
      await page.goto('/plugins/@fixtures/refuser/controls')
      const notices = page.locator('.notices')
      for (const name of ['first', 'second', 'third']) {
        // Nothing stands before it.
        await page.getByRole('switch', { name, exact: true }).click()
        await notices.getByText(`${name} no`).waitFor()
        const top = (await notices.boundingBox())?.y ?? 0
        assert.ok(top >= 0, `the notices begin ${-top} pixels above the screen`)
        const last = notices.locator('.notice').last()
        const [frame, text] = [await last.boundingBox(), await last.locator('span').boundingBox()]
        assert.ok((text?.y ?? 0) >= (frame?.y ?? 0), 'its first words can be read')
      }
      await assertAccessible(page, 'three long notices')
      const close = notices.getByRole('button', { name: 'Close this notice' })
      for (const left of [2, 1, 0]) {
        await close.first().click()
        assert.equal(await close.count(), left)
      }
    },
  )
