import assert from 'node:assert/strict'
import { test } from 'node:test'
import { webAssets } from '../../../src/http/answers/web-assets.ts'
import { until } from '../../helpers/until.ts'
import { heading, hostWithLamp, options, useBrowser } from './fixture.ts'

/** The pages in the oldest browsers that they are for: Safari 16.4, Firefox 115, Chrome 111 (`src/web/esbuild.json`). */

const open = useBrowser()

/** What came later: each as the object that has it, and its names. */
const later = `
  const groups = [
    [AbortSignal, 'any'],
    [URL, 'canParse', 'parse'],
    [Promise, 'withResolvers', 'try'],
    [Object, 'groupBy'],
    [Map, 'groupBy'],
    [Array, 'fromAsync'],
    [RegExp, 'escape'],
    [Set.prototype, 'union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom'],
    [String.prototype, 'isWellFormed', 'toWellFormed'],
    [Object.getPrototypeOf(Object.getPrototypeOf([].values())), 'map', 'filter', 'take', 'drop', 'flatMap', 'reduce',
      'toArray', 'forEach', 'some', 'every', 'find'],
    [Element.prototype, 'checkVisibility', 'moveBefore', 'setHTMLUnsafe', 'getHTML', 'togglePopover', 'showPopover'],
    [globalThis, 'Iterator', 'requestIdleCallback', 'scheduler', 'navigation', 'URLPattern'],
  ]
  for (const [object, ...names] of groups) for (const name of names) delete object[name]
`

const tabs = ['Settings', 'Objects', 'Events', 'Logs', 'Documents', 'Limits', 'History', 'Controls']
const pages = ['Catalog', 'Machines', 'History', 'Repositories', 'System', 'Plugins']

test('what such a browser lacks is needed by no page', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page, faults } = await open(context, host)
  const go = (links: string, name: string): Promise<void> =>
    page.getByRole('navigation', { name: links }).getByRole('link', { name, exact: true }).click()
  await page.addInitScript(later)
  await page.goto('/plugins')
  await page.evaluate('globalThis.isSamePage = true')
  for (const name of pages) {
    await go('Pages', name)
    await heading(page, name).waitFor()
  }
  await page.getByRole('link', { name: 'Lamp', exact: true }).click()
  for (const name of tabs) {
    await go('Parts of Lamp', name)
    await until(`all of ${name}`, async () => (await page.getByText(/^Reading/).count()) === 0)
  }
  await page.getByRole('slider', { name: 'level', exact: true }).fill('7')
  await page.getByText('42 W').first().waitFor()
  assert.equal(await page.locator('.notice, .failure').count(), 0)
  // A link that the script does not follow loads the page anew.
  assert.equal(await page.evaluate('globalThis.isSamePage'), true)
  assert.deepEqual(faults, [])
})

test('no style is written in a way that such a browser does not read', () => {
  const [, sheet] = [...webAssets().files].find(([name]) => name.endsWith('.css')) ?? []
  const style = sheet?.content.toString() ?? ''
  assert.match(style, /--page: ?#/)
  assert.doesNotMatch(style, /light-dark\(|@scope|@starting-style|field-sizing|anchor\(|round\(|&[ .:>]/)
})
