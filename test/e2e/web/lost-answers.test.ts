import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { listen } from '../../helpers/listen.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import {
  heading,
  hostWithLamp,
  lamp,
  lampHost,
  logIn,
  losingFirst,
  options,
  token,
  useBrowser,
} from './fixture.ts'

/** Commands and questions whose answer does not come back to the page: it was cut off on the way, or a proxy gave up. */

const open = useBrowser()

async function typesOfLamp(host: TestHost): Promise<string[]> {
  const { body } = await host.request('GET', `/api/history`)
  return body.events.filter(({ plugin }: any) => plugin === lamp).map(({ type }: { type: string }) => type)
}

async function installLamp(page: Page): Promise<void> {
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Install Fixture lamp' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Install', exact: true }).click()
}

test(
  'an installation whose answer is lost on the way acts once, and the page says what came of it',
  options,
  async (context) => {
    const host = await lampHost(context)
    const { page } = await open(context, host)
    let asked = 0
    await page.route('**/api/plugins/install', async (route) => {
      asked += 1
      if (asked > 1) return route.continue()
      assert.equal((await route.fetch()).status(), 201)
      return route.abort('connectionreset')
    })
    await installLamp(page)
    await page.getByText('Lamp 1.0.0 is installed.').waitFor()
    assert.deepEqual(await typesOfLamp(host), ['PluginInstallRequested', 'PluginInstalled'])
  },
)

test(
  'an installation that takes longer than a proxy waits is followed to its end',
  options,
  async (context) => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const files: FileSystem = {
      ...systemFileSystem,
      async rename(from, to) {
        if (String(to).endsWith('lamp')) await held
        return systemFileSystem.rename(from, to)
      },
    }
    const host = await lampHost(context, { files })
    const { page } = await open(context, host)
    let asked = 0
    await page.route('**/api/plugins/install', async (route) => {
      asked += 1
      if (asked > 1) return route.continue()
      // What the host answers, nobody hears.
      void route.fetch().catch(() => undefined)
      await until('the beginning', async () => (await typesOfLamp(host)).includes('PluginInstallRequested'))
      const body = '<html><head><title>504 Gateway Time-out</title></head></html>'
      return route.fulfill({ status: 504, contentType: 'text/html', body })
    })
    await installLamp(page)
    await until('another try', () => Promise.resolve(asked > 1))
    release()
    await page.getByText('Lamp 1.0.0 is installed.').waitFor()
    assert.deepEqual(await typesOfLamp(host), ['PluginInstallRequested', 'PluginInstalled'])
  },
)

test('settings whose answer is lost are saved, and the page says so', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/settings`)
  await page.getByRole('textbox', { name: 'Room' }).fill('cellar')
  let asked = 0
  await page.route('**/config', async (route) => {
    asked += 1
    if (asked > 1) return route.continue()
    assert.equal((await route.fetch()).status(), 200)
    return route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.getByText('Saved, and Lamp is running with it.').waitFor()
  assert.equal((await typesOfLamp(host)).filter((type) => type === 'PluginConfigured').length, 2)
})

test('limits and an uninstallation whose answer is lost are told as done', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/limits`)
  await page.getByLabel('timers', { exact: false }).first().fill('7')
  await losingFirst(page, /\/limits$/)
  await page.getByRole('button', { name: 'Save the limits' }).click()
  await page.getByText('The limits of Lamp are saved.').waitFor()
  assert.equal((await typesOfLamp(host)).filter((type) => type === 'PluginLimitsChanged').length, 1)

  await page.goto(`/plugins/${lamp}`)
  await losingFirst(page, /\/lamp$/)
  await page.getByRole('button', { name: 'Uninstall' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click()
  await page.getByText(`${lamp} is uninstalled.`).waitFor()
  assert.equal((await typesOfLamp(host)).filter((type) => type === 'PluginUninstalled').length, 1)
})

test('a change whose reading is lost on the way is read again', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto(`/plugins/${lamp}/settings`)
  await page.getByText('Live', { exact: true }).waitFor()
  let lost = 0
  await page.route(/\/api\/plugins(\/@fixtures\/lamp)?$/, (route) => {
    lost += 1
    return lost > 2 ? route.continue() : route.abort('connectionreset')
  })
  await host.request('POST', `/api/plugins/${lamp}/config`, { body: { config: { room: 'cellar' } } })
  await until('the other room', async () => {
    return (await page.getByRole('textbox', { name: 'Room' }).inputValue()) === 'cellar'
  })
})

test(
  'a look at the host that is lost is not the last one, and nothing that anybody has to do something about',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.clock.install()
    await page.goto(`/plugins/${lamp}/events`)
    await page.getByText('Live', { exact: true }).waitFor()
    let lost = 0
    await page.route('**/api/system', async (route) => {
      lost += 1
      if (lost === 1) return route.abort('connectionreset')
      const answer = await route.fetch()
      const system = await answer.json()
      return route.fulfill({
        response: answer,
        json: { ...system, health: { reasons: ['the disk is full'] } },
      })
    })
    const newest = page.getByRole('list', { name: 'Events, newest first' }).getByText('{"count"').first()
    const count = async (): Promise<number> => JSON.parse(await newest.innerText()).count
    // Shorter than the silence after which the stream is begun anew, which looks at the host as well.
    for (const _ of Array(4)) {
      const before = await count()
      await page.clock.fastForward('00:35')
      // The first ones may have come before.
      await until('events of after that', async () => (await count()) > before + 3)
    }
    await page.getByRole('region', { name: 'Health' }).getByText('The disk is full.').waitFor()
    assert.equal(await page.locator('.notice').count(), 0)
    await page.unrouteAll({ behavior: 'wait' })
  },
)

test('a restart of the host leaves no notice behind', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  await page.goto('/plugins')
  await page.getByText('Live', { exact: true }).waitFor()
  const lost = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/system'))
  await page.route('**/api/system', (route) => route.abort('connectionrefused'))
  await host.host.close()
  await lost
  await page.getByText('Disconnected, trying again…').waitFor()
  assert.equal(await page.locator('.notice').count(), 0)
})

/** A way to the host on which the first answer with these words breaks off behind them. */
async function breakingWay(context: TestContext, host: TestHost, words: string): Promise<string> {
  const { hostname, port } = new URL(host.url)
  const sockets = new Set<Socket>()
  let broken = false
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    near.on('data', (bytes) => far.write(bytes)).on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    far.on('data', (bytes) => {
      const at = broken ? -1 : bytes.indexOf(words)
      if (at < 0) near.write(bytes)
      else {
        broken = true
        near.end(bytes.subarray(0, at + words.length))
      }
    })
  })
  const ownPort = await listen(server)
  context.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${ownPort}`
}

test('an answer that breaks off in the middle is told in words, and read again', options, async (context) => {
  const host = await lampHost(context, { settings: { token } })
  const { page } = await open(context, { url: await breakingWay(context, host, '"limits":[') })
  await page.goto('/plugins')
  await logIn(page)
  await host.request('POST', '/api/plugins/install', { body: { fullId: lamp } })
  await page.getByRole('link', { name: 'Lamp', exact: true }).click()
  await heading(page, 'Lamp').waitFor()
  await page.getByRole('link', { name: 'Limits', exact: true }).click()
  const failure = page.getByRole('alert')
  assert.match(await failure.innerText(), /The host does not answer. It may be restarting; try again./)
  await failure.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('button', { name: 'Save the limits' }).waitFor()
})
