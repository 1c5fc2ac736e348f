import assert from 'node:assert/strict'
import { test } from 'node:test'
import { install, lampHost, options, useBrowser } from './fixture.ts'

/** Texts of plugins with characters that turn the direction of what follows them. */

const open = useBrowser()
const turned = '\u202e'
const plugin = {
  id: 'turned',
  lua: 'Plugin:new("turned")',
  manifest: {
    name: `Lamp ${turned}gnihton`,
    permissions: { hosts: [`a${turned}b.example`], mqtt: { publish: [`t/${turned}x`] } },
  },
}

test('a name of a plugin cannot turn the words around it', options, async (context) => {
  const host = await lampHost(context, { plugins: [plugin] })
  const { page } = await open(context, host)
  const turns = (): Promise<number> =>
    page.evaluate<number>(`document.querySelector('main').innerText.split('${turned}').length - 1`)
  await page.goto('/catalog')
  await page.getByText('May connect to a\ufffdb.example').waitFor()
  assert.equal(await turns(), 0)
  await page.getByRole('button', { name: 'Install' }).click()
  const offer = page.getByRole('dialog')
  await offer.getByText('a\ufffdb.example').waitFor()
  assert.doesNotMatch(await offer.innerText(), new RegExp(turned))
  await page.keyboard.press('Escape')
  await install(host, '@fixtures/turned')
  await page.goto('/plugins')
  await page.getByRole('link', { name: 'Lamp \ufffdgnihton', exact: true }).click()
  await page.getByRole('button', { name: 'Uninstall' }).click()
  await page.getByRole('heading', { name: 'Uninstall Lamp \ufffdgnihton?' }).waitFor()
  assert.equal(await turns(), 0)
})
