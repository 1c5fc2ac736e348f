import assert from 'node:assert/strict'
import { after, before, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser, openPage, type View, type WatchedPage } from '../helpers/browser.ts'
import { standardFixtures } from '../helpers/fixture-repository.ts'
import { lampPlugin } from '../helpers/lamp-plugin.ts'
import { startTestHost, type TestHost, type TestHostOptions } from '../helpers/test-host.ts'

/** The user interface in a real browser, against a real host: what all tests of it begin with. */

export const options = { skip: browserMissing }
export const lamp = '@fixtures/lamp'
export const views: View[] = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 390, reducedMotion: true },
]
export const nameOf = ({ theme, width }: View): string => `${theme}, ${width} pixels wide`

/** One browser for all tests of a file; answers how to open a page of a host. */
export function useBrowser(): (
  context: TestContext,
  host: Pick<TestHost, 'url'>,
  view?: View,
) => Promise<WatchedPage> {
  let browser: Browser | undefined
  before(async () => {
    if (browserMissing === false) browser = await launchBrowser()
  })
  after(() => browser?.close())
  return (context, host, view = { theme: 'light', width: 1280 }) => {
    assert.ok(browser !== undefined)
    return openPage(context, browser, host.url, view)
  }
}

export async function lampHost(context: TestContext, more: TestHostOptions = {}): Promise<TestHost> {
  const host = await startTestHost({ plugins: [lampPlugin, ...standardFixtures], ...more })
  context.after(() => host.close())
  return host
}

export async function runningLamp(host: TestHost): Promise<void> {
  const installed = await host.request('POST', '/api/plugins/install', { body: { fullId: lamp } })
  assert.equal(installed.status, 201)
  await host.request('POST', `/api/plugins/${lamp}/config`, { body: { config: { room: 'kitchen' } } })
  const { body } = await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running')
}

export const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, level: 1, exact: true })
