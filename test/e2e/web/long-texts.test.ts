import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { assertAccessible } from '../../helpers/browser.ts'
import { install, lampHost, nameOf, options, run, useBrowser, views } from './fixture.ts'

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

/** Has a long description until it fails with a long reason. */
const novel: FixturePlugin = {
  id: 'novel',
  lua: `Plugin:new("novel"):onInit(function() error(string.rep("chapter ", 1000)) end)`,
  manifest: { description: 'Once upon a time '.repeat(110) },
}

for (const view of views)
  test(
    `a plugin with long texts leaves room for others in the list: ${nameOf(view)}`,
    options,
    async (context) => {
      const host = await lampHost(context, { plugins: [novel] })
      await install(host, '@fixtures/novel')
      const { page } = await open(context, host, view)
      await page.goto('/plugins')
      const row = page.getByRole('listitem').filter({ hasText: '@fixtures/novel' })
      const height = async (): Promise<number> => (await row.boundingBox())?.height ?? Infinity
      await row.getByText('Once upon a time').waitFor()
      assert.ok((await height()) < 300, `with its description it is ${await height()} pixels high`)
      await host.request('POST', '/api/plugins/@fixtures/novel/toggle', { body: { enabled: true } })
      await row.getByText('chapter').waitFor()
      assert.ok((await height()) < 300, `with its failure it is ${await height()} pixels high`)
      // On its own page the tabs are near, and the whole of it is there when asked for.
      await row.getByRole('link', { name: 'Fixture novel' }).click()
      const reason = page.getByRole('alert')
      const whole = reason.getByRole('button', { name: 'Show all of it', expanded: false })
      await whole.waitFor()
      const tabs = page.getByRole('navigation', { name: 'Parts of Fixture novel' })
      const top = async (): Promise<number> => (await tabs.boundingBox())?.y ?? Infinity
      assert.ok((await top()) < 700, `the tabs begin at ${await top()} pixels`)
      await assertAccessible(page, 'the beginning of a long reason')
      await whole.click()
      await reason.getByText('(8,012 bytes)').waitFor()
      await reason.getByRole('button', { name: 'Show only the beginning', expanded: true }).click()
      await whole.waitFor()
    },
  )

/** Its reason has so many letters of two units each. */
const smiling = (count: number): FixturePlugin => ({
  id: `smiling${count}`,
  lua: `Plugin:new("smiling${count}"):onInit(function() error(string.rep("😀", ${count})) end)`,
})

test('a reason is not cut where nothing would be left out', options, async (context) => {
  const host = await lampHost(context, { plugins: [smiling(300), smiling(500)] })
  for (const count of [300, 500]) {
    await install(host, `@fixtures/smiling${count}`)
    await host.request('POST', `/api/plugins/@fixtures/smiling${count}/toggle`, { body: { enabled: true } })
  }
  const { page } = await open(context, host)
  for (const count of [300, 500]) {
    await page.goto(`/plugins/@fixtures/smiling${count}`)
    const reason = page.getByRole('alert')
    await reason.getByText('😀').waitFor()
    assert.equal(await reason.getByRole('button', { name: 'Show all of it' }).count(), count > 400 ? 1 : 0)
    assert.equal((await reason.innerText()).includes('…'), count > 400)
  }
})
