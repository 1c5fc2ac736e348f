import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  assertAccessible,
  assertFitsWidth,
  browserMissing,
  launchBrowser,
  openPage,
} from '../helpers/browser.ts'
import { newKey, signFolder } from '../helpers/signed-repository.ts'
import { startTestHost } from '../helpers/test-host.ts'

const options = { skip: browserMissing, timeout: 240_000 }
/** `LUPINE_PICTURES=folder` keeps what was seen. */
const pictures = process.env.LUPINE_PICTURES

test(
  'a repository is added with its key on the page, which says what is signed, what is not, and what is refused',
  options,
  async (context) => {
    const permissions = { hosts: ['api.example.com'], mqtt: { publish: ['a/#', 'b'], subscribe: ['c'] } }
    const lamp = { id: 'lamp', lua: 'Plugin:new("lamp")', manifest: { permissions } }
    const host = await startTestHost({ plugins: [lamp] })
    context.after(() => host.close())
    const [key, other] = [newKey(), newKey()]
    const signed = join(host.directory, '..', 'signed')
    const spoilt = join(host.directory, '..', 'spoilt')
    for (const folder of [signed, spoilt]) {
      await cp(host.repository, folder, { recursive: true })
      await signFolder(folder, key, 1_700_000_000)
    }
    const body = { name: 'spoilt', url: spoilt, publicKey: key.public.text }
    assert.equal((await host.request('POST', '/api/repositories', { body })).status, 201)
    await rm(join(spoilt, 'plugins.json.minisig'))

    const browser = await launchBrowser()
    context.after(() => browser.close())
    for (const view of [
      { theme: 'light', width: 1280 },
      { theme: 'dark', width: 390 },
    ] as const) {
      const { page, faults } = await openPage(context, browser, host.url, { ...view, reducedMotion: true })
      await page.goto('/repositories')
      const row = (name: string) =>
        page
          .getByRole('list', { name: 'Repositories' })
          .getByRole('listitem')
          .filter({ has: page.getByRole('link', { name, exact: true }) })
      await row('fixtures').getByText('Not signed').waitFor()
      await row('spoilt').getByText('its plugins.json.minisig is not there').waitFor()
      await page.getByRole('textbox', { name: 'Name' }).fill('mine')
      await page.getByRole('textbox', { name: 'Address' }).fill(signed)
      const field = page.getByRole('textbox', { name: 'Public key' })
      const add = page.getByRole('button', { name: 'Add', exact: true })
      await field.fill('my key')
      await add.click()
      await page.getByText('is not a public key of minisign').first().waitFor()
      await field.fill(other.public.text)
      await add.click()
      await page.getByText(`is made with the key ${key.public.id}, not with ${other.public.id}`).waitFor()
      assert.equal(await row('mine').count(), 0)
      await assertFitsWidth(page, 'refused')
      await assertAccessible(page, `refused, ${view.theme}`)
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/refused-${view.width}.png`, fullPage: true })
      await field.fill(key.public.text)
      await add.click()
      await row('mine').getByText('Signed', { exact: true }).waitFor()
      await row('mine').getByText(key.public.text).waitFor()
      assert.equal(await field.inputValue(), '')
      await assertFitsWidth(page, 'added')
      await assertAccessible(page, `added, ${view.theme}`)
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/added-${view.width}.png`, fullPage: true })
      await page.goto('/catalog?repository=mine')
      await page
        .getByText('May connect to api.example.com, publish to a/#, publish to b, and 1 more.')
        .waitFor()
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/catalog-${view.width}.png`, fullPage: true })
      // The two refusals, which are meant to be.
      assert.deepEqual(
        faults.map((fault) => / status of (\d+)/.exec(fault)?.[1] ?? fault),
        ['400', '422'],
      )
      const removed = await host.request('DELETE', '/api/repositories/mine')
      assert.equal(removed.status, 200)
    }
  },
)
