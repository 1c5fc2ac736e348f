import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { createPathProxy } from '../../helpers/path-proxy.ts'
import { until } from '../../helpers/until.ts'
import type { WatchedPage } from '../../helpers/browser.ts'
import { heading, lampHost, logIn, options, run, token, useBrowser } from './fixture.ts'

/** The pages below a path of a name that the host shares with others: a proxy shows it there, and takes the path off. */

const open = useBrowser()
const book = '@fixtures/book'
/** A plugin with a picture and a second document in its first one, and something of each kind to look at. */
const bookPlugin = {
  id: 'book',
  lua: `local plugin = Plugin:new("book")
    plugin:sensor("page", function() return 7 end)
    plugin:onInit(function()
      plugin:upsertObject("shelf", { row = 3 })
      plugin:setInterval(50, function() plugin:emit("book:turned", {}) end)
    end)`,
  manifest: {
    name: 'Book',
    tags: ['reading'],
    configSchema: [{ key: 'title', type: 'string', label: 'Title' }],
    docs: [
      { title: 'First', file: 'docs/first.md' },
      { title: 'Second', file: 'docs/second.md' },
      { title: 'Picture', file: 'docs/dot.gif' },
    ],
  },
  files: {
    'docs/first.md': '# The first\n\n![A dot](dot.gif)\n\nThen [the second](second.md).\n',
    'docs/second.md': '# The second\n',
    'docs/dot.gif': 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;',
  },
}

async function bookHost(context: TestContext) {
  const proxy = await createPathProxy(context, '/my/lupine')
  const settings = { token, publicUrl: proxy.url }
  const host = await lampHost(context, { settings, plugins: [bookPlugin] })
  proxy.target = host.url
  await run(host, book)
  return { host, proxy }
}

/** Addresses of links that do not lead into the host as the page was called. */
function strayLinks(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))
      .filter((href) => !href.startsWith('#') && !href.startsWith('/my/lupine/'))`,
  )
}

function assertClean({ faults }: WatchedPage, strays: readonly string[]): void {
  // The browser notes the answer that asked for the token.
  const real = faults.filter((fault) => !/status of 401/.test(fault))
  assert.deepEqual([real, strays], [[], []])
}

test('every page, a reload of it, a login and the stream work below a path', options, async (context) => {
  const { host, proxy } = await bookHost(context)
  const watched = await open(context, { url: proxy.url })
  const { page, elsewhere } = watched
  await page.goto(`${proxy.url}/`)
  await logIn(page)
  await heading(page, 'Plugins').waitFor()
  assert.equal(page.url(), `${proxy.url}/plugins`)
  const cookies = await page.context().cookies()
  assert.deepEqual(
    cookies.map(({ path }) => path),
    ['/my/lupine/'],
  )

  for (const [path, title] of [
    ['/plugins', 'Plugins'],
    ['/catalog', 'Catalog'],
    ['/machines', ''],
    ['/history', 'History'],
    ['/repositories', 'Repositories'],
    ['/system', 'System'],
    [`/plugins/${book}`, 'Book'],
    [`/plugins/${book}/settings`, 'Book'],
    [`/plugins/${book}/controls`, 'Book'],
    [`/plugins/${book}/history`, 'Book'],
  ] as const) {
    await page.goto(proxy.url + path)
    await page.getByText('Live', { exact: true }).waitFor()
    await (title === '' ? page.locator('.state').first() : heading(page, title)).waitFor()
    assert.deepEqual(await strayLinks(page), [], path)
  }

  // By links alone, without loading anything again.
  await page.evaluate('window.sameDocument = true')
  await page.getByRole('link', { name: 'Plugins', exact: true }).click()
  assert.equal(await page.locator('[aria-current=page]').innerText(), 'Plugins')
  await page.getByRole('link', { name: 'Book', exact: true }).click()
  const parts = page.getByRole('navigation', { name: 'Parts of Book' })
  await parts.getByRole('link', { name: 'Events' }).click()
  await page.getByRole('listitem').filter({ hasText: 'book:turned' }).first().waitFor()
  await parts.getByRole('link', { name: 'Documents' }).click()
  await page.getByRole('heading', { name: 'The first' }).waitFor()
  await until('the picture', () =>
    page.evaluate<boolean>(`document.querySelector('article img')?.naturalWidth === 1`),
  )
  await page.getByRole('link', { name: 'the second' }).click()
  await page.getByRole('heading', { name: 'The second' }).waitFor()
  await page.goBack()
  await page.goBack()
  await page.getByRole('listitem').filter({ hasText: 'book:turned' }).first().waitFor()
  assert.equal(page.url(), `${proxy.url}/plugins/${book}/events`)
  assert.equal(await page.evaluate('window.sameDocument'), true)
  await page.reload()
  await page.getByRole('listitem').filter({ hasText: 'book:turned' }).first().waitFor()

  // What is typed is kept for this host, whoever else is under the name.
  await parts.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Emma')
  assert.deepEqual(await page.evaluate('Object.keys(sessionStorage)'), [`draft /my/lupine${book}`])
  await page.getByRole('button', { name: 'Save and reload' }).click()
  await page.getByText('Saved, and Book is running with it.').waitFor()
  assert.equal((await host.request('GET', `/api/plugins/${book}`)).body.config.title, 'Emma')

  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token of this host').waitFor()
  assert.deepEqual(await page.context().cookies(), [])
  assertClean(watched, proxy.strays)
  assert.deepEqual(elsewhere, [])
})

test('at its own address the host has its pages as well', options, async (context) => {
  const { host, proxy } = await bookHost(context)
  const watched = await open(context, host)
  const { page } = watched
  await page.goto(`/plugins/${book}`)
  await logIn(page)
  await heading(page, 'Book').waitFor()
  await page.getByRole('link', { name: 'reading' }).click()
  await heading(page, 'Plugins').waitFor()
  await page.reload()
  await page.getByRole('link', { name: 'Book', exact: true }).waitFor()
  assertClean(watched, proxy.strays)
})
