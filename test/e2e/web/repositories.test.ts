import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { lampHost, options, useBrowser } from './fixture.ts'

/** Repositories that could be read once, and cannot any more. */

const open = useBrowser()
const kite = [{ id: 'kite', lua: 'Plugin:new("kite")' }]

/** A host with a second repository, whose index its maintainer has broken; `mend` puts it right. */
async function hostWithBrokenRepository(context: TestContext) {
  const host = await lampHost(context)
  const attic = await temporaryDirectory(context)
  await writeFixtureRepository(attic, kite, 'attic')
  const body = { name: 'attic', url: attic }
  assert.equal((await host.request('POST', '/api/repositories', { body })).status, 201)
  await writeFile(join(attic, 'plugins.json'), '{')
  return { host, mend: () => writeFixtureRepository(attic, kite, 'attic') }
}

/** One of its pages, opened once all is read that is read anew when a page connects: the button alone reads it again. */
async function openConnected(context: TestContext, host: TestHost, name: string): Promise<Page> {
  const { page } = await open(context, host)
  await page.goto('/system')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name, exact: true }).click()
  return page
}

test(
  'the catalog says which repository cannot be read, also where that one is chosen, and reads it again',
  options,
  async (context) => {
    const { host, mend } = await hostWithBrokenRepository(context)
    const page = await openConnected(context, host, 'Catalog')
    const failure = page.getByRole('alert').filter({ hasText: 'The repository "attic"' })
    await failure.filter({ hasText: 'is not valid JSON' }).waitFor()
    await page.getByRole('button', { name: 'Install Fixture lamp' }).waitFor()
    const chosen = page.getByRole('combobox', { name: 'Repository' })
    // Another one can be read.
    await chosen.selectOption('fixtures')
    await failure.waitFor({ state: 'detached' })
    await chosen.selectOption('attic')
    await failure.waitFor()
    assert.equal(await page.getByText('offers no plugin').count(), 0)
    await mend()
    await failure.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Install Fixture kite' }).waitFor()
    assert.equal(await failure.count(), 0)
  },
)

test('a repository that cannot be read is read again where its page says so', options, async (context) => {
  const { host, mend } = await hostWithBrokenRepository(context)
  const page = await openConnected(context, host, 'Repositories')
  const row = page.getByRole('listitem').filter({ hasText: 'attic' })
  await row.getByText('is not valid JSON').waitFor()
  await mend()
  await row.getByRole('button', { name: 'Try again' }).click()
  await row.getByText('1 plugin').waitFor()
  assert.equal(await row.getByText('is not valid JSON').count(), 0)
})
