import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertAccessible, assertFitsWidth } from '../../helpers/browser.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { bridge } from '../bridge-plugin.ts'
import { heading, held, install, lamp, lampHost, nameOf, options, run, useBrowser, views } from './fixture.ts'

/** The form of lists, objects, groups, conditions and suggestions, in a real browser. */

const open = useBrowser()
const path = '/api/plugins/@fixtures/bridge'

test(
  'rows are added, filled, put in order with mouse and keyboard, removed and saved',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [bridge] })
    await run(host, '@fixtures/bridge')
    const { page, faults } = await open(context, host)
    await page.goto('/plugins/@fixtures/bridge/settings')
    await heading(page, 'Fixture bridge').waitFor()
    const row = (number: number) => page.getByRole('group', { name: `Rules, row ${number}`, exact: true })
    for (const [index, letter] of ['a', 'b', 'c'].entries()) {
      await page.getByRole('button', { name: 'Add a row to Rules' }).click()
      // The first field of the new row has the focus.
      await row(index + 1)
        .locator('input:focus')
        .waitFor()
      await page.keyboard.type(`in/${letter}`)
      await row(index + 1)
        .getByLabel('To (required)')
        .fill(`out/${letter}`)
    }
    await row(2).getByRole('textbox', { name: 'Code' }).fill('typed-secret')
    await row(1).getByText('More settings').click()
    await row(1).getByRole('textbox', { name: 'Every' }).fill('0')
    await page.getByText('Cannot be saved yet: Rules, row 1, Every must be at least 1.').waitFor()
    await row(1).getByText('Every must be at least 1.').waitFor()
    await row(1).getByRole('textbox', { name: 'Every' }).fill('5')

    // With the keyboard the first row goes down, and the focus with it.
    await page.getByRole('button', { name: /^Move row 1 of Rules/ }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    assert.equal(await row(3).getByLabel('From (required)').inputValue(), 'in/a')
    assert.match(
      (await page.evaluate<string>('document.activeElement.getAttribute("aria-label")')) ?? '',
      /^Move row 3 of Rules/,
    )

    // With the mouse the third row goes up.
    const from = await page.getByRole('button', { name: /^Move row 3 of Rules/ }).boundingBox()
    const to = await row(1).boundingBox()
    assert.ok(from !== null && to !== null)
    await page.mouse.move(from.x + 5, from.y + 5)
    await page.mouse.down()
    await page.mouse.move(from.x + 5, to.y + to.height / 2, { steps: 8 })
    await page.mouse.move(from.x + 5, to.y + 2, { steps: 4 })
    await page.mouse.up()
    assert.equal(await row(1).getByLabel('From (required)').inputValue(), 'in/a')

    await page.getByRole('button', { name: 'Remove row 3 of Rules' }).click()
    await page.getByRole('button', { name: 'Add a value to Names' }).click()
    await page.getByLabel('Names, value 1').and(page.locator(':focus')).waitFor()
    await page.getByLabel('Names, value 1').and(page.locator(':focus')).waitFor()
    await page.keyboard.type('Ann')
    // A hidden field is not required, and comes with its condition.
    assert.equal(await page.getByLabel('Address (required)').count(), 0)
    await page.getByLabel('Mode').selectOption('http')
    await page.getByLabel('Address (required)').waitFor()
    assert.equal(await page.getByRole('combobox', { name: 'Host' }).count(), 0)
    await page.getByText('Address is required').first().waitFor()
    await page.getByLabel('Mode').selectOption('mqtt')
    await page.getByRole('combobox', { name: 'Host' }).fill('broker.local')
    await page.getByText('Saving stores the settings and reloads Fixture bridge.').waitFor()
    assert.doesNotMatch(await page.locator('.changes').innerText(), /typed-secret/)
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /typed-secret/)
    await page.getByRole('button', { name: 'Save and reload' }).click()
    await page.getByText('Saved, and Fixture bridge is running with it.').waitFor()
    const { body } = await host.request('GET', path)
    assert.deepEqual(body.config, {
      rules: [
        { from: 'in/a', to: 'out/a', every: 5 },
        { from: 'in/b', to: 'out/b', code: '********' },
      ],
      names: ['Ann'],
      mode: 'mqtt',
      broker: { host: 'broker.local' },
    })

    // A row with a stored secret keeps it in another place, and not with another value.
    await page.getByRole('button', { name: /^Move row 2 of Rules/ }).press('ArrowUp')
    await page.getByRole('button', { name: 'Save and reload' }).click()
    await page.getByText('There is nothing to save').waitFor()
    const { config } = (await host.request('GET', `${path}/objects`)).body.objects
    assert.match(config.text, /typed-secret.*in\/a/)
    await row(1).getByLabel('To (required)').fill('elsewhere')
    await row(1)
      .getByText(/^Code must be the value itself/)
      .waitFor()
    assert.deepEqual(faults, [])
  },
)

test('what the host knows is offered, and texts of before are rows', options, async (context) => {
  const host = await lampHost(context, { plugins: [bridge] })
  await install(host, '@fixtures/bridge')
  const config = { rules: 'a/b -> c/d every=5', broker: { host: 'known.example' } }
  await host.request('POST', `${path}/config`, { body: { config } })
  await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/bridge/settings')
  const from = page.getByLabel('From (required)')
  assert.equal(await from.inputValue(), 'a/b')
  await from.focus()
  const topic = 'host/plugins/@fixtures/bridge/state'
  await page.locator(`datalist option[value="${topic}"]`).first().waitFor({ state: 'attached' })
  await page.getByRole('combobox', { name: 'Host' }).focus()
  await page.locator('datalist option[value="known.example"]').waitFor({ state: 'attached' })
})

test('a text with a line that is no row stays, and loses nothing', options, async (context) => {
  const routes: FixturePlugin = {
    id: 'routes',
    lua: 'Plugin:new("routes")',
    manifest: {
      configSchema: [
        {
          key: 'routes',
          type: 'list',
          label: 'Routes',
          lines: ['{from} -> {to}'],
          fields: [{ key: 'from', label: 'From' }, { key: 'to' }],
        },
      ],
    },
  }
  const host = await lampHost(context, { plugins: [routes] })
  await install(host, '@fixtures/routes')
  const text = 'a/b -> c/d\nwhat is this'
  await host.request('POST', '/api/plugins/@fixtures/routes/config', { body: { config: { routes: text } } })
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/routes/settings')
  assert.equal(await page.getByRole('textbox', { name: 'Routes' }).inputValue(), text)
  await page.getByRole('button', { name: 'Make rows of the lines that can be read' }).click()
  assert.equal(await page.getByLabel('From').inputValue(), 'a/b')
})

test(
  'of a text that may have secrets in it the lines that can be read become rows',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [bridge] })
    await run(host, '@fixtures/bridge')
    const rules = 'a/b -> c/d code=code-of-a\nwhat is this code=code-of-none'
    await host.request('POST', `${path}/config`, { body: { config: { rules } } })
    const { page, faults } = await open(context, host)
    await page.goto('/plugins/@fixtures/bridge/settings')
    await page.getByText('The text is not shown, as it may have secrets in it.').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Rules' }).count(), 0)
    await page.getByRole('button', { name: 'Stored; replace it' }).waitFor()
    assert.doesNotMatch(await page.content(), /code-of-/)
    await page.getByRole('button', { name: 'Make rows of the lines that can be read' }).click()
    assert.equal(await page.getByLabel('From (required)').inputValue(), 'a/b')
    await page.getByRole('button', { name: 'Save and reload' }).click()
    await page.getByText('There is nothing to save').waitFor()
    const { config } = (await host.request('GET', `${path}/objects`)).body.objects
    assert.deepEqual(JSON.parse(config.text).rules, [
      { from: 'a/b', to: 'c/d', every: 10, code: 'code-of-a' },
    ])
    assert.deepEqual(faults, [])
  },
)

for (const view of views) {
  test(`a form with lists is for everybody: ${nameOf(view)}`, options, async (context) => {
    const host = await lampHost(context, { plugins: [bridge] })
    await install(host, '@fixtures/bridge')
    const rules = [
      { from: 'in/kitchen/temperature', to: 'out/kitchen', code: 'secret' },
      { from: '', to: 'out/b' },
    ]
    const body = { config: { rules, names: ['Ann', 'Ben'], broker: { host: 'broker.local' } } }
    await host.request('POST', `${path}/config`, { body })
    const { page, faults } = await open(context, host, view)
    await page.goto('/plugins/@fixtures/bridge/settings')
    await page.getByText('From is required').first().waitFor()
    await assertAccessible(page, 'settings with lists')
    await assertFitsWidth(page, 'settings with lists')
    const picture = process.env.SCREENSHOTS
    if (picture !== undefined)
      await page.screenshot({ path: `${picture}/settings-${view.width}.png`, fullPage: true })
    assert.deepEqual(faults, [])
  })
}

const door: FixturePlugin = {
  id: 'door',
  lua: 'Plugin:new("door")',
  manifest: {
    configSchema: [
      { key: 'room', type: 'string', label: 'Room' },
      { key: 'code', type: 'password', label: 'Code' },
      { key: 'mode', label: 'Mode', enum: ['open', 'shut'] },
    ],
  },
}
const doorPath = '/api/plugins/@fixtures/door'

test('what is typed while the settings are being saved is kept', options, async (context) => {
  const host = await lampHost(context, { plugins: [door] })
  await install(host, '@fixtures/door')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/door/settings')
  const save = page.getByRole('button', { name: 'Save', exact: true })
  const room = page.getByRole('textbox', { name: 'Room' })
  const release = await held(page, 'POST', '**/config')
  await room.fill('hall')
  await page.getByLabel('Code', { exact: true }).fill('1234')
  await save.click()
  await page.getByText('Saving…').waitFor()
  await room.fill('kitchen')
  release()
  await page.getByText('Saved. Fixture door is off.').waitFor()
  assert.equal(await room.inputValue(), 'kitchen')
  await page.getByText('Saving stores the settings. Fixture door is off and stays off.').waitFor()
  assert.deepEqual(await page.locator('.changes tbody tr').allInnerTexts(), ['Room\t"hall"\t"kitchen"'])
  await save.click()
  await page.getByText('There is nothing to save').waitFor()
  const config = { room: 'kitchen', code: '********' }
  assert.deepEqual((await host.request('GET', doorPath)).body.config, config)
})

test(
  'Enter right after the last key saves, or says why not: it need not wait until the host has looked at it',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [lampPlugin] })
    await install(host, lamp)
    const { page } = await open(context, host)
    await page.goto(`/plugins/${lamp}/settings`)
    await page.getByText('There is nothing to save').waitFor()
    await held(page, 'POST', '**/config/check')
    const interval = page.getByRole('textbox', { name: 'Interval' })
    await interval.fill('9999')
    await interval.press('Enter')
    await page.getByRole('alert').getByText('must be at most 3600').waitFor()
    await interval.fill('120')
    await interval.press('Enter')
    await page.getByText('Saved. Lamp is off.').waitFor()
    assert.deepEqual((await host.request('GET', `/api/plugins/${lamp}`)).body.config, { interval: 120 })
  },
)

test('what is typed while the limits are being saved is kept', options, async (context) => {
  const host = await lampHost(context, { plugins: [door] })
  await install(host, '@fixtures/door')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/door/limits')
  const memory = page.getByRole('textbox', { name: 'Memory', exact: true })
  const save = page.getByRole('button', { name: 'Save the limits' })
  const release = await held(page, 'PUT', '**/limits')
  await memory.fill('256')
  await save.click()
  await page.locator('button:disabled', { hasText: 'Save the limits' }).waitFor()
  await memory.fill('512')
  release()
  await page.getByText('The limits of Fixture door are saved.').waitFor()
  assert.equal(await memory.inputValue(), '512')
  assert.equal(await save.isDisabled(), false)
})

test(
  'what is typed over a secret and taken back leaves it as it was just saved',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [door] })
    await install(host, '@fixtures/door')
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/door/settings')
    const code = page.getByLabel('Code', { exact: true })
    await code.fill('1234')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('There is nothing to save').waitFor()
    await code.fill('9')
    await page.locator('.changes').getByText('new secret').waitFor()
    await code.fill('')
    await page.getByText('There is nothing to save').waitFor()
  },
)

test(
  'a stored value that is no choice any more is shown, and can be taken away',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [door] })
    await install(host, '@fixtures/door')
    await host.request('POST', `${doorPath}/config`, { body: { config: { mode: 'shut' } } })
    const configSchema = [{ key: 'mode', label: 'Mode', enum: ['open', 'locked'] }]
    await host.publish([{ ...door, version: '2.0.0', manifest: { configSchema } }])
    assert.equal((await host.request('POST', `${doorPath}/update`, { body: {} })).body.version, '2.0.0')
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/door/settings')
    const mode = page.getByLabel('Mode')
    await page.getByText('Mode must be one of "open", "locked".').waitFor()
    assert.equal(await mode.locator('option:checked').innerText(), 'shut')
    await mode.selectOption('Not set')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('There is nothing to save').waitFor()
    assert.deepEqual((await host.request('GET', doorPath)).body.config, {})
  },
)

test(
  'a field of several lines, and a switch, look and say that they are required as others do',
  options,
  async (context) => {
    const fields = [
      { key: 'name', type: 'string', label: 'Name', required: true },
      { key: 'rules', type: 'text', label: 'Rules', required: true },
      { key: 'loud', type: 'boolean', label: 'Loud', required: true },
    ]
    const form = { id: 'form', lua: 'Plugin:new("form")', manifest: { configSchema: fields } }
    const host = await lampHost(context, { plugins: [form] })
    await install(host, '@fixtures/form')
    const { page } = await open(context, host, { theme: 'dark', width: 390 })
    await page.goto('/plugins/@fixtures/form/settings')
    await page.getByText('Rules is required.', { exact: true }).waitFor()
    assert.equal(await page.getByText('(required)').count(), fields.length)
    const looks = await page.evaluate<object[]>(`['input', 'textarea'].map((name) => {
    const style = getComputedStyle(document.querySelector('.field ' + name))
    return ['backgroundColor', 'borderColor', 'borderRadius', 'paddingLeft', 'boxShadow'].map((each) => style[each])
  })`)
    assert.deepEqual(looks[1], looks[0])
  },
)
