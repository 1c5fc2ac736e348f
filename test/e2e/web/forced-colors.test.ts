import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { hostWithLamp, lamp, options, useBrowser } from './fixture.ts'

/** The pages in the colours that somebody has set in the system, such as those of high contrast. */

const open = useBrowser()

test(
  'in the colours of the system a switch shows whether it is on, and one sees where one is',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`/plugins/${lamp}/controls`)
    const state = page.getByRole('switch', { name: 'Bulb, state' })
    /** How a switch looks: its colour, and that of its knob. */
    const looks = (): Promise<[string, string]> =>
      page.evaluate(`['', ' .knob'].map((part) => getComputedStyle(
        document.querySelector('[aria-label="Bulb, state"]' + part)).backgroundColor)`)
    /** At once what it is in the end. */
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await state.and(page.locator('[aria-checked=true]')).waitFor()
    const on = await looks()
    await state.click()
    await state.and(page.locator('[aria-checked=false]')).waitFor()
    const off = await looks()
    assert.notEqual(on[0], on[1], 'the knob of a switch that is on can be seen')
    assert.notEqual(off[0], off[1], 'the knob of a switch that is off can be seen')
    assert.notEqual(on[0], off[0], 'on looks otherwise than off')
    const [current, other] = await page.evaluate<string[]>(
      `['[aria-current]', ':not([aria-current])'].map((which) =>
        getComputedStyle(document.querySelector('.tabs a' + which)).borderBottomColor)`,
    )
    assert.notEqual(current, other, 'the tab that is shown is marked')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plugins' }).click()
    const tag = page.getByRole('button', { name: 'light', exact: true })
    await tag.waitFor()
    const tagColor = (): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector('button.tag')).backgroundColor`)
    await tag.click()
    await tag.and(page.locator('[aria-pressed=true]')).waitFor()
    // Also while the pointer is on it.
    const system = await page.evaluate(`(() => {
      const probe = document.body.appendChild(document.createElement('i'))
      probe.style.cssText = 'forced-color-adjust: none; background: Highlight'
      return getComputedStyle(probe).backgroundColor
    })()`)
    await until('the mark of the tag that is chosen', async () => (await tagColor()) === system)
  },
)

test(
  'in the colours of the system the event that is looked at is marked, and arrows have a head',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page } = await open(context, host)
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(`/machines/plugin-lifecycle?plugin=${lamp}`)
    await page.getByRole('list', { name: 'Sequence of events' }).locator('[aria-current]').waitFor()
    const [current, other] = await page.evaluate<string[]>(
      `['[aria-current]', ':not([aria-current])'].map((which) =>
        getComputedStyle(document.querySelector('.sequence button' + which)).outlineStyle)`,
    )
    assert.deepEqual([current, other], ['solid', 'none'])
    const [left, above] = await page.evaluate<string[]>(
      `(({ borderLeftColor, borderTopColor }) => [borderLeftColor, borderTopColor])(
        getComputedStyle(document.querySelector('.sequence .message'), '::before'))`,
    )
    assert.notEqual(left, above, 'the head of an arrow is no square')
  },
)
