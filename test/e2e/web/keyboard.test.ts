import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../helpers/until.ts'
import { hostWithLamp, options, useBrowser } from './fixture.ts'

/** The keyboard stays where it was, whatever becomes of what was pressed. */

const open = useBrowser()

const untilFocused = (page: Page, name: string): Promise<unknown> =>
  until(`the focus on ${name}`, async () => {
    const focused = `[document.activeElement.tagName, document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent].join(' ')`
    return (await page.evaluate<string>(focused)).startsWith(name)
  })

test(
  'a switch can be pressed again by the keyboard when its plugin has stopped',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const { page, faults } = await open(context, host)
    let answer = (): void => undefined
    await page.route(/\/toggle$/, async (route) => {
      await new Promise<void>((resolve) => (answer = resolve))
      await route.continue()
    })
    await page.goto('/plugins')
    const enabled = page.getByRole('switch', { name: 'Lamp enabled' })
    await enabled.focus()
    for (const checked of [false, true]) {
      await page.keyboard.press('Space')
      // Nothing can be pressed while it stops or starts.
      await untilFocused(page, 'BODY')
      answer()
      await page.getByRole('switch', { name: 'Lamp enabled', checked, disabled: false }).waitFor()
      await untilFocused(page, 'BUTTON Lamp enabled')
    }
    await page.unrouteAll({ behavior: 'wait' })
    await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/lamp&seq=5')
    await page.getByRole('button', { name: 'Back to now' }).focus()
    await page.keyboard.press('Enter')
    await untilFocused(page, 'H2 Now')
    if (faults.length > 0) throw new Error(faults.join('\n'))
  },
)

test('Enter pressed twice does not confirm what it has asked for', options, async (context) => {
  const host = await hostWithLamp(context)
  const { page } = await open(context, host)
  const asked: string[] = []
  page.on('request', (request) => {
    if (!['GET', 'HEAD'].includes(request.method())) asked.push(request.url())
  })
  await page.goto('/repositories')
  await page.getByRole('button', { name: 'Remove fixtures' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await untilFocused(page, 'BUTTON Keep it')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await untilFocused(page, 'BUTTON Remove fixtures')
  assert.deepEqual(asked, [])
})
