import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../helpers/until.ts'
import { heading, hostWithLamp, lamp, lampHost, logIn, options, token, useBrowser } from './fixture.ts'

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
  'a search of the catalog has found nothing only when that is read, and stands beside how many there are',
  options,
  async (context) => {
    const { page } = await open(context, await lampHost(context))
    let isReady = (): void => undefined
    const ready = new Promise<void>((resolve) => {
      isReady = resolve
    })
    await page.route(/\/api\/catalog$/, async (route) => {
      await ready
      await route.continue()
    })
    await page.goto('/catalog?q=lamp')
    await page.getByText('Reading the repositories…').waitFor()
    assert.equal(await page.getByText(/^\d+ found$/).count(), 0)
    isReady()
    await page.getByText('1 found', { exact: true }).waitFor()
    const all = await page.locator('.count').textContent()
    await page.getByRole('searchbox').fill('')
    await page
      .getByRole('button', { name: /^Install / })
      .nth(1)
      .waitFor()
    assert.equal(await page.locator('.count').textContent(), all)
  },
)

test(
  'what cannot be read is not told as missing, and is read again when asked for',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
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

test(
  'the page of a plugin says when the plugins cannot be read, and has them when they can',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    const mend = await failing(page, /\/api\/plugins$/)
    await page.goto(`/plugins/${lamp}`)
    await page.getByRole('alert').filter({ hasText: 'Something broke on purpose.' }).waitFor()
    assert.equal(await page.locator('main').getByText('is not installed').count(), 0)
    mend()
    await heading(page, 'Lamp').waitFor()
  },
)

test('what may happen to a plugin is told, or why that is not known', options, async (context) => {
  const host = await hostWithLamp(context)
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
  const ofSystem = (request: { url(): string }): boolean => request.url().endsWith('/api/system')
  // With the connection all is read once more.
  const begunAgain = page.waitForEvent('requestfailed', ofSystem)
  await page.goto('/system')
  await page.getByText('Reading the system…').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await begunAgain
  let abandoned = 0
  page.on('requestfailed', (request) => {
    if (ofSystem(request)) abandoned += 1
  })
  // Longer than between two readings, and shorter than the silence after which the stream is begun anew, and all is read.
  await page.clock.fastForward('00:10')
  await page.clock.fastForward('00:10')
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

for (const [address, what] of [
  [/\/api\/system$/, 'the host'],
  [/\/api\/plugins$/, 'the plugins'],
  [/\/api\/session$/, 'the login'],
  [/\/api\/history\?/, 'the journal'],
] as const) {
  test(
    `a page listens to the host while ${what} cannot be read, and goes on when it can`,
    options,
    async (context) => {
      const host = await hostWithLamp(context)
      const { page } = await open(context, host)
      await page.clock.install()
      const mend = await failing(page, address)
      await page.goto('/history')
      const words = page.getByText('Something broke on purpose.')
      if (what !== 'the plugins') await words.waitFor()
      await page.clock.fastForward('00:06')
      await page.getByText('Live', { exact: true }).waitFor()
      mend()
      await page.clock.fastForward('00:11')
      await page.getByText('Installation asked for').first().waitFor()
      await words.waitFor({ state: 'detached' })
      await host.request('POST', `/api/plugins/${lamp}/toggle`, { body: { enabled: false } })
      await page.getByText('Switched off').waitFor()
      await until('all events', async () => {
        const { body } = await host.request('GET', '/api/history')
        const shown = await page.getByRole('listitem').filter({ hasText: /#\d/ }).count()
        return shown === body.events.length
      })
    },
  )
}

test('an answer that takes long holds nothing else up', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host)
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/api\/(system|history)/, async (route) => {
    await released
    await route.continue()
  })
  await page.goto('/plugins')
  await page.getByText('Live', { exact: true }).waitFor()
  release()
  await page.unrouteAll({ behavior: 'wait' })
})

test(
  'what answers in place of the host, such as the login of a proxy, is not taken for its answer',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page, faults } = await open(context, host)
    for (const [address, asked] of [
      ['/plugins', /\/api\/plugins$/],
      ['/catalog', /\/api\/catalog$/],
      ['/machines', /\/api\/machines\//],
      ['/system', /\/api\/system$/],
      [`/plugins/${lamp}/controls`, /\/exposures$/],
    ] as const) {
      await page.route(asked, (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Log in</h1>' }))
      await page.goto(address)
      const failure = page.getByRole('alert').getByText('Something else answers in place of the host')
      await failure.first().waitFor()
      await page.unrouteAll({ behavior: 'wait' })
    }
    assert.deepEqual(faults, [])
  },
)

test(
  'a command that comes after the end of a login says so, in words for people',
  options,
  async (context) => {
    const host = await hostWithLamp(context, { settings: { token } })
    const { page } = await open(context, host)
    await page.goto('/plugins')
    await logIn(page)
    const enabled = page.getByRole('switch', { name: 'Lamp enabled' })
    await enabled.waitFor()
    await page.context().clearCookies()
    await enabled.click()
    await heading(page, 'Log in').waitFor()
    const notice = page.locator('.notice')
    await notice.waitFor()
    assert.match(await notice.innerText(), /^The login has ended\. Log in, and look whether this was done\./)
    // Whose token is wrong is told that.
    await page.getByLabel('Token of this host').fill('another')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('This is not the token of the host.').waitFor()
  },
)

test('a mistyped address leads to a page that says so, and on', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host, { theme: 'light', width: 1280 })
  const answer = await page.goto('/plugin')
  assert.equal(answer?.status(), 404)
  await page.getByText('There is no such page.').waitFor()
  await page.getByRole('link', { name: 'Go to the plugins' }).click()
  await heading(page, 'Plugins').waitFor()
  // Programs, and whoever looks at the API, get the problem.
  const problem = await page.goto('/api/plugin')
  assert.match(problem?.headers()['content-type'] ?? '', /problem\+json/)
  assert.equal((await host.request('GET', '/plugin')).body.code, 'not_found')
})
