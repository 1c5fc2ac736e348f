import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { assertAccessible, assertFitsWidth, showTheme } from '../../helpers/browser.ts'
import { writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { until } from '../../helpers/until.ts'
import {
  heading,
  hostWithFixedPort,
  hostWithLamp,
  install,
  lamp,
  lampHost,
  logIn,
  nameOf,
  options,
  run,
  runningLamp,
  token,
  useBrowser,
  views,
} from './fixture.ts'

/** The user interface in a real browser, against a real host. */

const lampPage = useBrowser()

for (const view of views) {
  test(
    `one installs, configures, uses and removes a plugin, reloading in between (${nameOf(view)})`,
    options,
    async (context) => {
      const host = await lampHost(context)
      const { page, faults, elsewhere } = await lampPage(context, host, view)
      const chip = (words: string) => page.locator('.page-state .chip', { hasText: words })

      await page.goto('/')
      await heading(page, 'Plugins').waitFor()
      await page.getByRole('link', { name: 'Choose a plugin from the catalog' }).click()
      await page.getByRole('searchbox', { name: 'Search the catalog' }).fill('lamp')
      await page.reload()
      await page.getByRole('button', { name: 'Install Fixture lamp' }).click()
      const offer = page.getByRole('dialog', { name: 'Install Fixture lamp?' })
      await offer.getByText('It does not say what it needs').waitFor()
      await offer.getByRole('button', { name: 'Install', exact: true }).click()
      await page.getByRole('link', { name: 'Open Fixture lamp' }).waitFor()
      await page.reload()
      await page.getByRole('link', { name: 'Open Fixture lamp' }).click()
      await heading(page, 'Lamp').waitFor()

      // A mistake in the settings is named, and still is after a reload.
      await page
        .getByRole('navigation', { name: 'Parts of Lamp' })
        .getByRole('link', { name: 'Settings' })
        .click()
      await page.getByRole('textbox', { name: 'Room' }).fill('kitchen')
      await page.getByRole('textbox', { name: 'Interval' }).fill('9999')
      await page.getByText('Interval must be at most 3600.', { exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled(), true)
      await page.reload()
      await page.getByText('Cannot be saved yet: Interval must be at most 3600.').waitFor()
      assert.equal(await page.getByRole('textbox', { name: 'Interval' }).inputValue(), '9999')
      await page.getByRole('textbox', { name: 'Interval' }).fill('120')
      await page.getByText('Saving stores the settings. Lamp is off and stays off.').waitFor()
      assert.deepEqual(await page.locator('.changes tbody tr').allInnerTexts(), [
        'Room\tnot set\t"kitchen"',
        'Interval\tdefault (60)\t120',
      ])
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
      await page.reload()
      await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
      assert.equal(await page.getByRole('textbox', { name: 'Interval' }).inputValue(), '120')

      await page.getByRole('switch', { name: 'Lamp enabled' }).click()
      await chip('Running').waitFor()
      await page.reload()
      await chip('Running').waitFor()

      await page.goto(`/plugins/${lamp}/events`)
      await page.getByRole('listitem').filter({ hasText: 'lamp:tick' }).first().waitFor()
      await page.reload()
      await page.getByRole('listitem').filter({ hasText: 'lamp:tick' }).first().waitFor()

      // The control by the keyboard alone; the plugin answers with its sensor.
      await page.goto(`/plugins/${lamp}/controls`)
      const sensor = page.getByRole('list', { name: 'Sensors' }).getByRole('listitem')
      await sensor.filter({ hasText: '30 W' }).waitFor()
      await page.getByRole('slider', { name: 'level', exact: true }).focus()
      await page.keyboard.press('ArrowRight')
      await sensor.filter({ hasText: '36 W' }).waitFor()
      await page.reload()
      await sensor.filter({ hasText: '36 W' }).waitFor()

      // What it exposes is set here too.
      const exposed = page.getByRole('list', { name: 'Exposed' })
      await exposed.getByRole('combobox', { name: 'Mood' }).selectOption('cold')
      await exposed.getByRole('switch', { name: 'Bulb, state' }).click()
      await exposed.locator('[aria-label="Bulb, state"][aria-checked=false]').waitFor()
      await exposed.getByRole('button', { name: 'Blink: Press' }).click()
      await page.getByText('Blink is pressed.').waitFor()
      await page.reload()
      await exposed.locator('[aria-label="Bulb, state"][aria-checked=false]').waitFor()
      assert.equal(await exposed.getByRole('combobox', { name: 'Mood' }).inputValue(), 'cold')

      await page.goto(`/plugins/${lamp}/documents`)
      await page.getByRole('heading', { name: 'About the lamp' }).waitFor()
      assert.doesNotMatch(await page.title(), /taken over/)
      await page.reload()
      await page.getByRole('heading', { name: 'About the lamp' }).waitFor()

      // Back to the moment of the installation, and nothing happens to the host.
      await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}`)
      await page.locator('.state.current', { hasText: 'running' }).waitFor()
      const { body: before } = await host.request('GET', '/api/history')
      const installed = before.events.find(({ type }: { type: string }) => type === 'PluginInstalled').seq
      const slider = page.getByRole('slider', { name: 'Moment in the history' })
      await slider.focus()
      await page.keyboard.press('Home')
      await page.getByText('At event 1', { exact: true }).waitFor()
      for (let seq = 1; seq < installed; seq += 1) await page.keyboard.press('ArrowRight')
      await page.locator('.state.current', { hasText: 'installed' }).waitFor()
      await page.reload()
      await page.locator('.state.current', { hasText: /^installed$/ }).waitFor()
      const then = page.getByRole('list', { name: 'State of every plugin' }).getByRole('listitem')
      await then.filter({ hasText: 'Installed, off' }).waitFor()
      await page.locator('.moment-words', { hasText: 'PluginInstalled' }).waitFor()
      assert.match(page.url(), new RegExp(`/machines/plugin-lifecycle\\?plugin=${lamp}&seq=${installed}$`))
      assert.deepEqual((await host.request('GET', '/api/history')).body, before)

      await page.getByRole('button', { name: 'Back to now' }).click()
      await page.getByRole('button', { name: 'Switch off' }).click()
      await page.locator('.state.current', { hasText: 'unloaded' }).waitFor()
      await page.reload()
      await page.locator('.state.current', { hasText: 'unloaded' }).waitFor()

      await page.goto(`/plugins/${lamp}`)
      await page.getByRole('button', { name: 'Uninstall' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click()
      await page.getByText('Nothing is installed yet.').waitFor()
      await page.reload()
      await page.getByText('Nothing is installed yet.').waitFor()

      assert.deepEqual({ faults, elsewhere }, { faults: [], elsewhere: [] })
    },
  )
}

test('what an installation or an update brings is told before it is done', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page, faults } = await lampPage(context, host)
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Install Fixture dependent' }).click()
  const offer = page.getByRole('dialog', { name: 'Install Fixture dependent?' })
  await offer.getByRole('alert').filter({ hasText: '@fixtures/hello' }).waitFor()
  assert.equal(await offer.getByRole('button', { name: 'Install', exact: true }).isDisabled(), true)
  await offer.getByText('Publish to the topic that you set under Lamps, Topic').waitFor()
  await assertAccessible(page, 'an installation that is not possible')
  await page.keyboard.press('Escape')
  await offer.waitFor({ state: 'detached' })

  const { manifest = {}, ...lampOne } = lampPlugin
  const fields = manifest['configSchema'] as { key: string }[]
  const configSchema = [
    ...fields
      .filter(({ key }) => key !== 'dim')
      .map((field) => (field.key === 'room' ? { ...field, max: 9 } : field)),
    { key: 'fade', type: 'number', label: 'Fade', required: true },
  ]
  const permissions = { hosts: ['lamp.example.com', '*'], mqtt: { publish: ['lamp/#'] } }
  const publish = (version: string, more: object): Promise<void> =>
    host.publish([{ ...lampOne, version, manifest: { ...manifest, permissions, ...more } }])
  await publish('2.0.0', { configSchema, docs: [] })
  await page.goto(`/plugins/${lamp}`)
  const allowed = page.getByRole('list', { name: 'What it may do' })
  await allowed.getByText('Read the variable LAMP_PLACE of the host').waitFor()
  await page.getByRole('button', { name: 'Look for an update' }).click()
  const update = page.getByRole('dialog', { name: 'Update Lamp?' })
  await update.getByText('1.0.0 → 2.0.0').waitFor()
  const facts = await update.locator('.facts > dd').allInnerTexts()
  assert.deepEqual(facts.slice(2, 4), ['New: Fade\nChanged: Room\nGone: Dim at night', 'Fade is required.'])
  assert.deepEqual(await update.getByRole('list', { name: 'may not do any more' }).allInnerTexts(), [
    'Everything\nRead the variable LAMP_PLACE of the host',
  ])
  await assertAccessible(page, 'an update')
  await showTheme(page, 'dark')
  await assertAccessible(page, 'an update, dark')
  await update.getByRole('button', { name: 'Update', exact: true }).click()
  // A required setting is missing: it cannot start, and the version before is back.
  await page
    .getByText(
      /^Version 2\.0\.0 did not start, so Lamp is back at 1\.0\.0\. .* is required\. Save its config/,
    )
    .waitFor()
  await publish('2.1.0', {})
  await page.getByRole('button', { name: 'Look for an update' }).click()
  await update.getByText('1.0.0 → 2.1.0').waitFor()
  await update.getByText('Are still right with it.').waitFor()
  await update.getByRole('button', { name: 'Update', exact: true }).click()
  await page.locator('.id', { hasText: '2.1.0' }).waitFor()
  await allowed.getByText('any address').waitFor()
  assert.equal(await allowed.getByText('LAMP_PLACE').count(), 0)
  await page.getByRole('button', { name: 'Look for an update' }).click()
  await page.getByRole('dialog', { name: 'Lamp is up to date' }).waitFor()
  assert.deepEqual(faults, [])
})

const pages = [
  ['/plugins', 'Plugins'],
  ['/catalog', 'Catalog'],
  [`/plugins/${lamp}`, 'Lamp'],
  [`/plugins/${lamp}/settings`, 'Lamp'],
  [`/plugins/${lamp}/controls`, 'Lamp'],
  [`/plugins/${lamp}/objects`, 'Lamp'],
  [`/plugins/${lamp}/events`, 'Lamp'],
  [`/plugins/${lamp}/logs`, 'Lamp'],
  [`/plugins/${lamp}/documents`, 'Lamp'],
  [`/plugins/${lamp}/history`, 'Lamp'],
  [`/machines/plugin-lifecycle?plugin=${lamp}`, 'Machines'],
  ['/machines/host', 'Machines'],
  ['/history', 'History'],
  ['/repositories', 'Repositories'],
  ['/system', 'System'],
] as const

for (const view of views) {
  test(
    `every page fits and is accessible in both themes at ${view.width} pixels`,
    options,
    async (context) => {
      const host = await hostWithLamp(context)
      // Several plugins share a worker: their names stand in a row, and below one another.
      for (const id of ['hello', 'demo']) await run(host, `@fixtures/${id}`)
      const { page, faults, elsewhere } = await lampPage(context, host, { ...view, reducedMotion: true })
      for (const [path, title] of pages) {
        await page.goto(path)
        await heading(page, title).waitFor()
        await page.getByText('Live', { exact: true }).waitFor()
        await page.getByRole('button', { name: /^Theme: / }).waitFor()
        await page
          .locator('[role=status]', { hasText: /^Reading/ })
          .first()
          .waitFor({ state: 'detached' })
        await assertFitsWidth(page, path)
        for (const colorScheme of ['light', 'dark'] as const) {
          await showTheme(page, colorScheme)
          await assertAccessible(page, `${path}, ${colorScheme}`)
        }
      }
      assert.deepEqual({ faults, elsewhere }, { faults: [], elsewhere: [] })
    },
  )
}

test(
  'what was typed survives a restart of the host, and the page says that it is gone and back',
  options,
  async (context) => {
    const { first, startAgain } = await hostWithFixedPort(context)
    await runningLamp(first)
    const { page } = await lampPage(context, first)
    await page.goto(`/plugins/${lamp}/settings`)
    await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
    await page.getByLabel('API key', { exact: true }).fill('open sesame')
    await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
    await first.host.close()
    await page.getByText('Disconnected, trying again…').waitFor()
    await page.getByText('The host is not there at the moment. What you typed is kept.').waitFor()
    const second = await startAgain()
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Room' }).inputValue(), 'cellar')
    assert.equal(await page.getByLabel('API key', { exact: true }).inputValue(), 'open sesame')
    await page.getByRole('button', { name: 'Save and reload' }).click()
    await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
    const { body } = await second.request('GET', `/api/plugins/${lamp}`)
    assert.deepEqual(body.config, { room: 'cellar', apiKey: '********' })
    assert.equal(await page.getByLabel('API key', { exact: true }).inputValue(), '')
  },
)

test('what happens during a break is in the history afterwards', options, async (context) => {
  const { first, startAgain } = await hostWithFixedPort(context)
  await runningLamp(first)
  const { page } = await lampPage(context, first)
  await page.goto('/history')
  await page.getByText('Live', { exact: true }).waitFor()
  await first.host.close()
  await page.getByText('Disconnected, trying again…').waitFor()
  const second = await startAgain()
  await page.getByText('Live', { exact: true }).waitFor()
  const { body } = await second.request('GET', '/api/history')
  const all = body.events.map(({ seq }: { seq: number }) => `#${seq}`).reverse()
  await page.locator('.event-line > a').getByText(all[0], { exact: true }).waitFor()
  assert.deepEqual(await page.locator('.event-line > a').allInnerTexts(), all)
})

test('a plugin that is still being installed is not read', options, async (context) => {
  const disk = { held: Promise.resolve() }
  const files: FileSystem = {
    ...systemFileSystem,
    async rename(from, to) {
      if (String(to).endsWith('lamp')) await disk.held
      return systemFileSystem.rename(from, to)
    },
  }
  const host = await lampHost(context, { files })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  const { page, faults } = await lampPage(context, host)
  await page.goto('/plugins')
  await page.getByText('Live', { exact: true }).waitFor()
  let release = (): void => undefined
  disk.held = new Promise((resolve) => (release = resolve))
  const installed = host.request('POST', '/api/plugins/install', { body: { fullId: lamp } })
  await until('the beginning of the installation', async () => {
    const { body } = await host.request('GET', '/api/history')
    return body.events.at(-1).type === 'PluginInstallRequested'
  })
  // What changes is read in the order in which it has.
  const read = page.waitForResponse((answer) => answer.url().endsWith('/api/plugins/@fixtures/hello'))
  await host.request('POST', '/api/plugins/hello/toggle')
  await read
  release()
  assert.equal((await installed).status, 201)
  await page.getByRole('link', { name: 'Lamp', exact: true }).waitFor()
  assert.deepEqual(faults, [])
})

test('the script of the first load is under 150 kB compressed', options, async (context) => {
  const host = await lampHost(context)
  const { page, faults } = await lampPage(context, host)
  const scripts: { url: string; bytes: number }[] = []
  page.on('requestfinished', (request) => {
    if (request.resourceType() !== 'script') return
    void request
      .sizes()
      .then(({ responseBodySize }) => scripts.push({ url: request.url(), bytes: responseBodySize }))
  })
  await page.goto('/')
  await heading(page, 'Plugins').waitFor()
  await page.waitForLoadState('load')
  const total = scripts.reduce((sum, { bytes }) => sum + bytes, 0)
  assert.ok(scripts.length > 0 && total > 10_000, JSON.stringify(scripts))
  assert.ok(total < 150_000, `${total} bytes: ${JSON.stringify(scripts)}`)
  assert.deepEqual(faults, [])
})

test('the system page says that there is no token, and how to make one', options, async (context) => {
  const { page } = await lampPage(context, await lampHost(context))
  await page.goto('/system')
  await page.getByText('This host has no token').waitFor()
  await page.getByText('lupine token').waitFor()
})

test('the system page says which plugins share a worker', options, async (context) => {
  const host = await hostWithLamp(context, { settings: { isolation: 'shared' } })
  await run(host, '@fixtures/hello')
  await install(host, '@fixtures/demo')
  const { page } = await lampPage(context, host)
  await page.goto('/system')
  await page.getByText('1 installed, off · 2 running').waitFor()
  await page.getByText('2 plugins in 1 worker thread.').waitFor()
  const worker = page.getByRole('list', { name: 'Isolates' }).getByRole('listitem')
  await worker.getByText(/^Worker \d+, shared by 2 plugins$/).waitFor()
  assert.deepEqual((await worker.getByRole('link').allInnerTexts()).sort(), ['@fixtures/hello', lamp])
  await assertAccessible(page, 'a shared worker')
})

test('the keyboard alone is enough, and the focus comes back from a question', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await lampPage(context, host)
  const focused = (): Promise<string> =>
    page.evaluate(
      `[document.activeElement.tagName, document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent].join(' ')`,
    )
  /** The page gives the focus to what it shows after it is shown. */
  const untilFocused = (name: string): Promise<unknown> =>
    until(`the focus on ${name}`, async () => (await focused()) === name)
  /** Goes on with the Tab key until this has the focus. */
  async function tabTo(name: RegExp): Promise<void> {
    const seen: string[] = []
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab')
      const now = await focused()
      if (name.test(now)) return
      seen.push(now)
    }
    assert.fail(`${name} was not reached by: ${seen.join(', ')}`)
  }
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Install Fixture lamp' }).waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'A Skip to the content')
  await page.keyboard.press('Enter')
  await tabTo(/^INPUT Search the catalog/)
  await tabTo(/^BUTTON light/)
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Install Fixture hello' }).waitFor({ state: 'detached' })
  await tabTo(/^BUTTON Install Fixture lamp/)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('It does not say what it needs').waitFor()
  await page.evaluate("window.former = document.querySelector('dialog')")
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await untilFocused('BUTTON Install Fixture lamp')
  await page.keyboard.press('Enter')
  // The browser tells of the end of the former one with its next frame, which may come only now.
  await page.evaluate("window.former.dispatchEvent(new Event('close'))")
  await dialog.getByText('It does not say what it needs').waitFor()
  await tabTo(/^BUTTON Install$/)
  await page.keyboard.press('Enter')
  // The button is gone, and this is in its place.
  await untilFocused('A Open Fixture lamp')
  await page.keyboard.press('Enter')
  await heading(page, 'Lamp').waitFor()
  // The heading of the new page is where one is now.
  await untilFocused('H1 Lamp')
  await tabTo(/^A Settings/)
  await page.keyboard.press('Enter')
  await tabTo(/^INPUT /)
  await page.keyboard.type('kitchen')
  await page.getByText('Saving stores the settings. Lamp is off and stays off.').waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('There is nothing to save: all is as it is stored.').waitFor()
  assert.deepEqual((await host.request('GET', `/api/plugins/${lamp}`)).body.config, { room: 'kitchen' })
})

test('a host with a token asks for it, and the page works after that', options, async (context) => {
  const host = await lampHost(context, { settings: { token } })
  const { page } = await lampPage(context, host)
  await page.goto('/system')
  await page.getByLabel('Token of this host').fill('wrong')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').waitFor()
  await logIn(page)
  await page.reload()
  await page.getByText('All is well').waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token of this host').waitFor()
  await page.reload()
  await page.getByLabel('Token of this host').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Log out' }).count(), 0)
})

test(
  'a plugin of a repository that claims the namespace of another is marked before it is installed',
  options,
  async (context) => {
    const host = await lampHost(context)
    const copy = join(host.repository, '..', 'copy')
    await writeFixtureRepository(copy, [{ ...lampPlugin, id: 'candle' }])
    await host.request('POST', '/api/repositories', { body: { name: 'copy', url: copy } })
    const { page, faults } = await lampPage(context, host)
    const whose = 'The namespace @fixtures belongs to'
    await page.goto('/repositories')
    await page.getByText(`${whose} fixtures, which had it first.`).waitFor()
    await assertAccessible(page, 'repositories of one namespace')
    await page.goto('/catalog?repository=copy')
    await page.getByText(`${whose} the repository fixtures.`).waitFor()
    await assertAccessible(page, 'a catalog of one namespace')
    await page.getByRole('button', { name: /^Install/ }).click()
    const offer = page.getByRole('dialog')
    await offer.getByText(`${whose} the repository fixtures.`).waitFor()
    await assertAccessible(page, 'an installation from a second repository')
    await offer.getByRole('button', { name: 'Install', exact: true }).click()
    await page.getByText('Installed, 1').waitFor()
    const { body } = await host.request('GET', '/api/plugins/candle')
    assert.equal(body.repository, 'copy')
    assert.deepEqual(faults, [])
  },
)
