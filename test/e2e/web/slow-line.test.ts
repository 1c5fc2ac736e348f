import { test } from 'node:test'
import { held, hostWithLamp, lamp, options, run, useBrowser } from './fixture.ts'

/** What a page shows that is opened over a line on which answers take long. */

const open = useBrowser()

test(
  'what happens to plugins between the readings of their list and of the journal is shown',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    for (const id of ['hello', 'demo']) await run(host, `@fixtures/${id}`)
    const { page } = await open(context, host)
    const release = await held(page, 'GET', /\/api\/history\?/)
    await page.goto('/plugins')
    const rows = page.getByRole('list', { name: 'Installed plugins' }).getByRole('listitem')
    await rows.filter({ hasText: lamp }).getByText('Running', { exact: true }).waitFor()
    await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
    await host.request('DELETE', '/api/plugins/@fixtures/hello')
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/needy' } })
    release()
    await rows.filter({ hasText: lamp }).getByText('Off', { exact: true }).waitFor()
    await rows.filter({ hasText: '@fixtures/hello' }).waitFor({ state: 'detached' })
    await rows.filter({ hasText: '@fixtures/needy' }).waitFor()
  },
)
