import assert from 'node:assert/strict'
import { after, before, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import {
  browserMissing,
  launchBrowser,
  openPage,
  type View,
  type WatchedPage,
} from '../../helpers/browser.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { startTestHost, type TestHost, type TestHostOptions } from '../../helpers/test-host.ts'

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

export async function install(host: TestHost, fullId: string): Promise<void> {
  const { status } = await host.request('POST', '/api/plugins/install', { body: { fullId } })
  assert.equal(status, 201)
}

async function switchOn(host: TestHost, fullId: string): Promise<void> {
  const { body } = await host.request('POST', `/api/plugins/${fullId}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running')
}

/** Installs it and switches it on. */
export async function run(host: TestHost, fullId: string): Promise<void> {
  await install(host, fullId)
  await switchOn(host, fullId)
}

export async function runningLamp(host: TestHost): Promise<void> {
  await install(host, lamp)
  await host.request('POST', `/api/plugins/${lamp}/config`, { body: { config: { room: 'kitchen' } } })
  await switchOn(host, lamp)
}

/** A host on which the lamp runs. */
export async function hostWithLamp(context: TestContext, more?: TestHostOptions): Promise<TestHost> {
  const host = await lampHost(context, more)
  await runningLamp(host)
  return host
}

/** Of a host that asks for one. */
export const token = 'a-long-token-for-this-test-alone'

export async function logIn(page: Page): Promise<void> {
  await page.getByLabel('Token of this host').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Live', { exact: true }).waitFor()
}

/** A host that comes back at the same address, as a page that is open expects. */
export async function hostWithFixedPort(context: TestContext) {
  const settings: TestHostOptions['settings'] = {}
  const first = await lampHost(context, { settings })
  settings.httpPort = Number(new URL(first.url).port)
  return {
    first,
    async startAgain(): Promise<TestHost> {
      const second = await first.restart()
      context.after(() => second.close())
      return second
    },
  }
}

export const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, level: 1, exact: true })

/** The host answers, and nobody hears it: the first time that it is told to do something. */
export async function losingFirst(page: Page, address: RegExp): Promise<void> {
  let asked = 0
  await page.route(address, async (route) => {
    if (route.request().method() === 'GET') return route.continue()
    asked += 1
    if (asked > 1) return route.continue()
    assert.equal((await route.fetch()).status(), 200)
    return route.abort('connectionreset')
  })
}

/** Lets a request of the page wait until it is released. */
export async function held(page: Page, method: string, pattern: string | RegExp): Promise<() => void> {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(pattern, async (route) => {
    if (route.request().method() === method) await released
    await route.continue()
  })
  return release
}

/** The host answers at once, and the page hears of it when it is released: the first time that it asks. */
export async function answeredLate(page: Page, address: RegExp) {
  let answered = (): void => undefined
  let release = (): void => undefined
  const isAnswered = new Promise<void>((resolve) => (answered = resolve))
  const isReleased = new Promise<void>((resolve) => (release = resolve))
  await page.route(
    address,
    async (route) => {
      const response = await route.fetch()
      answered()
      await isReleased
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return { isAnswered, release }
}
