import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { until } from '../../helpers/until.ts'
import { install, lamp, lampHost, options, runningLamp, useBrowser } from './fixture.ts'

/** What one types on a phone, whose keys for numbers and whose way to show a small field are its own. */

const open = useBrowser()

const valve = {
  id: 'valve',
  lua: 'Plugin:new("valve")',
  manifest: {
    name: 'Valve',
    configSchema: [
      { key: 'offset', type: 'number', label: 'Offset' },
      { key: 'factor', type: 'number', label: 'Factor', min: 0 },
      { key: 'lines', type: 'text', label: 'Lines' },
      { key: 'mode', label: 'Mode', enum: ['slow', 'fast'] },
    ],
  },
}

test(
  'with the keys of a phone in German a number has a comma, and may be below zero',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [valve] })
    await install(host, '@fixtures/valve')
    const { page, faults } = await open(context, host, { theme: 'light', width: 390, locale: 'de-DE' })
    await page.goto('/plugins/@fixtures/valve/settings')
    const offset = page.getByRole('textbox', { name: 'Offset' })
    const factor = page.getByRole('textbox', { name: 'Factor' })
    // The keys for `decimal` have no minus.
    assert.equal(await offset.getAttribute('inputmode'), 'text')
    assert.equal(await factor.getAttribute('inputmode'), 'decimal')
    await offset.pressSequentially('-0,25')
    await factor.pressSequentially('1,50')
    assert.deepEqual([await offset.inputValue(), await factor.inputValue()], ['-0,25', '1,50'])
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const config = async () => (await host.request('GET', '/api/plugins/@fixtures/valve')).body.config
    await until('the settings', async () => (await config()).offset !== undefined)
    assert.deepEqual(await config(), { offset: -0.25, factor: 1.5 })
    assert.deepEqual(faults, [])
  },
)

test(
  'a phone puts no capital letter and no other word into a topic or an address',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [valve, lampPlugin] })
    await install(host, '@fixtures/valve')
    await runningLamp(host)
    const { page } = await open(context, host, { theme: 'light', width: 390 })
    for (const path of [
      '/plugins',
      '/plugins/@fixtures/valve/settings',
      `/plugins/${lamp}/settings`,
      '/repositories',
    ]) {
      await page.goto(path)
      await page.locator('input').first().waitFor()
      const changed = await page.evaluate<string[]>(
        `[...document.querySelectorAll('input, textarea')]
        .filter((one) => one.getAttribute('autocapitalize') !== 'none' || one.getAttribute('autocorrect') !== 'off')
        .map((one) => one.outerHTML)`,
      )
      assert.deepEqual(changed, [], path)
    }
  },
)

test('no field has letters so small that Safari would make the page larger', options, async (context) => {
  const host = await lampHost(context, { plugins: [valve] })
  await install(host, '@fixtures/valve')
  const { page } = await open(context, host, { theme: 'light', width: 390 })
  for (const path of ['/plugins/@fixtures/valve/settings', '/catalog', '/repositories']) {
    await page.goto(path)
    await page.locator('input').first().waitFor()
    const sizes = await page.evaluate<number[]>(
      `[...document.querySelectorAll('input, select, textarea')].map((one) => parseFloat(getComputedStyle(one).fontSize))`,
    )
    assert.deepEqual(
      sizes.filter((size) => size < 16),
      [],
      path,
    )
  }
})

test('the bar at the bottom hides nothing that has the focus', options, async (context) => {
  const plugins = Array.from({ length: 12 }, (_, index) => ({
    id: `plugin-${index}`,
    lua: `Plugin:new("plugin-${index}")`,
  }))
  const host = await lampHost(context, { plugins })
  for (const { id } of plugins) await install(host, `@fixtures/${id}`)
  const { page } = await open(context, host, { theme: 'light', width: 390 })
  await page.goto('/plugins')
  const last = page.getByRole('switch', { name: 'Fixture plugin-11 enabled' })
  await last.waitFor()
  await page.getByRole('searchbox').focus()
  const hidden = new Set<string>()
  while ((await last.and(page.locator(':focus')).count()) === 0) {
    await page.keyboard.press('Tab')
    const name = await page.evaluate<string | null>(`(() => {
      const { left, top, width, height } = document.activeElement.getBoundingClientRect()
      const seen = document.elementFromPoint(left + width / 2, top + height / 2)
      return document.activeElement.contains(seen) ? null : document.activeElement.outerHTML
    })()`)
    if (name !== null) hidden.add(name)
  }
  assert.deepEqual([...hidden], [])
})

test(
  'on a phone the choices above a list are as wide as the screen, whatever they offer',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [lampPlugin] })
    await runningLamp(host)
    const { page } = await open(context, host, { theme: 'light', width: 390 })
    await page.goto('/machines/plugin-lifecycle')
    const widthOf = async (label: string): Promise<number | undefined> =>
      (await page.getByLabel(label, { exact: true }).boundingBox())?.width
    // Until the options are there, nothing is settled.
    await page.getByRole('option', { name: lamp }).waitFor({ state: 'attached' })
    assert.equal(await widthOf('Machine'), 358)
    assert.equal(await widthOf('Plugin'), 358)
  },
)
