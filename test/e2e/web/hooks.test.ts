import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFitsWidth } from '../../helpers/browser.ts'
import { until } from '../../helpers/until.ts'
import { lampHost, nameOf, options, run, useBrowser, views } from './fixture.ts'

/** Addresses for requests from outside on a plugin's page, and what such an address shows in a browser. */

const ringer = {
  id: 'ringer',
  lua: `local plugin = Plugin:new("ringer")
    plugin:onInit(function()
      plugin:httpHandler("front/bell", function() return "rang" end, { methods = { "POST" } })
      plugin:httpHandler("page", function()
        return 200, "<h1>Mine</h1><script>document.title = 'scripted'</script>", { ["Content-Type"] = "text/html" }
      end, { auth = "none" })
    end)`,
}

const openPage = useBrowser()

for (const view of views) {
  test(
    `the addresses of a plugin are shown when asked for, and renewed (${nameOf(view)})`,
    options,
    async (context) => {
      const host = await lampHost(context, { plugins: [ringer] })
      await run(host, '@fixtures/ringer')
      const { page, faults } = await openPage(context, host, view)
      await page.goto('/plugins/@fixtures/ringer')
      const list = page.getByRole('list', { name: 'Addresses' })
      await list.getByText('POST, for who knows this address').waitFor()
      await list.getByText('for anybody').waitFor()
      assert.equal(await list.locator('code').count(), 0)
      await page.getByRole('button', { name: 'Show the addresses' }).click()
      const address = async (): Promise<string> =>
        (await list.locator('code').first().innerText()).replaceAll('\u200b', '')
      const old = await address()
      assert.ok(old.startsWith(`${host.url}/hooks/fixtures/ringer/`) && old.endsWith('/front/bell'), old)
      await assertFitsWidth(page, 'addresses')
      await assertAccessible(page, 'addresses')
      await page.getByRole('button', { name: 'Renew the secret' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Renew', exact: true }).click()
      await page.getByText('The old addresses of Fixture ringer are gone.').waitFor()
      await until('another address', async () => (await address()) !== old)
      assert.equal((await fetch(old, { method: 'POST' })).status, 404)
      assert.equal((await fetch(await address(), { method: 'POST' })).status, 200)
      assert.deepEqual(faults, [])
    },
  )
}

test('a page of a plugin runs no script on the origin of the host', options, async (context) => {
  const host = await lampHost(context, { plugins: [ringer] })
  await run(host, '@fixtures/ringer')
  const { page } = await openPage(context, host)
  await page.goto('/hooks/fixtures/ringer/page')
  await page.getByRole('heading', { name: 'Mine' }).waitFor()
  assert.notEqual(await page.title(), 'scripted')
  assert.equal(await page.evaluate('window.origin'), 'null')
})
