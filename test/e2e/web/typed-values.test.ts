import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../helpers/until.ts'
import { held, lampHost, options, run, useBrowser } from './fixture.ts'

/** Values that somebody types, moves or chooses while another one is on its way to the plugin. */

const open = useBrowser()

/** Takes a name and a height, and no other mode than it has. */
const gate = {
  id: 'gate',
  lua: `local plugin = Plugin:new("gate")
    local name, height = "north", 2
    plugin:control("name", function() return name end, function(value) name = value end)
    plugin:control("height", function() return height end, function(value) height = value end)
    plugin:control("locked", function() return "true" end, function() end)
    plugin:onInit(function()
      local mode = { value = "day" }
      function mode:get() return self.value end
      function mode:set() error("it is locked") end
      expose(mode, "select", { id = "mode", name = "Mode", options = { "day", "night" } })
    end)`,
  manifest: {
    name: 'Gate',
    exports: {
      controls: [
        { id: 'name', type: 'string' },
        { id: 'height', type: 'number', range: '0-10' },
        { id: 'locked', type: 'switch' },
      ],
    },
  },
}

async function gatePage(context: TestContext) {
  const host = await lampHost(context, { plugins: [gate] })
  await run(host, '@fixtures/gate')
  const { page } = await open(context, host)
  await page.clock.install()
  await page.goto('/plugins/@fixtures/gate/controls')
  await page.getByText('Live', { exact: true }).waitFor()
  return { host, page }
}

/** All that the page does at once with what it has been told. */
const frames = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

test('what is typed while a value is being set stays, and can be set', options, async (context) => {
  const { host, page } = await gatePage(context)
  const name = page.getByRole('textbox', { name: 'name' })
  const release = await held(page, 'PUT', /\/controls\/name$/)
  await name.fill('south')
  await name.press('Enter')
  await name.pressSequentially('east')
  const answer = page.waitForResponse(/\/controls\/name$/)
  release()
  await (await answer).finished()
  await frames(page)
  assert.equal(await name.inputValue(), 'southeast')
  await name.press('Enter')
  await until('the name', async () => {
    const { body } = await host.request('GET', '/api/plugins/@fixtures/gate/controls')
    return body.controls.some(({ value }: { value: unknown }) => value === 'southeast')
  })
})

test('a switch is on at each word for it that the host takes, too', options, async (context) => {
  const { page } = await gatePage(context)
  await page.getByRole('switch', { name: 'locked', checked: true }).waitFor()
})

test('a slider stays where it was moved to until its value has come', options, async (context) => {
  const { page } = await gatePage(context)
  const height = page.getByRole('slider', { name: 'height' })
  // What the host announces is shown a moment after it has come.
  await page.clock.pauseAt(Date.now() + 2_000)
  const answer = page.waitForResponse(/\/controls\/height$/)
  await height.fill('9')
  await (await answer).finished()
  for (const passed of [0, 50, 200, 1_000]) {
    await page.clock.runFor(passed)
    assert.equal(await height.inputValue(), '9', `after ${passed} ms`)
  }
})

test('a choice that is refused goes back to what there is', options, async (context) => {
  const { page } = await gatePage(context)
  const mode = page.getByRole('combobox', { name: 'Mode' })
  await mode.selectOption('night')
  await page.locator('.notice').getByText('it is locked').waitFor()
  assert.equal(await mode.inputValue(), 'day')
})

test('each type of control that is on or off has a switch', options, async (context) => {
  const types = ['switch', 'boolean', 'binary']
  const plugin = {
    id: 'switches',
    lua: `local plugin = Plugin:new("switches")
      for _, id in ipairs({ "${types.join('", "')}" }) do
        plugin:control(id, function() return "ON" end, function() end)
      end`,
    manifest: { exports: { controls: types.map((type) => ({ id: type, type })) } },
  }
  const host = await lampHost(context, { plugins: [plugin] })
  await run(host, '@fixtures/switches')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/switches/controls')
  for (const name of types) await page.getByRole('switch', { name, exact: true, checked: true }).waitFor()
})

/** A plug that only listens, and a valve that stands between two steps, or nobody knows where. */
const silent = {
  id: 'silent',
  lua: `local plugin = Plugin:new("silent")
    local heard, opened = "nothing", nil
    plugin:control("plug", function() return nil end, function(value) heard = tostring(value) end)
    local lit = nil
    plugin:control("lamp", function() return lit end, function(value) lit = value end)
    plugin:control("heard", function() return heard end, function() end)
    plugin:control("valve", function() return opened end, function(value) opened = value + 0.25 end)`,
  manifest: {
    exports: {
      controls: [
        { id: 'plug', type: 'switch' },
        { id: 'lamp', type: 'switch' },
        { id: 'valve', type: 'number', range: '0-10' },
      ],
    },
  },
}

test(
  'what does not say whether it is on can be switched off, and is not shown as off',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [silent] })
    await run(host, '@fixtures/silent')
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/silent/controls')
    const heard = page.getByRole('listitem').filter({ hasText: 'heard' }).locator('output')
    for (const [button, value] of [
      ['On', 'true'],
      ['Off', 'false'],
    ] as const) {
      await page.getByRole('button', { name: `plug: ${button}` }).click()
      await heard.getByText(value, { exact: true }).waitFor()
    }
    assert.equal(await page.getByRole('switch', { name: 'plug' }).count(), 0)
    // One that tells it then has a switch, where the keyboard goes on.
    await page.getByRole('button', { name: 'lamp: On' }).press('Enter')
    const lit = page.getByRole('switch', { name: 'lamp', checked: true })
    await lit.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Space')
    await page.getByRole('switch', { name: 'lamp', checked: false }).waitFor()
  },
)

test('a slider is read out as what the value is, not as the step it stands at', options, async (context) => {
  const host = await lampHost(context, { plugins: [silent] })
  await run(host, '@fixtures/silent')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/silent/controls')
  const valve = page.getByRole('slider', { name: 'valve' })
  await page.locator('[aria-label=valve][aria-valuetext="not known"]').waitFor()
  await valve.fill('4')
  await page.locator('[aria-label=valve][aria-valuetext="4.25"]').waitFor()
})
