import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openWindow } from '../../helpers/browser-window.ts'
import { assertFitsWidth } from '../../helpers/browser.ts'
import { hostWithLamp, lamp, options } from './fixture.ts'

test(
  'who has set larger letters in the browser reads the pages with them, on a phone as well',
  options,
  async (context) => {
    const host = await hostWithLamp(context)
    const window = await openWindow(context, { webkit: { webprefs: { default_font_size: 32 } } })
    const page = await window.newPage()
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      for (const path of [
        '/plugins',
        '/history',
        '/system',
        `/plugins/${lamp}/settings`,
        `/machines/plugin-lifecycle?plugin=${lamp}`,
      ]) {
        await page.goto(`${host.url}${path}`)
        await page.getByText('Live').waitFor()
        assert.equal(await page.evaluate('getComputedStyle(document.body).fontSize'), '32px')
        await assertFitsWidth(page, `${path}, ${width} pixels wide`)
      }
    }
    await page.setViewportSize({ width: 390, height: 900 })
    await page.goto(`${host.url}/plugins/${lamp}/history`)
    await page.getByText('Started', { exact: true }).first().waitFor()
    const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('.event-line > *')]
      .filter((part) => part.getBoundingClientRect().right > part.parentElement.getBoundingClientRect().right + 1)
      .map(({ textContent }) => textContent)`)
    assert.deepEqual(cut, [])
  },
)
