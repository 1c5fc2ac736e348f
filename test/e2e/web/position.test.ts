import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../helpers/until.ts'
import { lampHost, options, useBrowser } from './fixture.ts'

/** Where one has been on a page, and comes back to. */

const openPage = useBrowser()

const many = Array.from({ length: 90 }, (_, index) => {
  const id = `plugin-${String(index).padStart(2, '0')}`
  return { id, lua: `Plugin:new("${id}")` }
})

/** As somebody does who looks for it: down to the end of what is there, until it is. */
async function scrollToEntry(page: Page, name: string): Promise<void> {
  const link = page.getByRole('link', { name, exact: true })
  await until('the entry', async () => {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    return (await link.count()) > 0
  })
  await link.scrollIntoViewIfNeeded()
}

test('the back button leads to the same place of a long list', options, async (context) => {
  const host = await lampHost(context, { plugins: many })
  for (const { id } of many) {
    const { status } = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    assert.equal(status, 201)
  }
  const { page } = await openPage(context, host)
  await page.goto('/plugins')
  const list = page.getByRole('list', { name: 'Installed plugins' })
  await list.waitFor()
  const name = `Fixture ${many.at(-30)?.id ?? ''}`
  await scrollToEntry(page, name)
  const link = page.getByRole('link', { name, exact: true })
  const before = await link.boundingBox()
  assert.ok(before !== null && before.y > 0)
  await link.click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  assert.equal(await page.evaluate('scrollY'), 0)
  await page.goBack()
  await list.waitFor()
  await until('the entry where it was', async () => {
    const box = await link.boundingBox()
    return box !== null && Math.abs(box.y - before.y) < 2
  })
})
