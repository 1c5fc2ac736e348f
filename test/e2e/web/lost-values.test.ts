import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Route } from 'playwright-core'
import { until } from '../../helpers/until.ts'
import { lampHost, losingFirst, options, run, useBrowser } from './fixture.ts'

/** Values that somebody sets, over a line that breaks. */

const open = useBrowser()

/** Keeps all that its control has been set to, and how often its button was pressed. */
const gatePlugin = {
  id: 'gate',
  lua: `local plugin = Plugin:new("gate")
    local set, pressed = {}, 0
    plugin:control("height", function() return set[#set] or 0 end, function(value)
      table.insert(set, value)
      plugin:upsertObject("set", { values = set })
    end)
    plugin:control("bell", function() return pressed end, function()
      pressed = pressed + 1
      plugin:upsertObject("bell", { pressed = pressed })
    end)
    plugin:onInit(function()
      expose(plugin:get("bell"), "button", { id = "bell", name = "Bell" })
    end)`,
  manifest: { name: 'Gate', exports: { controls: [{ id: 'height', type: 'number', range: '0-10' }] } },
}
const gate = '@fixtures/gate'

async function gatePage(context: TestContext) {
  const host = await lampHost(context, { plugins: [gatePlugin] })
  await run(host, gate)
  const { page } = await open(context, host)
  await page.clock.install()
  await page.goto(`/plugins/${gate}/controls`)
  await page.getByText('Live', { exact: true }).waitFor()
  const slider = page.getByRole('slider', { name: 'height', exact: true })
  await slider.waitFor()
  const objects = async (): Promise<any> =>
    (await host.request('GET', `/api/plugins/${gate}/objects`)).body.objects
  return { page, slider, objects }
}

test(
  'a value or a button whose answer is lost acts once, and nothing has to be told',
  options,
  async (context) => {
    const { page, slider, objects } = await gatePage(context)
    await losingFirst(page, /\/controls\/height$/)
    await losingFirst(page, /\/exposures\/bell\//)
    const again = page.waitForResponse(/\/controls\/height$/)
    await slider.fill('4')
    await until('the value', async () => (await objects()).set !== undefined)
    await page.clock.fastForward(1_500)
    assert.equal((await again).status(), 200)
    assert.equal(await page.locator('.notice').count(), 0)
    const bell = page.getByRole('button', { name: 'Bell: Press' })
    await bell.click()
    await until('the ring', async () => (await objects()).bell !== undefined)
    await page.clock.fastForward(1_500)
    await page.getByText('Bell is pressed.').waitFor()
    assert.deepEqual(await objects(), { set: { values: [4] }, bell: { pressed: 1 } })
  },
)

test(
  'a value that did not come through is not set behind a later one, nor when nobody waits for it',
  options,
  async (context) => {
    const { page, slider, objects } = await gatePage(context)
    let isCut = true
    let tries = 0
    await page.route(/\/controls\/height$/, (route: Route) => {
      tries += 1
      return isCut ? route.abort('internetdisconnected') : route.continue()
    })
    await slider.fill('3')
    await until('a try', () => Promise.resolve(tries === 1))
    isCut = false
    await slider.fill('7')
    await until('the later one', async () => (await objects()).set !== undefined)
    // Whoever would still try the former one does so each second.
    for (const _ of Array(3)) await page.clock.fastForward(1_100)
    assert.deepEqual((await objects()).set, { values: [7] })

    isCut = true
    tries = 0
    await slider.fill('9')
    await until('a try', () => Promise.resolve(tries === 1))
    await page.clock.fastForward(10_100)
    await page.getByText('it is not known whether this was done').waitFor()
    isCut = false
    for (const _ of Array(3)) await page.clock.fastForward(1_100)
    assert.deepEqual((await objects()).set, { values: [7] })
    assert.equal(await slider.inputValue(), '7')
  },
)
