import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../helpers/until.ts'
import { heading, lamp, lampHost, options, runningLamp, useBrowser } from './web-fixture.ts'

/** What a page says of something that it cannot read, and what it does about it. */

const open = useBrowser()

/** Answers to this address fail until it is called. */
async function failing(page: Page, address: RegExp): Promise<() => void> {
  let isBroken = true
  const json = { code: 'internal', detail: 'Something broke on purpose.' }
  await page.route(address, (route) =>
    isBroken
      ? route.fulfill({ status: 500, contentType: 'application/problem+json', json })
      : route.continue(),
  )
  return () => {
    isBroken = false
  }
}

/** A tab, what it reads, what it must not say when that fails, and what it has once it is read. */
const tabs: [name: string, address: RegExp, nothing: string, content: string][] = [
  ['Controls', /\/sensors$/, 'Lamp has no sensors.', 'What it takes'],
  ['Controls', /\/controls$/, 'Lamp has no controls.', 'level'],
  ['Controls', /\/exposures$/, 'Lamp exposes nothing.', 'Mood'],
  ['Objects', /\/objects$/, 'Lamp has no objects.', 'kitchen'],
  ['Logs', /\/logs\?/, 'Lamp has logged nothing yet.', 'shining in kitchen'],
  ['History', /\/lamp\/history\?/, 'There is nothing', 'Installation asked for'],
]

async function triedAgain(page: Page, nothing: string, mend: () => void): Promise<void> {
  const failure = page.getByRole('alert').filter({ hasText: 'Something broke on purpose.' })
  await failure.waitFor()
  assert.equal(await page.locator('main').getByText(nothing).count(), 0, nothing)
  mend()
  await failure.getByRole('button', { name: 'Try again' }).click()
  await failure.waitFor({ state: 'detached' })
}

test(
  'what cannot be read is not told as missing, and is read again when asked for',
  options,
  async (context) => {
    const host = await lampHost(context)
    await runningLamp(host)
    const { page } = await open(context, host)
    for (const [name, address, nothing, content] of tabs) {
      await page.goto(`/plugins/${lamp}/limits`)
      await page.getByText('Live', { exact: true }).waitFor()
      const mend = await failing(page, address)
      await page.getByRole('navigation', { name: 'Parts of Lamp' }).getByRole('link', { name }).click()
      await triedAgain(page, nothing, mend)
      await page.locator('main').getByText(content).first().waitFor()
      await page.unrouteAll({ behavior: 'wait' })
    }
  },
)

test('the page of a plugin says when the plugins cannot be read', options, async (context) => {
  const host = await lampHost(context)
  await runningLamp(host)
  const { page } = await open(context, host)
  const mend = await failing(page, /\/api\/plugins$/)
  await page.goto(`/plugins/${lamp}`)
  await triedAgain(page, 'is not installed', mend)
  await heading(page, 'Lamp').waitFor()
})

test('what may happen to a plugin is told, or why that is not known', options, async (context) => {
  const host = await lampHost(context)
  await runningLamp(host)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}`)
  await page.getByText('Live', { exact: true }).waitFor()
  const mend = await failing(page, /\/machine$/)
  await page.getByRole('link', { name: 'Machine', exact: true }).click()
  await triedAgain(page, 'It is not installed now.', mend)
  await page.getByRole('button', { name: 'Switch off' }).waitFor()
})

test('a page that is read again and again waits for an answer that takes long', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host)
  await page.clock.install()
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/api/system', async (route) => {
    await released
    await route.continue()
  })
  let abandoned = 0
  page.on('requestfailed', (request) => {
    if (request.url().endsWith('/api/system')) abandoned += 1
  })
  await page.goto('/system')
  await page.getByText('Reading the system…').waitFor()
  await page.clock.fastForward('00:20')
  await page.clock.fastForward('00:20')
  assert.equal(abandoned, 0)
  release()
  await page.getByText('All is well').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

test('what fails again and again is told once', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host)
  await page.clock.install()
  let asked = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/api/system')) asked += 1
  })
  await failing(page, /\/api\/system$/)
  await page.goto('/plugins')
  const notices = page.locator('.notice')
  await notices.first().waitFor()
  for (let before = asked; asked < 4; before = asked) {
    await page.clock.fastForward('00:04')
    await until('another try', () => Promise.resolve(asked > before))
  }
  assert.deepEqual(await notices.allInnerTexts(), ['Something broke on purpose.\n✕'])
})
