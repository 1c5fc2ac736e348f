import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heading, lampHost, options, run, useBrowser } from './fixture.ts'

/** Documents of plugins: somebody else has written them. */

const open = useBrowser()
const guide = {
  id: 'guide',
  lua: 'Plugin:new("guide")',
  manifest: { name: 'Guide', docs: [{ title: 'Read me', file: 'README.md' }] },
  files: { 'README.md': '# Guide\n\n<a name="place">A mere name</a>, [a broken way](/plugins/%zz).\n' },
}

test(
  'a link of a document that leads nowhere says so, and the way back is there',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [guide] })
    await run(host, '@fixtures/guide')
    const { page, faults } = await open(context, host)
    await page.goto('/plugins/@fixtures/guide/documents')
    await page.getByText('A mere name').click()
    await page.getByRole('link', { name: 'a broken way' }).click()
    await heading(page, 'Nothing here').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Guide', level: 1 }).first().waitFor()
    assert.deepEqual(faults, [])
  },
)

test('a document that somebody reads stays as it is while its plugin changes', options, async (context) => {
  const host = await lampHost(context, { plugins: [guide] })
  await run(host, '@fixtures/guide')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/guide/documents')
  await page.getByText('Live', { exact: true }).waitFor()
  const link = page.getByRole('link', { name: 'a broken way' })
  await link.focus()
  await host.request('POST', '/api/plugins/@fixtures/guide/toggle', { body: { enabled: false } })
  await page.locator('.page-head').getByText('Off', { exact: true }).waitFor()
  await link.and(page.locator(':focus')).waitFor()
})
