import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import type { LifecycleFacade } from '../../../src/lifecycle/facade.ts'
import { assertAccessible, assertFitsWidth, type View } from '../../helpers/browser.ts'
import { createFakeFleet, fleetHostNamed } from '../../helpers/fake-fleet.ts'
import { startHttp } from '../../http/http-over.ts'
import { heading, hostWithLamp, install, lamp, nameOf, options, run, useBrowser } from './fixture.ts'

/** The pages of a host of a fleet, in a real browser. The plugins are real; the other hosts are a table of the test. */

const open = useBrowser()
const demo = '@fixtures/demo'
const hello = '@fixtures/hello'
const views: View[] = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 320, reducedMotion: true },
]

async function fleetOf(context: TestContext) {
  const host = await hostWithLamp(context)
  await run(host, demo)
  await install(host, hello)
  const { lifecycle } = host.host
  const hosts = [
    fleetHostNamed('attic', { labels: ['serial', 'zigbee-dongle'] }),
    fleetHostNamed('cellar', { address: 'https://cellar.house-in-the-northern-part-of-town.example:3000' }),
  ]
  const stage = createFakeFleet(lifecycle, hosts)
  stage.put(lamp, { host: 'attic', epoch: 3 })
  stage.put(demo, { host: 'cellar', epoch: 1, stale: true })
  stage.put(hello, {
    ...{ enabled: true, state: 'unloaded', host: null, epoch: 2, placement: { labels: ['camera'] } },
    error: { code: 'no_host', message: 'No live host has camera.', at: '2024-01-01T00:00:00.000Z' },
  })
  const http = await startHttp(stage.facade, {
    ...{ fleet: stage.fleet, fleetName: 'house', hostId: () => 'cellar' },
  })
  context.after(() => http.close())
  return { ...stage, hosts, http, host }
}

test('the page of hosts tells who runs what, and drains a host', options, async (context) => {
  const { http, calls } = await fleetOf(context)
  const { page, faults } = await open(context, http)
  await page.goto('/plugins')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Hosts' }).click()
  await heading(page, 'Hosts').waitFor()
  await page.getByText('2 live hosts of house').waitFor()
  const attic = page.getByRole('region', { name: 'attic' })
  const cellar = page.getByRole('region', { name: 'cellar' })
  await attic.getByText('zigbee-dongle').waitFor()
  await attic.getByRole('list', { name: 'Plugins of attic' }).getByRole('link', { name: lamp }).waitFor()
  await cellar.getByText('This one').waitFor()
  await page
    .getByRole('list', { name: 'Plugins without a host' })
    .getByRole('link', { name: hello })
    .waitFor()

  await attic.getByRole('button', { name: 'Drain attic' }).click()
  await page.getByText('attic runs no plugin any more, and takes none.').waitFor()
  await attic.getByText('Drained').waitFor()
  await cellar.getByRole('link', { name: lamp }).waitFor()
  assert.equal(await attic.getByRole('link', { name: lamp }).count(), 0)

  // The last one cannot be emptied; why is said where it was asked.
  await cellar.getByRole('button', { name: 'Drain cellar' }).click()
  await cellar.getByRole('alert').getByText('No other host can take the plugins of cellar.').waitFor()
  await attic.getByRole('button', { name: 'End drain of attic' }).click()
  await attic.getByText('Takes plugins').waitFor()
  await cellar.getByRole('button', { name: 'Drain cellar' }).click()
  await cellar.getByText('Drained').waitFor()
  assert.equal(await cellar.getByRole('alert').count(), 0)
  assert.deepEqual(
    calls.map(([what, id]) => `${String(what)} ${String(id)}`),
    ['drain attic', 'drain cellar', 'endDrain attic', 'drain cellar'],
  )
  // The browser itself writes the refusal down.
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('409')),
    [],
  )

  await page.goto('/history')
  await page.getByText('from cellar to attic, epoch 5: cellar is being drained').waitFor()
  const drain = page.getByRole('listitem').filter({ hasText: 'Drain of a host begun' }).first()
  await drain.waitFor()
  assert.equal(await drain.locator('.chip').count(), 0, 'hosts of a fleet have no state together')
  await page.goto('/machines/host')
  await page.getByText('A fleet has several hosts').waitFor()
  assert.equal(await page.getByText('The host:').count(), 0)
  await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}`)
  await page.getByText('Taken by a host').first().waitFor()
})

test('a plugin says where it runs, and is told where it may', options, async (context) => {
  const { http, calls } = await fleetOf(context)
  const { page, faults } = await open(context, http)
  await page.goto(`/plugins/${lamp}`)
  const form = page.locator('form').filter({ has: page.getByRole('heading', { name: 'Where it runs' }) })
  await form.getByRole('link', { name: 'attic' }).waitFor()
  await form.getByText('on any host').waitFor()
  const save = form.getByRole('button', { name: 'Save where it may run' })
  assert.ok(await save.isDisabled())

  await form.getByLabel('Labels that it must have, with commas').fill('no label, a/b')
  await save.click()
  await form.getByRole('alert').getByText('/labels/2').waitFor()
  await form.getByLabel('Labels that it must have, with commas').fill('serial')
  await form.getByLabel('Host', { exact: true }).selectOption('cellar')
  // It stays typed while one looks at another page.
  await page.getByRole('link', { name: 'System', exact: true }).click()
  await page.getByRole('heading', { name: 'Health' }).waitFor()
  await page.goBack()
  await save.click()
  await form.getByText('only on cellar, while it has serial', { exact: true }).waitFor()
  await form.getByText('4', { exact: true }).waitFor()
  assert.deepEqual(calls.at(-1)?.slice(0, 3), ['place', lamp, { host: 'cellar', labels: ['serial'] }])
  await page.goto(`/plugins/${lamp}/history`)
  await page.getByText('it runs only on cellar, while it has serial').waitFor()
  await page.getByText('from attic to cellar, epoch 4: it may not stay').waitFor()
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('400')),
    [],
  )
})

test(
  'a host that was chosen for a plugin and is gone since is still the one that is shown',
  options,
  async (context) => {
    const { http, hosts } = await fleetOf(context)
    const { page } = await open(context, http)
    await page.goto(`/plugins/${lamp}`)
    const host = page.getByLabel('Host', { exact: true })
    await host.selectOption('attic')
    await page.getByRole('link', { name: 'System', exact: true }).click()
    await page.getByRole('heading', { name: 'Health' }).waitFor()
    const gone = hosts.splice(0, 1)
    await page.goBack()
    await host.getByRole('option', { name: 'attic (not there now)' }).waitFor({ state: 'attached' })
    assert.equal(await host.inputValue(), 'attic')
    assert.deepEqual(await host.getByRole('option').allInnerTexts(), [
      'Any',
      'cellar',
      'attic (not there now)',
    ])
    // Nobody tells the page that one comes.
    hosts.push(...gone, fleetHostNamed('garage', { labels: ['car'] }))
    await host.getByRole('option', { name: 'garage' }).waitFor({ state: 'attached' })
    assert.deepEqual(await host.getByRole('option').allInnerTexts(), ['Any', 'attic', 'cellar', 'garage'])
    await page.getByText('Live hosts have: car, serial, zigbee-dongle.').waitFor()
    assert.equal(await host.inputValue(), 'attic')
    // Where nobody knows which hosts are live none is said to be gone.
    hosts.splice(0)
    await page.getByText('Which hosts are live, and what they have, cannot be told just now.').waitFor()
    assert.deepEqual(await host.getByRole('option').allInnerTexts(), ['Any', 'attic'])
  },
)

test('what has no host, and what is old, is said as such', options, async (context) => {
  const { http, put, hosts } = await fleetOf(context)
  const { page } = await open(context, http)
  const live = hosts.splice(0)
  await page.goto('/hosts')
  await page.getByText('Which hosts are live cannot be told').waitFor()
  assert.equal(await page.getByText('live hosts of').count(), 0)
  await page.goto(`/plugins/${hello}`)
  await page.getByText('Which hosts are live, and what they have, cannot be told just now.').waitFor()
  hosts.push(...live)
  await page.goto('/plugins')
  const row = (id: string) => page.getByRole('listitem').filter({ hasText: id })
  await row(hello).getByText('Waiting for a host').waitFor()
  await row(demo).getByText('on cellar').waitFor()
  await row(demo).getByText('as last known').waitFor()
  await page.goto(`/plugins/${hello}`)
  await page.getByText('No live host is one that it may run on.').waitFor()
  await page.getByText('It may run only on hosts with camera.').waitFor()
  // Its journal says that it is running.
  await page.goto(`/machines/plugin-lifecycle?plugin=${hello}`)
  const now = page.getByRole('status').filter({ hasText: hello })
  await now.getByText('Waiting for a host').waitFor()
  await now.getByText('No live host is one that it may run on.').waitFor()
  const states = page.getByRole('list', { name: 'State of every plugin' })
  await states.getByRole('listitem').filter({ hasText: hello }).getByText('Waiting for a host').waitFor()
  await states.getByRole('listitem').filter({ hasText: demo }).getByText('Running').waitFor()
  await page.goto('/machines/plugin-lifecycle')
  const counted = page.locator('g.state').filter({ has: page.locator('g.count') })
  await counted.filter({ hasText: 'unloaded' }).getByText('1', { exact: true }).waitFor()
  await page.goto(`/machines/plugin-lifecycle?plugin=${hello}&seq=1`)
  await page.getByText('You are looking at the past').waitFor()
  assert.equal(await page.getByText('Waiting for a host').count(), 0)
  await page.goto(`/plugins/${demo}`)
  await page.getByText('The rest of the fleet cannot be reached from here').waitFor()
  put(demo, {
    ...{ enabled: true, state: 'unloaded', host: null, epoch: 1 },
    error: { code: 'lease_lost', message: 'The store is away.', at: '2024-01-01T00:00:00.000Z' },
  })
  // No fact tells of this; the page looks by itself.
  await page.getByText('The host that ran it is gone, or had lost touch with the rest of the fleet').waitFor()
})

test('how many plugins a host has is what the list below says', options, async (context) => {
  const { http, fleet } = await fleetOf(context)
  const { hosts } = fleet
  // As it was read before they moved.
  fleet.hosts = () => hosts().map((host) => ({ ...host, plugins: 7 }))
  const { page } = await open(context, http)
  await page.goto('/hosts')
  const attic = page.getByRole('region', { name: 'attic' })
  await attic.getByRole('list', { name: 'Plugins of attic' }).getByRole('link', { name: lamp }).waitFor()
  await attic.getByText('1 plugin', { exact: true }).waitFor()
})

test('what is asked of a plugin while it moves is asked again', options, async (context) => {
  const { facade, fleet, host } = await fleetOf(context)
  const asked: string[] = []
  /** The first time it is between two hosts. */
  const atFirst = (what: string): void => {
    asked.push(what)
    if (asked.filter((one) => one === what).length === 1)
      throw new Problem('plugin_moving', `${lamp} is moving to another host.`)
  }
  const moving: Partial<LifecycleFacade> = {
    objects(id) {
      atFirst('objects')
      return facade.objects(id)
    },
    async toggle(id, enabled, by) {
      atFirst('toggle')
      return facade.toggle(id, enabled, by)
    },
  }
  const members = { ...Object.getOwnPropertyDescriptors(facade), ...Object.getOwnPropertyDescriptors(moving) }
  const http = await startHttp(Object.defineProperties({}, members), { fleet, fleetName: 'house' })
  context.after(() => http.close())
  const { page } = await open(context, http)
  await page.goto(`/plugins/${lamp}/objects`)
  await page.locator('main').getByText('kitchen').first().waitFor()
  assert.equal(await page.getByText('is moving to another host').count(), 0)
  await page.getByRole('switch', { name: 'Lamp enabled' }).click()
  await page.getByText('Lamp is off.').waitFor()
  assert.deepEqual(
    [...new Set(asked)].map((what) => asked.filter((one) => one === what).length > 1),
    [true, true],
  )
  assert.equal(host.host.lifecycle.get(lamp).enabled, false)
})

test(
  'what a plugin had on the host before is not shown any more where another host has it',
  options,
  async (context) => {
    const { facade, fleet, put } = await fleetOf(context)
    let isMoved = false
    const moving: Partial<LifecycleFacade> = {
      objects: (id) => (isMoved ? Promise.resolve({ cellar: { on: true } }) : facade.objects(id)),
      sensors: (id) => (isMoved ? Promise.resolve([]) : facade.sensors(id)),
    }
    const members = {
      ...Object.getOwnPropertyDescriptors(facade),
      ...Object.getOwnPropertyDescriptors(moving),
    }
    const http = await startHttp(Object.defineProperties({}, members), { fleet, fleetName: 'house' })
    context.after(() => http.close())
    const { page: objects } = await open(context, http)
    const { page: sensors } = await open(context, http)
    await objects.goto(`/plugins/${lamp}/objects`)
    await sensors.goto(`/plugins/${lamp}/controls`)
    const sensor = sensors.getByRole('list', { name: 'Sensors' }).getByRole('listitem').first()
    await objects.locator('main').getByText('kitchen').first().waitFor()
    await sensor.waitFor()
    isMoved = true
    put(lamp, { host: 'cellar', epoch: 4 })
    await objects.locator('main').getByRole('heading', { name: 'cellar' }).waitFor()
    assert.equal(await objects.locator('main').getByText('kitchen').count(), 0)
    await sensor.waitFor({ state: 'detached' })
  },
)

test('a host that works by itself shows nothing of a fleet', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page, faults } = await open(context, host)
  await page.goto(`/plugins/${lamp}`)
  await page.getByRole('heading', { name: 'What it holds now' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Hosts' }).count(), 0)
  assert.equal(await page.getByText('Where it runs').count(), 0)
  await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}`)
  const possible = page.getByRole('list', { name: 'Events that are possible now' })
  await possible.getByText('PluginDisabled').waitFor()
  assert.equal(await possible.getByText(/PluginPlaced|Taken by a host/).count(), 0)
  await page.goto('/hosts')
  await page.getByText('This host works by itself.').waitFor()
  assert.deepEqual(faults, [])
})

for (const view of views) {
  test(`the pages of a fleet are for everybody: ${nameOf(view)}`, options, async (context) => {
    const { http } = await fleetOf(context)
    const { page, faults } = await open(context, http, view)
    /** Pages, and what each shows of it. */
    const pages = {
      '/hosts': 'zigbee-dongle',
      [`/plugins/${lamp}`]: 'Where it runs',
      [`/plugins/${hello}`]: 'It may run only on hosts with camera.',
      '/plugins': 'Waiting for a host',
      [`/machines/plugin-lifecycle?plugin=${hello}`]: 'Waiting for a host',
      '/system': 'house',
    }
    for (const [address, text] of Object.entries(pages)) {
      await page.goto(address)
      await page.locator('main').getByText(text).first().waitFor()
      await assertAccessible(page, address)
      await assertFitsWidth(page, address)
      const picture = process.env.SCREENSHOTS
      if (picture !== undefined) {
        const name = address.slice(1).replaceAll('/', '-')
        await page.screenshot({ path: `${picture}/${name}-${view.width}.png`, fullPage: true })
      }
    }
    assert.deepEqual(faults, [])
  })
}
