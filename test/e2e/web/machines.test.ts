import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openTestHost, type TestHost } from '../../helpers/test-host.ts'
import { endLatestFirst } from '../../helpers/end-latest-first.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { writeLongJournal } from '../../helpers/long-journal.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { held, hostWithLamp, install, lamp, lampHost, options, useBrowser } from './fixture.ts'

/** Machines and histories of a host on which much has happened. */

const open = useBrowser()

/** More than the page reads at once (`pageSize`). */
const manyEvents = 320

/** One that was installed long ago, and one to which much has happened since. */
async function busyHost(context: TestContext): Promise<TestHost> {
  const host = await lampHost(context)
  for (const id of ['hello', 'demo']) await install(host, `@fixtures/${id}`)
  for (let turn = 0; turn < manyEvents; turn += 1)
    await host.request('POST', '/api/plugins/@fixtures/demo/config', { body: { config: { turn } } })
  return host
}

test('what has happened to a plugin long ago is in its machine', options, async (context) => {
  const host = await busyHost(context)
  const { page } = await open(context, host)
  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/hello')
  await page.locator('.state.current', { hasText: /^installed$/ }).waitFor()
  const sequence = page.getByRole('list', { name: 'Sequence of events' }).getByRole('button')
  await sequence.filter({ hasText: 'Installation asked for' }).waitFor()
  await page.locator('.moment-words', { hasText: 'PluginInstalled' }).waitFor()
  await page.getByRole('button', { name: 'The event before' }).click()
  await page.getByText(/^At event \d+$/).waitFor()
})

test('the history says what a saved configuration has changed', options, async (context) => {
  const host = await busyHost(context)
  const { page } = await open(context, host)
  for (const path of ['/history', '/plugins/@fixtures/demo/history']) {
    await page.goto(path)
    await page
      .locator('.event-line .detail', { hasText: `turn from ${manyEvents - 2} to ${manyEvents - 1}` })
      .waitFor()
  }
  await page.locator('.event-line > a').first().click()
  await page
    .locator('.moment-words', { hasText: `turn from ${manyEvents - 2} to ${manyEvents - 1}` })
    .waitFor()
})

test(
  'what the history says of settings has their names, also where the plugins come later, and is searched',
  options,
  async (context) => {
    const host = await lampHost(context)
    await install(host, lamp)
    for (const room of ['hall', 'kitchen'])
      await host.request('POST', `/api/plugins/${lamp}/config`, { body: { config: { room } } })
    const { page } = await open(context, host)
    let isReady = (): void => undefined
    const ready = new Promise<void>((resolve) => {
      isReady = resolve
    })
    await page.route('**/api/plugins', async (route) => {
      await ready
      await route.continue()
    })
    await page.goto('/history')
    await page.locator('.detail', { hasText: /^room from hall to kitchen$/ }).waitFor()
    isReady()
    await page.locator('.detail', { hasText: /^Room from hall to kitchen$/ }).waitFor()
    await page.getByRole('searchbox').fill('room from hall')
    await page.getByRole('status').getByText('1 found', { exact: true }).waitFor()
  },
)

test(
  'an address of an event that is not there says so, and shows how things stand',
  options,
  async (context) => {
    const host = await lampHost(context)
    await install(host, lamp)
    const { page, faults } = await open(context, host)
    let isReady = (): void => undefined
    const ready = new Promise<void>((resolve) => (isReady = resolve))
    // How long the journal is comes last.
    await page.route(/\/api\/history\?/, async (route) => {
      await ready
      await route.continue()
    })
    await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}&seq=9999`)
    await page.locator('svg').getByText('uninstalled').first().waitFor()
    isReady()
    await page.getByText(/^There is no event 9999: the last one is event \d+\./).waitFor()
    await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
    assert.equal(await page.getByText('At event 9999').count(), 0)
    // Nothing was asked for that is not there.
    assert.deepEqual(faults, [])
  },
)

test(
  'what is searched in a log, in events and in objects stands in the address',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.goto(`/plugins/${lamp}/logs?q=shining&level=warn`)
    await page.getByText('No line fits.').waitFor()
    const level = page.getByLabel('Lowest level')
    assert.equal(await level.inputValue(), 'warn')
    await level.selectOption('info')
    await page.getByText('1 found', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('1 found', { exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?q=shining&level=info')
    await page.goto(`/plugins/${lamp}/events`)
    await page.getByRole('searchbox', { name: 'Search the events' }).fill('lamp:blink')
    await page.waitForURL(/\/events\?q=lamp%3Ablink$/)
    await page.goto(`/plugins/${lamp}/objects?q=cellar`)
    await page.getByText('No object fits the search.').waitFor()
    await page.getByRole('searchbox', { name: 'Search the objects' }).fill('Kitchen')
    await page.getByText('1 found', { exact: true }).waitFor()
    await page.waitForURL(/\/objects\?q=Kitchen$/)
  },
)

test('a host that was started long ago has a state', options, async (context) => {
  const host = await busyHost(context)
  const { page } = await open(context, host)
  await page.goto('/machines/host')
  await page.locator('.state.current', { hasText: 'ready' }).waitFor()
  const sequence = page.getByRole('list', { name: 'Sequence of events' }).getByRole('button')
  await sequence.filter({ hasText: 'Host ready' }).waitFor()
})

test('what an owner may change is no report of the host', options, async (context) => {
  const host = await lampHost(context)
  await install(host, '@fixtures/hello')
  const { page } = await open(context, host)
  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/hello')
  const possible = page.getByRole('list', { name: 'Events that are possible now' })
  await possible.getByRole('button', { name: 'Switch on' }).waitFor()
  // It has no addresses whose secret could be renewed.
  assert.equal(await possible.getByText('New secret').count(), 0)
  await possible.getByRole('link', { name: 'Change the limits' }).click()
  await page.getByRole('heading', { name: 'Limits' }).waitFor()
})

/** A host of years, with one plugin. */
async function oldHost(context: TestContext, events: number): Promise<TestHost> {
  const directory = await temporaryDirectory({
    after: (end: () => Promise<void>) => endLatestFirst(context, end),
  })
  await writeLongJournal(directory, events, 1)
  const host = await openTestHost(directory, directory, {})
  endLatestFirst(context, () => host.host.close())
  return host
}

test(
  'a search in the history says what it has not read, and goes on to where something fits',
  options,
  async (context) => {
    const { page } = await open(context, await oldHost(context, 2_000))
    await page.goto('/history?q=Installation+asked+for')
    await page.getByText(/^None of the newest 300 events fits the search; \d+ older ones/).waitFor()
    await page.getByRole('status').getByText('0 found', { exact: true }).waitFor()
    await page.getByRole('button', { name: /^Read older events/ }).click()
    await page.locator('.event-line', { hasText: '#1Installation asked for' }).waitFor()
    await page.getByRole('status').getByText('1 found', { exact: true }).waitFor()
  },
)

test('a search far back in the history goes on while events come', options, async (context) => {
  const host = await oldHost(context, 27_000)
  const { page } = await open(context, host)
  await page.goto('/history?q=Installation+asked+for')
  let turn = 0
  const eventComes = async (): Promise<void> => {
    const total = await page.locator('.page-head .count').innerText()
    const body = { config: { turn: (turn += 1) } }
    const { status } = await host.request('POST', '/api/plugins/plugin-0/config', { body })
    assert.equal(status, 200)
    await page.locator('.page-head .count').getByText(total, { exact: true }).waitFor({ state: 'detached' })
  }
  // What is read at a time, and more than the page keeps of what has come by itself.
  for (const read of [300, 6_300, 12_300, 18_300, 24_300]) {
    await until(`${read} events`, async () => {
      const [, count] = /^None of the newest (\d+) /.exec(await page.locator('.empty').innerText()) ?? []
      return Number(count) >= read
    })
    await eventComes()
    await page.getByRole('button', { name: /^Read older events/ }).click()
  }
  const found = page.locator('.event-line', { hasText: '#1Installation asked for' })
  await found.waitFor()
  await eventComes()
  await found.waitFor()
})

test(
  'a moment whose states the host has not told yet is not shown with those of another',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    const { body } = await host.request('GET', `/api/plugins/${lamp}/history`)
    const seqOf = (type: string): number =>
      body.events.find((event: { type: string }) => event.type === type).seq
    await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}`)
    await page.locator('.state.current', { hasText: /^running$/ }).waitFor()
    const release = await held(page, 'GET', /\/api\/history\/\d+\/state$/)
    const installed = seqOf('PluginInstalled')
    await page.getByRole('slider', { name: 'Moment in the history' }).fill(String(installed))
    await page.getByRole('heading', { name: `At event ${installed}` }).waitFor()
    await page.locator('.state.current', { hasText: /^installed$/ }).waitFor()
    await page.locator('.moment-words .chip', { hasText: 'Installed, off' }).waitFor()
    const first = seqOf('PluginInstallRequested') - 1
    assert.ok(first > 0)
    await page.getByRole('slider', { name: 'Moment in the history' }).fill(String(first))
    await page.getByRole('heading', { name: `At event ${first}` }).waitFor()
    assert.equal(await page.locator('.state.current').count(), 0)
    release()
    await page.locator('.state.current', { hasText: /^notInstalled$/ }).waitFor()
  },
)

test('why a plugin has failed stays while something happens to another one', options, async (context) => {
  const broken = { id: 'broken', lua: 'error("no lamp is there")' }
  const host = await hostWithLamp(context, { plugins: [lampPlugin, broken] })
  await install(host, '@fixtures/broken')
  await host.request('POST', '/api/plugins/@fixtures/broken/toggle')
  const { page } = await open(context, host)
  // Until its history is there to the end, nobody can say that nothing has happened to it.
  const history = page.waitForResponse(/\/broken\/history\?after=[1-9]/)
  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/broken')
  const reason = page.locator('.moment-words .row-error', { hasText: 'no lamp is there' })
  await reason.waitFor()
  await (await history).finished()
  await held(page, 'GET', /\/api\/history\/\d+\/state$/)
  await host.request('POST', `/api/plugins/${lamp}/toggle`)
  const { events } = (await host.request('GET', `/api/plugins/${lamp}/history`)).body
  await page.locator(`input[type=range][max="${events.at(-1).seq}"]`).waitFor()
  assert.equal(await reason.count(), 1)
})

test('the history of a plugin that is there before the journal is read once', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto('about:blank')
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (/^\/api\/plugins\/.*\/history$/.test(pathname)) asked.push(pathname)
  })
  const release = await held(page, 'GET', /\/api\/history\?/)
  await page.goto(`/plugins/${lamp}/history`)
  await page.locator('.event-line', { hasText: 'Installed' }).first().waitFor()
  const before = [...asked]
  assert.ok(before.length > 0)
  release()
  await page.getByText('Live', { exact: true }).waitFor()
  assert.deepEqual(asked, before)
})

test('of a plugin with more events than are shown, the newest are', options, async (context) => {
  const host = await oldHost(context, 10_050)
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/plugin-0/history')
  const { body } = await host.request('GET', '/api/plugins/@fixtures/plugin-0/history?after=10000')
  const last: number = body.events.at(-1).seq
  await page.locator('.event-line > a').first().getByText(`#${last}`, { exact: true }).waitFor()
})

test(
  'a slider that is moved more often than a browser changes its address leads to where it stands',
  options,
  async (context) => {
    const { page } = await open(context, await oldHost(context, 2_000))
    await page.goto('/machines/plugin-lifecycle')
    await page.getByText(/of 20\d\d events/).waitFor()
    // Chromium takes 200 changes in ten seconds, and ignores the others; a hand makes sixty a second.
    await page.evaluate(`(() => {
      const slider = document.querySelector('.scrubber input')
      for (let seq = 1500; seq > 1000; seq -= 1) {
        slider.value = seq
        slider.dispatchEvent(new Event('input', { bubbles: true }))
      }
    })()`)
    await page.locator('.scrubber').getByText('#1001', { exact: true }).waitFor()
    await page.waitForURL(/\?seq=1001$/)
    // What is left behind is there again.
    await page.getByRole('link', { name: 'System', exact: true }).click()
    await page.getByRole('heading', { name: 'Health' }).waitFor()
    await page.goBack()
    await page.locator('.scrubber').getByText('#1001', { exact: true }).waitFor()
  },
)
