// Takes the pictures of every page in docs/screenshots/: `node --import tsx scripts/screenshots.mjs`. Named pages are
// taken alone.
// Started by hand after a change of the user interface; needs a browser at /usr/bin/chromium.
import { mkdir } from 'node:fs/promises'
import { launchBrowser, openPage } from '../test/helpers/browser.ts'
import { createFakeFleet, fleetHostNamed } from '../test/helpers/fake-fleet.ts'
import { standardFixtures } from '../test/helpers/fixture-repository.ts'
import { lampPlugin } from '../test/helpers/lamp-plugin.ts'
import { startTestHost } from '../test/helpers/test-host.ts'
import { startHttp } from '../test/http/http-over.ts'

const folder = 'docs/screenshots'
const pages = {
  plugins: '/plugins',
  catalog: '/catalog',
  plugin: '/plugins/@fixtures/lamp',
  connections: '/plugins/@fixtures/doorbell',
  'settings-lists': '/plugins/@fixtures/doorbell/settings',
  update: '/plugins/@fixtures/lamp',
  settings: '/plugins/@fixtures/lamp/settings',
  controls: '/plugins/@fixtures/lamp/controls',
  objects: '/plugins/@fixtures/lamp/objects',
  events: '/plugins/@fixtures/lamp/events',
  logs: '/plugins/@fixtures/lamp/logs',
  documents: '/plugins/@fixtures/lamp/documents',
  limits: '/plugins/@fixtures/lamp/limits',
  'plugin-history': '/plugins/@fixtures/lamp/history',
  machines: '/machines/plugin-lifecycle?plugin=@fixtures/lamp',
  history: '/history',
  repositories: '/repositories',
  system: '/system',
}
/** The same host, shown as one of a fleet. */
const pagesOfFleet = { hosts: '/hosts' }
const named = new Set(process.argv.slice(2))
/** Keeps connections open, can be asked from outside, and has a list among its settings. */
const doorbell = {
  id: 'doorbell',
  lua: `local plugin = Plugin:new("doorbell")
    plugin:onInit(function()
      plugin:udpSocket()
      plugin:tcpConnect("127.0.0.1", 1)
      plugin:httpHandler("ring", function() return 204 end)
    end)`,
  manifest: {
    name: 'Doorbell',
    permissions: { hosts: ['127.0.0.1', '${config.doors[].host}'] },
    configSchema: [
      {
        ...{ key: 'doors', type: 'list', label: 'Doors' },
        fields: [
          { key: 'name', type: 'string', label: 'Name', required: true },
          { key: 'host', type: 'string', label: 'Host', placeholder: '192.168.1.30' },
        ],
      },
    ],
  },
}
const views = [
  { name: '', theme: 'light', width: 1280 },
  { name: '-phone', theme: 'dark', width: 390 },
]

const closing = []
const context = { after: (close) => closing.unshift(close) }
await mkdir(folder, { recursive: true })
try {
  const host = await startTestHost({ plugins: [lampPlugin, doorbell, ...standardFixtures] })
  context.after(() => host.close())
  const post = async (path, body) => {
    const { status } = await host.request('POST', `/api/plugins/${path}`, { body })
    if (status >= 300) throw new Error(`${path} answered ${status}`)
  }
  for (const id of ['lamp', 'doorbell', 'demo', 'hello', 'faulty', 'needy']) {
    await post('install', { fullId: `@fixtures/${id}` })
  }
  await post('lamp/config', { config: { room: 'kitchen', apiKey: 'secret' } })
  const doors = [
    { name: 'Front', host: '192.168.1.30' },
    { name: 'Garden', host: '192.168.1.31' },
  ]
  await post('doorbell/config', { config: { doors } })
  for (const id of ['lamp', 'doorbell', 'demo', 'faulty']) await post(`${id}/toggle`, { enabled: true })
  await host.request('PUT', '/api/plugins/lamp/controls/level', { body: { value: 7 } })
  // What an update would bring is shown, and not done.
  const { manifest } = lampPlugin
  const permissions = { hosts: ['*.example.com'], mqtt: { publish: ['lamp/#'], subscribe: ['home/+/light'] } }
  const fields = [...manifest.configSchema, { key: 'fade', type: 'number', label: 'Fade', default: 2 }]
  const next = {
    ...lampPlugin,
    version: '1.1.0',
    manifest: { ...manifest, permissions, configSchema: fields },
  }
  await host.publish([next, doorbell, ...standardFixtures])
  const now = new Date().toISOString()
  const of = { version: '0.1.0', since: now, seen: now }
  const fleet = createFakeFleet(host.host.lifecycle, [
    fleetHostNamed('attic', { ...of, address: 'http://attic.home.example:3000', labels: ['serial'] }),
    fleetHostNamed('cellar', { ...of, address: 'http://cellar.home.example:3000', draining: true }),
    fleetHostNamed('garage', { ...of, address: 'http://garage.home.example:3000' }),
  ])
  for (const [id, name] of Object.entries({ lamp: 'attic', doorbell: 'attic', demo: 'garage' }))
    fleet.put(`@fixtures/${id}`, { host: name, epoch: 3 })
  const face = await startHttp(fleet.facade, {
    ...{ fleet: fleet.fleet, fleetName: 'home', hostId: () => 'garage' },
  })
  context.after(() => face.close())
  const browser = await launchBrowser()
  context.after(() => browser.close())
  for (const { name: suffix, ...view } of views) {
    const shown = Object.entries({ ...pages, ...pagesOfFleet })
    for (const [name, path] of shown.filter(([page]) => named.size === 0 || named.has(page))) {
      const { url } = name in pagesOfFleet ? face : host
      const { page } = await openPage(context, browser, url, { ...view, reducedMotion: true })
      await page.goto(path)
      await page.getByText('Live', { exact: true }).waitFor()
      if (name === 'update') {
        await page.getByRole('button', { name: 'Look for an update' }).click()
        await page.getByRole('dialog').getByText('1.0.0 → ').waitFor()
      }
      if (name === 'settings') await page.getByRole('textbox', { name: 'Interval' }).fill('9999')
      await page.waitForTimeout(1_000)
      await page.screenshot({ path: `${folder}/${name}${suffix}.png` })
      // The host counts the pages that are open, and says so on one of them.
      await page.context().close()
    }
  }
} finally {
  for (const close of closing) await close()
}
