import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { hostWithLamp, logIn, options, token, useBrowser } from './fixture.ts'

/** A page that is open while its host is updated. */

const open = useBrowser()

test(
  'a page whose host was updated under the same version says so, and is loaded anew',
  options,
  async (context) => {
    const host = await hostWithLamp(context, { settings: { token } })
    const proxy = await createTcpProxy(context, host.url)
    const { page } = await open(context, { url: `http://127.0.0.1:${proxy.port}` })
    await page.goto('/plugins')
    const looked = page.waitForResponse((answer) => answer.request().method() === 'HEAD')
    await logIn(page)
    assert.equal((await looked).status(), 200)
    const banner = page.getByRole('region', { name: 'Version' })
    assert.equal(await banner.count(), 0)
    proxy.refuse()
    await page.getByText('Disconnected, trying again…').waitFor()
    // What a host answers that has other files of its pages.
    await page.route('**/assets/main-*.js', async (route) => {
      if (route.request().method() !== 'HEAD') return route.continue()
      const response = await route.fetch({ url: `${host.url}/assets/main-0.js` })
      return route.fulfill({ response })
    })
    proxy.pass()
    await banner.getByText('The host has been updated since this page was loaded.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await banner.getByRole('button', { name: 'Load this page anew' }).click()
    await banner.waitFor({ state: 'detached' })
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(await banner.count(), 0)
  },
)
