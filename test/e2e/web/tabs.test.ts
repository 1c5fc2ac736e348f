import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { openWindow, plainName } from '../../helpers/browser-window.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import {
  answeredLate,
  hostWithFixedPort,
  hostWithLamp,
  lamp,
  lampHost,
  logIn,
  options,
  runningLamp,
  token,
} from './fixture.ts'

/**
 * Many tabs of one browser, with pages of one host. A browser opens six connections to a host, for all its tabs together,
 * and a stream takes one for good.
 */

/** How many tabs have a stream where one can be seen. */
const keptStreams = 3

async function get(host: TestHost, path: string): Promise<any> {
  const { status, body } = await host.request('GET', path)
  assert.equal(status, 200, path)
  return body
}

const streamsAre = (host: TestHost, count: number): Promise<unknown> =>
  until(`${count} streams`, async () =>
    new RegExp(`^lupine_event_stream_clients ${count}$`, 'm').test(await get(host, '/metrics')),
  )

const sign = (page: Page, words: string): Locator =>
  page.getByRole('status').getByText(words, { exact: true })

/** Each is in front until the next one is opened. */
async function openTabs(window: BrowserContext, base: string, paths: readonly string[]): Promise<Page[]> {
  const pages: Page[] = []
  for (const path of paths) {
    const page = await window.newPage()
    await page.goto(base + path)
    await sign(page, 'Live').waitFor()
    pages.push(page)
  }
  return pages
}

/** As with the middle button of the mouse: nobody sees it. */
async function openBehind(front: Page, name: string): Promise<Page> {
  const opened = front.context().waitForEvent('page')
  await front.getByRole('link', { name, exact: true }).click({ modifiers: ['ControlOrMeta'] })
  const page = await opened
  await page.waitForLoadState()
  return page
}

const visibility = (page: Page): Promise<string> => page.evaluate('document.visibilityState')

/** A tab that has given its stream up, behind others that have not. */
async function forgottenTab(context: TestContext, host: TestHost, path: string) {
  const window = await openWindow(context)
  const [forgotten, ...others] = await openTabs(window, host.url, [
    path,
    ...Array.from({ length: keptStreams }, () => '/plugins'),
  ])
  assert.ok(forgotten !== undefined)
  await streamsAre(host, keptStreams)
  return { window, forgotten, others }
}

async function assertWholeHistory(page: Page, host: TestHost): Promise<void> {
  const { events } = await get(host, '/api/history')
  const numbers = events.map(({ seq }: { seq: number }) => `#${seq}`).reverse()
  const shown = page.locator('.event-line > a')
  await shown.getByText(numbers[0], { exact: true }).waitFor()
  assert.deepEqual(await shown.allInnerTexts(), numbers)
}

test(
  'eight tabs all load, over plain HTTP too, and each shows how things stand when it is looked at',
  options,
  async (context) => {
    const host = await hostWithLamp(context, { settings: { token } })
    const base = `http://${plainName}:${new URL(host.url).port}`
    const window = await openWindow(context)
    const first = await window.newPage()
    await first.goto(`${base}/plugins`)
    assert.equal(await first.evaluate('isSecureContext'), false)
    await logIn(first)
    const [controls, history, objects, ...others] = await openTabs(window, base, [
      ...[`/plugins/${lamp}/controls`, '/history', `/plugins/${lamp}/objects`],
      ...['/plugins', '/history', '/catalog', '/plugins'],
    ])
    assert.ok(controls !== undefined && history !== undefined && objects !== undefined)
    assert.deepEqual(await Promise.all([first, controls, history, objects, ...others].map(visibility)), [
      ...Array.from({ length: 7 }, () => 'hidden'),
      'visible',
    ])
    await streamsAre(host, keptStreams)

    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
    await host.request('POST', `/api/plugins/${lamp}/config`, { body: { config: { room: 'cellar' } } })
    await host.request('PUT', `/api/plugins/${lamp}/controls/level`, { body: { value: 8 } })
    await controls.bringToFront()
    await controls.getByRole('list', { name: 'Sensors' }).getByText('48 W').waitFor()
    await sign(controls, 'Live').waitFor()
    await history.bringToFront()
    await assertWholeHistory(history, host)
    await objects.bringToFront()
    await objects.getByText('cellar').waitFor()
    await first.bringToFront()
    await first.locator('a[href="/plugins/@fixtures/hello"]').first().waitFor()
    await sign(first, 'Live').waitFor()
    await streamsAre(host, keptStreams)
  },
)

test('tabs that are opened behind the one that is seen all load', options, async (context) => {
  const host = await hostWithLamp(context)
  const window = await openWindow(context)
  const [front] = await openTabs(window, host.url, ['/plugins'])
  assert.ok(front !== undefined)
  const behind: Page[] = []
  for (let count = 0; count < 8; count += 1) {
    const page = await openBehind(front, 'Lamp')
    await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
    assert.equal(await visibility(page), 'hidden')
    behind.push(page)
  }
  await streamsAre(host, keptStreams)
  await sign(front, 'Live').waitFor()
  await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
  for (const page of [front, ...behind]) {
    await page.bringToFront()
    await page.locator('.chip', { hasText: 'Off' }).first().waitFor()
    await sign(page, 'Live').waitFor()
  }
})

test(
  'a tab that had given its stream up knows of a restart of the host, and what has happened since',
  options,
  async (context) => {
    const { first: before, startAgain } = await hostWithFixedPort(context)
    await runningLamp(before)
    const { forgotten } = await forgottenTab(context, before, '/history')
    const after = await startAgain()
    await after.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
    await streamsAre(after, keptStreams)
    await forgotten.bringToFront()
    await assertWholeHistory(forgotten, after)
    await sign(forgotten, 'Live').waitFor()
    await after.close()
    await sign(forgotten, 'Disconnected, trying again…').waitFor()
  },
)

test(
  'what is typed in a tab that gives its stream up can be saved when one comes back',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const window = await openWindow(context)
    const [settings] = await openTabs(window, host.url, [`/plugins/${lamp}/settings`])
    assert.ok(settings !== undefined)
    await settings.getByRole('textbox', { name: 'Room' }).fill('cellar')
    await settings.getByText('Saving stores the settings and reloads Lamp.').waitFor()
    await settings.getByRole('button', { name: 'Save and reload' }).focus()
    await openTabs(
      window,
      host.url,
      Array.from({ length: keptStreams }, () => '/plugins'),
    )
    await streamsAre(host, keptStreams)
    await settings.bringToFront()
    await sign(settings, 'Live').waitFor()
    await settings.keyboard.press('Enter')
    await settings.getByText('There is nothing to save: all is as it is stored.').waitFor()
    assert.equal((await get(host, `/api/plugins/${lamp}`)).config.room, 'cellar')
  },
)

test('a tab that had given its stream up says when its login has ended', options, async (context) => {
  const host = await hostWithLamp(context, { settings: { token } })
  const window = await openWindow(context)
  const forgotten = await window.newPage()
  await forgotten.goto(`${host.url}/plugins`)
  await logIn(forgotten)
  const others = await openTabs(
    window,
    host.url,
    Array.from({ length: keptStreams }, () => '/system'),
  )
  await streamsAre(host, keptStreams)
  await others[0]?.bringToFront()
  await others[0]?.getByRole('button', { name: 'Log out' }).click()
  await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
  await forgotten.bringToFront()
  await logIn(forgotten)
  await forgotten.locator('.chip', { hasText: 'Off' }).first().waitFor()
})

test('who has logged in at one tab is not asked by the others', options, async (context) => {
  const host = await lampHost(context, { settings: { token } })
  const window = await openWindow(context)
  const pages = [await window.newPage(), await window.newPage()]
  for (const page of pages) {
    await page.goto(`${host.url}/plugins`)
    await page.getByLabel('Token of this host').waitFor()
  }
  const [first, second] = pages
  assert.ok(first !== undefined && second !== undefined)
  await logIn(second)
  await first.bringToFront()
  await sign(first, 'Live').waitFor()
  assert.equal(await first.getByLabel('Token of this host').count(), 0)
})

test(
  'a tab that hears only after the login at another one that it needs one is not asked',
  options,
  async (context) => {
    const host = await lampHost(context, { settings: { token } })
    const window = await openWindow(context)
    const [first, second] = [await window.newPage(), await window.newPage()]
    const asked = [/\/api\/history/, /\/api\/system$/, /\/api\/plugins$/]
    const answers = await Promise.all(asked.map((address) => answeredLate(first, address)))
    await first.goto(`${host.url}/plugins`)
    await Promise.all(answers.map(({ isAnswered }) => isAnswered))
    await second.goto(`${host.url}/plugins`)
    await logIn(second)
    await first.bringToFront()
    await until('a look at the first', async () => (await visibility(first)) === 'visible')
    for (const { release } of answers) release()
    await sign(first, 'Live').waitFor()
    assert.equal(await first.getByLabel('Token of this host').count(), 0)
  },
)

test('a tab goes on collecting what plugins emit while two others are used', options, async (context) => {
  const host = await hostWithLamp(context)
  const window = await openWindow(context)
  const [events, controls, third] = await openTabs(window, host.url, [
    `/plugins/${lamp}/events`,
    `/plugins/${lamp}/controls`,
    '/plugins',
  ])
  assert.ok(events !== undefined && controls !== undefined && third !== undefined)
  // A tab that is loaded again is not one more, and one that is closed is one less.
  await third.reload()
  await sign(third, 'Live').waitFor()
  await third.close()
  await openTabs(window, host.url, ['/plugins'])
  await controls.bringToFront()
  await controls.getByRole('button', { name: 'Blink: Press' }).click()
  await controls.getByText('Blink is pressed.').waitFor()
  await events.bringToFront()
  await events.getByRole('searchbox', { name: 'Search the events' }).fill('lamp:blink')
  await events.getByRole('list', { name: 'Events, newest first' }).getByText('lamp:blink').waitFor()
  await streamsAre(host, keptStreams)
})

test('a tab says from when to when it did not hear what plugins emitted', options, async (context) => {
  const host = await hostWithLamp(context)
  const { forgotten } = await forgottenTab(context, host, `/plugins/${lamp}/events`)
  const gap = forgotten.getByText('This page was not connected from')
  assert.equal(await gap.count(), 0)
  await forgotten.bringToFront()
  await gap.waitFor()
  assert.match(await gap.innerText(), / from .*\d to .*\d: what was emitted then is not here\.$/)
})

test('a tab that the browser freezes leaves its connection to others', options, async (context) => {
  const host = await hostWithLamp(context)
  const window = await openWindow(context)
  const [frozen, other] = await openTabs(window, host.url, [`/plugins/${lamp}`, '/plugins'])
  assert.ok(frozen !== undefined && other !== undefined)
  const session = await window.newCDPSession(frozen)
  await session.send('Page.setWebLifecycleState', { state: 'frozen' })
  await streamsAre(host, 1)
  await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
  await session.send('Page.setWebLifecycleState', { state: 'active' })
  await frozen.bringToFront()
  await frozen.locator('.page-state .chip', { hasText: 'Off' }).waitFor()
  await sign(frozen, 'Live').waitFor()
})

test(
  'a page that comes back by the button of the browser follows the host again',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const window = await openWindow(context)
    const [page] = await openTabs(window, host.url, [`/plugins/${lamp}`])
    assert.ok(page !== undefined)
    await page.evaluate('window.isTheSame = true')
    await page.goto('about:blank')
    await streamsAre(host, 0)
    await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
    await page.goBack({ waitUntil: 'commit' })
    await page.locator('.page-state .chip', { hasText: 'Off' }).waitFor()
    await sign(page, 'Live').waitFor()
    assert.equal(await page.evaluate('window.isTheSame'), true)
  },
)
