// Takes the pictures of every page in docs/screenshots/: `node --import tsx scripts/screenshots.mjs`.
// Started by hand after a change of the user interface; needs a browser at /usr/bin/chromium.
import { mkdir } from 'node:fs/promises'
import { launchBrowser, openPage } from '../test/helpers/browser.ts'
import { standardFixtures } from '../test/helpers/fixture-repository.ts'
import { lampPlugin } from '../test/helpers/lamp-plugin.ts'
import { startTestHost } from '../test/helpers/test-host.ts'

const folder = 'docs/screenshots'
const pages = {
  plugins: '/plugins',
  catalog: '/catalog',
  plugin: '/plugins/@fixtures/lamp',
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
const views = [
  { name: '', theme: 'light', width: 1280 },
  { name: '-phone', theme: 'dark', width: 390 },
]

const closing = []
const context = { after: (close) => closing.unshift(close) }
await mkdir(folder, { recursive: true })
try {
  const host = await startTestHost({ plugins: [lampPlugin, ...standardFixtures] })
  context.after(() => host.close())
  const post = async (path, body) => {
    const { status } = await host.request('POST', `/api/plugins/${path}`, { body })
    if (status >= 300) throw new Error(`${path} answered ${status}`)
  }
  for (const id of ['lamp', 'demo', 'hello', 'faulty', 'needy']) {
    await post('install', { fullId: `@fixtures/${id}` })
  }
  await post('lamp/config', { config: { room: 'kitchen', apiKey: 'secret' } })
  for (const id of ['lamp', 'demo', 'faulty']) await post(`${id}/toggle`, { enabled: true })
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
  await host.publish([next, ...standardFixtures])
  const browser = await launchBrowser()
  context.after(() => browser.close())
  for (const { name: suffix, ...view } of views) {
    const { page } = await openPage(context, browser, host.url, { ...view, reducedMotion: true })
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(path)
      await page.getByText('Live', { exact: true }).waitFor()
      if (name === 'update') {
        await page.getByRole('button', { name: 'Look for an update' }).click()
        await page.getByRole('dialog').getByText('1.0.0 → ').waitFor()
      }
      if (name === 'settings') await page.getByRole('textbox', { name: 'Interval' }).fill('9999')
      await page.waitForTimeout(1_000)
      await page.screenshot({ path: `${folder}/${name}${suffix}.png` })
    }
  }
} finally {
  for (const close of closing) await close()
}
