import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from '../../bus/bus-fixture.ts'
import { assertAccessible } from '../../helpers/browser.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import type { TestHostOptions } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import {
  answeredLate,
  heading,
  held,
  hostWithLamp,
  lamp,
  lampHost,
  logIn,
  options,
  run,
  token,
  useBrowser,
} from './fixture.ts'

/** What changes while a page of it is open: values, what there is, the login. */

const open = useBrowser()

/** Its value is what `value/set` says; each message on `add/…` adds a sensor, a control and a timer. */
const meter: FixturePlugin = {
  id: 'meter',
  lua: `
local plugin = Plugin:new("meter")
local value = 1
plugin:onInit(function()
  local sensor = plugin:sensor("value", function() return value end)
  plugin:upsertObject("reading", { value = value })
  plugin:mqttSubscribe("value/set", function(_, payload)
    value = tonumber(payload)
    sensor:_notify()
    plugin:updateObject("reading", { value = value })
  end)
  plugin:mqttSubscribe("add/+", function(topic)
    plugin:sensor("sensor of " .. topic, function() return 42 end):_notify()
    plugin:control("control of " .. topic, function() return 7 end, function() end):_notify()
    plugin:setInterval(60000, function() end)
  end)
end)`,
}

test('values are those of the host again after a break in which they changed', options, async (context) => {
  const host = await lampHost(context, { plugins: [meter], settings: { token } })
  await run(host, '@fixtures/meter')
  const client = await connect(context, host.mqttUrl, { username: 'test', password: token })
  const proxy = await createTcpProxy(context, host.url)
  const { page } = await open(context, { url: `http://127.0.0.1:${proxy.port}` })
  await page.goto('/plugins')
  await logIn(page)
  const places = {
    controls: page.getByRole('list', { name: 'Sensors' }),
    objects: page.locator('.objects dd'),
  }
  let value = 1
  for (const [tab, place] of Object.entries(places)) {
    await page.goto(`/plugins/@fixtures/meter/${tab}`)
    await page.getByText('Live', { exact: true }).waitFor()
    await place.getByText(String(value), { exact: true }).waitFor()
    await client.publishAsync('value/set', String((value += 1)), { qos: 1 })
    await place.getByText(String(value), { exact: true }).waitFor()
    proxy.refuse()
    await page.getByText('Disconnected, trying again…').waitFor()
    await client.publishAsync('value/set', String((value += 1)), { qos: 1 })
    proxy.pass()
    await place.getByText(String(value), { exact: true }).waitFor()
  }
})

test('a log that is paused stays as it is over a break, too', options, async (context) => {
  const host = await hostWithLamp(context, { settings: { token } })
  const proxy = await createTcpProxy(context, host.url)
  const { page } = await open(context, { url: `http://127.0.0.1:${proxy.port}` })
  await page.goto(`/plugins/${lamp}/logs`)
  await logIn(page)
  const lines = page.getByRole('list', { name: 'Lines of the log, newest first' })
  await lines.getByText('shining in kitchen').waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await host.request('PUT', `/api/plugins/${lamp}/controls/level`, { body: { value: 7 } })
  await page.getByText(/^Paused; [1-9]\d* new lines? since$/).waitFor()
  proxy.refuse()
  await page.getByText('Disconnected, trying again…').waitFor()
  const read = page.waitForResponse(/\/logs\?/)
  proxy.pass()
  await (await read).finished()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  assert.equal(await lines.getByText('the level is now 7').count(), 0)
  await page.getByRole('button', { name: 'Go on' }).click()
  await lines.getByText('the level is now 7').waitFor()
  assert.equal(await lines.getByText('shining in kitchen').count(), 1)
})

test(
  'a connection that was forgotten on the way is noticed, and what happened meanwhile is shown',
  options,
  async (context) => {
    const host = await hostWithLamp(context, { settings: { token } })
    const proxy = await createTcpProxy(context, host.url)
    const { page } = await open(context, host)
    await page.clock.install({ time: '2026-01-05T10:00:00' })
    // The stream alone goes that way: what else a browser has open is not to be of account.
    await page.route('**/api/events**', (route) => {
      const address = new URL(route.request().url())
      address.port = String(proxy.port)
      return route.continue({ url: address.href })
    })
    await page.goto(`/plugins/${lamp}/settings`)
    await logIn(page)
    proxy.forget()
    const path = `/api/plugins/${lamp}`
    await host.request('POST', `${path}/config`, { body: { config: { room: 'cellar' } } })
    await host.request('POST', `${path}/toggle`, { body: { enabled: false } })
    // As if it had slept.
    await page.clock.fastForward('01:00:00')
    await page.locator('.page-state .chip', { hasText: 'Off' }).waitFor()
    // The stream tells of the state, and the settings are read.
    await until('the other room', async () => {
      return (await page.getByRole('textbox', { name: 'Room' }).inputValue()) === 'cellar'
    })
    await page.getByRole('link', { name: 'Events', exact: true }).click()
    await page
      .getByText(/This page was not connected from 10:0\d:\d\d to 11:0\d:\d\d: what was emitted/)
      .waitFor()
  },
)

test('a stream that does not begin is begun anew before long', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host)
  await page.clock.install()
  let begun = 0
  await page.route('**/api/events**', (route) => {
    begun += 1
    // On a connection that the browser has kept, and nobody else.
    return begun === 1 ? undefined : route.continue()
  })
  await page.goto('/plugins')
  await until('a stream', () => Promise.resolve(begun === 1))
  await page.clock.fastForward('00:20')
  await page.getByText('Live', { exact: true }).waitFor({ timeout: 10_000 })
})

test('what a plugin adds later is there without a reload', options, async (context) => {
  const host = await lampHost(context, { plugins: [meter] })
  await run(host, '@fixtures/meter')
  const client = await connect(context, host.mqttUrl)
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/meter/controls')
  await page.getByText('Live', { exact: true }).waitFor()
  const sensors = page.getByRole('list', { name: 'Sensors' })
  await sensors.getByText('value', { exact: true }).waitFor()
  for (const name of ['one', 'two']) {
    await client.publishAsync(`add/${name}`, '', { qos: 1 })
    await sensors
      .getByRole('listitem')
      .filter({ hasText: `sensor of add/${name}` })
      .getByText('42')
      .waitFor()
    await page.getByRole('textbox', { name: `control of add/${name}` }).waitFor()
  }
})

/** A sensor, and the same exposed, with the state that `door/set` says. */
const door: FixturePlugin = {
  id: 'door',
  lua: `
local plugin = Plugin:new("door")
local state = "shut"
plugin:onInit(function()
  local sensor = plugin:sensor("state", function() return state end)
  expose(sensor, "sensor", { id = "door", name = "Front door" })
  plugin:mqttSubscribe("door/set", function(_, payload)
    state = payload
    sensor:notify()
  end)
end)`,
}

test('a value that has changed since it was read is not told as it was', options, async (context) => {
  const host = await lampHost(context, { plugins: [door] })
  await run(host, '@fixtures/door')
  const client = await connect(context, host.mqttUrl)
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/door')
  await page.getByText('Live', { exact: true }).waitFor()
  const { isAnswered, release } = await answeredLate(page, /\/exposures$/)
  await page.getByRole('link', { name: 'Controls', exact: true }).click()
  await isAnswered
  const state = page.getByRole('list', { name: 'Sensors' }).locator('output')
  await state.getByText('shut').waitFor()
  await client.publishAsync('door/set', 'open', { qos: 1 })
  await state.getByText('open').waitFor()
  release()
  const item = page.getByRole('list', { name: 'Exposed' }).getByRole('listitem')
  await item.getByText('open', { exact: true }).waitFor()
})

test(
  'a plugin that was uninstalled while the list was read does not come back with it',
  options,
  async (context) => {
    const plugins = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, lua: `Plugin:new("${id}")` }))
    const host = await lampHost(context, { plugins })
    for (const { id } of plugins) await run(host, `@fixtures/${id}`)
    const { page } = await open(context, host)
    await page.goto('/plugins')
    await page.getByText('Live', { exact: true }).waitFor()
    const rows = page.getByRole('list', { name: 'Installed plugins' }).getByRole('listitem')
    const { isAnswered, release } = await answeredLate(page, /\/api\/plugins$/)
    // So many change at once that the whole list is read.
    await Promise.all(
      plugins.map(({ id }) =>
        host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, { body: { enabled: false } }),
      ),
    )
    await isAnswered
    await host.request('DELETE', '/api/plugins/@fixtures/a')
    await rows.filter({ hasText: 'Fixture a' }).waitFor({ state: 'detached' })
    const answer = page.waitForResponse(/\/api\/plugins$/)
    release()
    await (await answer).finished()
    await host.request('POST', '/api/plugins/@fixtures/b/toggle', { body: { enabled: true } })
    await rows.filter({ hasText: 'Fixture b' }).getByText('Running', { exact: true }).waitFor()
    assert.equal(await rows.count(), 4)
  },
)

test(
  'a plugin that is installed while the list is read is not taken away by it',
  options,
  async (context) => {
    const plugins = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, lua: `Plugin:new("${id}")` }))
    const host = await lampHost(context, { plugins })
    const changed = plugins.slice(0, 4)
    for (const { id } of changed) await run(host, `@fixtures/${id}`)
    const { page } = await open(context, host)
    await page.goto('/catalog')
    await page.getByText('Live', { exact: true }).waitFor()
    const { isAnswered, release } = await answeredLate(page, /\/api\/plugins$/)
    await Promise.all(
      changed.map(({ id }) =>
        host.request('POST', `/api/plugins/@fixtures/${id}/toggle`, { body: { enabled: false } }),
      ),
    )
    await isAnswered
    // That it is read by itself afterwards is not to help.
    await page.route(/\/api\/plugins\/@fixtures\/e$/, (route) => route.abort())
    await page.getByRole('button', { name: 'Install Fixture e' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Install', exact: true }).click()
    await page.getByText('Fixture e 1.0.0 is installed.').waitFor()
    const answer = page.waitForResponse(/\/api\/plugins$/)
    release()
    await (await answer).finished()
    await page.getByRole('link', { name: 'Plugins', exact: true }).click()
    const rows = page.getByRole('list', { name: 'Installed plugins' }).getByRole('listitem')
    await rows.filter({ hasText: 'Fixture a' }).getByText('Off', { exact: true }).waitFor()
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    assert.equal(await rows.filter({ hasText: 'Fixture e' }).count(), 1)
  },
)

test('who goes on while a plugin is being uninstalled stays where they are', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}`)
  await page.getByText('Live', { exact: true }).waitFor()
  const release = await held(page, 'DELETE', /\/lamp$/)
  await page.getByRole('button', { name: 'Uninstall' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click()
  await page.getByRole('link', { name: 'History', exact: true }).first().click()
  await heading(page, 'History').waitFor()
  release()
  await page.getByText(`${lamp} is uninstalled.`).waitFor()
  await heading(page, 'History').waitFor()
  assert.match(page.url(), /\/history$/)
})

test(
  'the overview counts what a plugin holds at present, not when it was loaded',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [meter] })
    await run(host, '@fixtures/meter')
    const client = await connect(context, host.mqttUrl)
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/meter')
    const held = page.locator('section', { has: page.getByRole('heading', { name: 'What it holds now' }) })
    const timers = held.locator('dt', { hasText: 'Timers' }).locator('xpath=following-sibling::dd[1]')
    await timers.getByText('0', { exact: true }).waitFor()
    await client.publishAsync('add/one', '', { qos: 1 })
    await timers.getByText('1', { exact: true }).waitFor()
  },
)

test('a login that has run out is asked for again, and nothing typed is lost', options, async (context) => {
  const host = await hostWithLamp(context, { settings: { token } })
  const proxy = await createTcpProxy(context, host.url)
  const { page } = await open(context, { url: `http://127.0.0.1:${proxy.port}` })
  await page.goto(`/plugins/${lamp}/settings`)
  await logIn(page)
  await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
  await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
  proxy.refuse()
  await page.getByText('Disconnected, trying again…').waitFor()
  await page.context().clearCookies()
  proxy.pass()
  await page.getByRole('status').getByText('Log in to connect', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).waitFor({ state: 'detached' })
  await logIn(page)
  await page.getByRole('button', { name: 'Log out' }).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Room' }).inputValue(), 'cellar')
  await page.getByText('Saving stores the settings and reloads Lamp.').waitFor()
})

test('what is typed into a form stays while one looks at another page', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/limits`)
  const limit = page.getByRole('textbox', { name: 'Memory', exact: true })
  await limit.fill('512')
  await page.getByRole('link', { name: 'Logs', exact: true }).click()
  await page.getByRole('heading', { name: 'Log', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Limits', exact: true }).click()
  await page.getByText('Saving reloads Lamp.').waitFor()
  assert.equal(await limit.inputValue(), '512')
  await page.getByRole('button', { name: 'Save the limits' }).click()
  await page.getByText('There is nothing to save').waitFor()

  await page.getByRole('link', { name: 'Repositories', exact: true }).click()
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('more')
  await page.getByRole('link', { name: 'System', exact: true }).click()
  await heading(page, 'System').waitFor()
  await page.goBack()
  await page.getByLabel('Address: a web address').fill(host.repository)
  const release = await held(page, 'POST', '**/api/repositories')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('Reading its index…').waitFor()
  await name.fill('another')
  release()
  await page.getByText('more is added.').waitFor()
  assert.equal(await name.inputValue(), 'another')
  assert.equal(await page.getByLabel('Address: a web address').inputValue(), '')
})

test('a repository that somebody else adds or removes is there, and is gone', options, async (context) => {
  const host = await lampHost(context)
  const { page } = await open(context, host)
  const other = { name: 'other', url: host.repository }
  for (const [address, rows] of [
    ['/repositories', page.getByRole('list', { name: 'Repositories' }).getByText('other', { exact: true })],
    ['/catalog', page.locator('option', { hasText: 'other' })],
  ] as const) {
    await page.goto(address)
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal((await host.request('POST', '/api/repositories', { body: other })).status, 201)
    await rows.waitFor({ state: 'attached' })
    assert.equal((await host.request('DELETE', '/api/repositories/other')).status, 200)
    await rows.waitFor({ state: 'detached' })
  }
})

test('a page that is older than its host says so, and is loaded anew', options, async (context) => {
  const host = await hostWithLamp(context, { settings: { token } })
  const proxy = await createTcpProxy(context, host.url)
  const { page } = await open(context, { url: `http://127.0.0.1:${proxy.port}` })
  await page.goto(`/plugins/${lamp}/settings`)
  await logIn(page)
  const banner = page.getByRole('region', { name: 'Version' })
  await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
  proxy.refuse()
  await page.getByText('Disconnected, trying again…').waitFor()
  assert.equal(await banner.count(), 0)
  // As if it had been brought to another version meanwhile.
  await page.route('**/api/system', async (route) => {
    const answer = await route.fetch()
    const system = await answer.json()
    return route.fulfill({
      response: answer,
      json: { ...system, versions: { ...system.versions, host: '99.0.0' } },
    })
  })
  proxy.pass()
  await banner.getByText('The host runs version 99.0.0 now').waitFor()
  await assertAccessible(page, 'an older page')
  await banner.getByRole('button', { name: 'Load this page anew' }).click()
  await banner.waitFor({ state: 'detached' })
  await page.getByText('Live', { exact: true }).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Room' }).inputValue(), 'cellar')
  assert.equal(await banner.count(), 0)
  await page.unrouteAll({ behavior: 'wait' })
})

test('a plugin that could not start is tried again where the page says so', options, async (context) => {
  const late: FixturePlugin = {
    id: 'late',
    lua: `
local plugin = Plugin:new("late")
plugin:onInit(function()
  if not plugin:kvGet("answers") then
    plugin:kvSet("answers", true)
    error("the meter does not answer")
  end
end)`,
  }
  const host = await lampHost(context, { plugins: [late] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/late' } })
  const path = '/api/plugins/@fixtures/late/toggle'
  const { body } = await host.request('POST', path, { body: { enabled: true } })
  assert.equal(body.state, 'failed')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/late')
  await heading(page, 'Fixture late').waitFor()
  const release = await held(page, 'POST', /\/late\/reload$/)
  const again = page.getByRole('alert').getByRole('button', { name: 'Try again' })
  await again.click()
  await page.locator('.page-state .chip', { hasText: 'Reloading…' }).waitFor()
  assert.ok(await again.isDisabled(), 'a second press would do nothing')
  release()
  await page.locator('.page-state .chip', { hasText: 'Running' }).waitFor()
  await page.getByText('Fixture late is running.').waitFor()
})

test('a line of the log that is not from today says the day', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  const year = String(new Date().getFullYear())
  // For the page it is three days later.
  await page.clock.setFixedTime(Date.now() + 3 * 24 * 60 * 60 * 1_000)
  await page.goto(`/plugins/${lamp}/logs`)
  const line = page.getByRole('listitem').filter({ hasText: 'shining in kitchen' })
  await line.locator('time', { hasText: year }).waitFor()
})

test(
  'a repository that offers nothing is the one that the catalog says it shows',
  options,
  async (context) => {
    const host = await lampHost(context)
    const { page } = await open(context, host)
    const chosen = page.getByRole('combobox', { name: 'Repository' })
    await page.goto('/catalog?repository=attic')
    await page.getByText('attic offers no plugin.', { exact: true }).waitFor()
    assert.equal(await chosen.inputValue(), 'attic')
    await chosen.selectOption('fixtures')
    await page.getByRole('button', { name: 'Install Fixture lamp' }).waitFor()
    assert.deepEqual(await chosen.getByRole('option').allInnerTexts(), ['All repositories', 'fixtures'])
  },
)

test('a host that comes back with another journal is shown with that one', options, async (context) => {
  const settings: TestHostOptions['settings'] = {}
  const first = await lampHost(context, { settings })
  for (const id of ['hello', 'demo']) await run(first, `@fixtures/${id}`)
  const { page } = await open(context, first)
  await page.goto('/history')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.locator('.event-line', { hasText: '@fixtures/demo' }).first().waitFor()
  settings.httpPort = Number(new URL(first.url).port)
  await first.close()
  const second = await lampHost(context, { settings })
  await run(second, '@fixtures/hello')
  const { headers } = await second.request('GET', '/api/history?limit=1')
  await page
    .locator('.page-head .count')
    .getByText(`${headers.get('last-seq')} events`, { exact: true })
    .waitFor()
  assert.equal(await page.locator('.event-line', { hasText: '@fixtures/demo' }).count(), 0)
  // What happens from then on is told, under numbers that the page knew of other events.
  await run(second, '@fixtures/demo')
  await page.locator('.event-line', { hasText: '@fixtures/demo' }).first().waitFor()
})

test(
  'what a repository has published since it was looked at is not installed in its place',
  options,
  async (context) => {
    const lock = {
      id: 'lock',
      lua: 'Plugin:new("lock")',
      manifest: { permissions: { hosts: ['a.example'] } },
    }
    const host = await lampHost(context, { plugins: [lock] })
    const { page } = await open(context, host)
    await page.goto('/catalog')
    await page.getByRole('button', { name: 'Install Fixture lock' }).click()
    const offer = page.getByRole('dialog')
    await offer.getByText('a.example').waitFor()
    await host.publish([{ ...lock, version: '2.0.0', manifest: { permissions: { hosts: ['*'] } } }])
    await offer.getByRole('button', { name: 'Install', exact: true }).click()
    await page.locator('.notice.failed').getByText('1.0.0').waitFor()
    assert.deepEqual((await host.request('GET', '/api/plugins')).body.plugins, [])
    await page.getByRole('button', { name: 'Install Fixture lock' }).click()
    await offer.getByText('any address').waitFor()
    await offer.getByRole('button', { name: 'Install', exact: true }).click()
    await page.getByText('Fixture lock 2.0.0 is installed.').waitFor()
  },
)
