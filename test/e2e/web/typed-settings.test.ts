import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bridge } from '../bridge-plugin.ts'
import { install, lampHost, options, useBrowser } from './fixture.ts'

/** What becomes of what somebody types into a form of settings, and of where they are in it. */

const open = useBrowser()
const path = '/api/plugins/@fixtures/bridge'

test(
  'what is typed beside a secret outlives a reload, and the secret is asked for',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [bridge] })
    await install(host, '@fixtures/bridge')
    await host.request('POST', `${path}/config`, {
      body: { config: { rules: [{ from: 'in/a', to: 'out/a', code: 'stored' }] } },
    })
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/bridge/settings')
    await page.getByRole('button', { name: 'Add a row to Rules' }).click()
    const row = page.getByRole('group', { name: 'Rules, row 2', exact: true })
    await row.getByLabel('From (required)').fill('in/b')
    await row.getByLabel('To (required)').fill('out/b')
    await row.getByRole('textbox', { name: 'Code' }).fill('typed-secret')
    await page.getByText('Saving stores the settings.').waitFor()

    await page.reload()
    await row.getByText(/^Code must be the value itself/).waitFor()
    assert.equal(await row.getByLabel('From (required)').inputValue(), 'in/b')
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /typed-secret/)
    await row.getByRole('textbox', { name: 'Code' }).fill('typed-again')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('There is nothing to save').waitFor()
    await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
    const { config } = (await host.request('GET', `${path}/objects`)).body.objects
    assert.deepEqual(JSON.parse(config.text).rules, [
      { from: 'in/a', to: 'out/a', every: 10, code: 'stored' },
      { from: 'in/b', to: 'out/b', every: 10, code: 'typed-again' },
    ])
  },
)

test('a button that goes once it is pressed leaves the focus at its setting', options, async (context) => {
  const host = await lampHost(context, { plugins: [bridge] })
  await install(host, '@fixtures/bridge')
  const body = { config: { names: ['Ann'], broker: { host: 'broker.local', port: 1884 } } }
  await host.request('POST', `${path}/config`, { body })
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/bridge/settings')
  const focused = page.locator(':focus')
  await page.getByRole('button', { name: 'Use the default of Port' }).press('Enter')
  await page.getByRole('textbox', { name: 'Port' }).and(focused).waitFor()
  const addName = page.getByRole('button', { name: 'Add a value to Names' })
  await page.getByRole('button', { name: 'Remove value 1 of Names' }).press('Enter')
  await addName.and(focused).waitFor()
  await page.getByRole('button', { name: 'Clear Names' }).press('Enter')
  await page.getByRole('button', { name: 'Clear Names' }).waitFor({ state: 'detached' })
  await addName.and(focused).waitFor()
  await page.getByRole('button', { name: 'Clear Broker' }).press('Enter')
  await page.getByRole('combobox', { name: 'Host' }).and(focused).waitFor()
})

test('settings that could not be checked on a bad line are checked again', options, async (context) => {
  const host = await lampHost(context, { plugins: [bridge] })
  await install(host, '@fixtures/bridge')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/bridge/settings')
  await page.getByText('There is nothing to save').waitFor()
  // The stream of events outlives it, so nothing else says that the line is back.
  await page.route('**/config/check', (route) => route.abort('internetdisconnected'))
  await page.getByRole('combobox', { name: 'Host' }).fill('broker.local')
  await page.getByText('This could not be checked').waitFor()
  await page.unroute('**/config/check')
  await page.getByText('Saving stores the settings.').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('There is nothing to save').waitFor()
})

test(
  'a text that was saved empty is not shown as if the default took its place',
  options,
  async (context) => {
    const room = { key: 'room', type: 'string', label: 'Room', default: 'kitchen' }
    const plugin = { id: 'roomy', lua: 'Plugin:new("roomy")', manifest: { configSchema: [room] } }
    const host = await lampHost(context, { plugins: [plugin] })
    await install(host, '@fixtures/roomy')
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/roomy/settings')
    const field = page.getByRole('textbox', { name: 'Room' })
    assert.equal(await field.getAttribute('placeholder'), 'kitchen')
    await field.fill('cellar')
    await field.fill('')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('There is nothing to save').waitFor()
    assert.equal((await host.request('GET', '/api/plugins/@fixtures/roomy')).body.config.room, '')
    assert.equal(await field.getAttribute('placeholder'), 'Empty, not the default')
    await page.getByRole('button', { name: 'Use the default of Room' }).click()
    assert.equal(await field.getAttribute('placeholder'), 'kitchen')
  },
)
