import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { lampPlugin } from '../../helpers/lamp-plugin.ts'
import { traceMainThread } from '../../helpers/main-thread.ts'
import { hostWithLamp, lamp, options, useBrowser } from './fixture.ts'

/** The pages of a host with much to do. */

const lampPage = useBrowser()

/** Emits 200 events a second, and logs as many lines. */
const busyPlugin = {
  id: 'busy',
  lua: `
local plugin = Plugin:new("busy")
plugin:onInit(function()
  local count = 0
  plugin:setInterval(50, function()
    for _ = 1, 10 do
      count = count + 1
      plugin:emit("busy:event", { count = count })
      plugin:log("info", "count " .. count)
    end
  end)
end)
`,
}

/** Longest task of the page, in milliseconds of the processor: what takes longer makes it stutter. */
const frameLimit = 50
const framesWatched = 120

/** A host on which one plugin is busy, and a page that believes that there are 499 more. */
async function busyPage(context: TestContext) {
  const host = await hostWithLamp(context, { plugins: [busyPlugin, lampPlugin] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/busy' } })
  const { body } = await host.request('POST', '/api/plugins/busy/toggle', { body: { enabled: true } })
  const { page } = await lampPage(context, host)
  const many = Array.from({ length: 499 }, (_, index) => ({ ...body, id: `@many/plugin-${index}` }))
  await page.route('**/api/plugins', (route) => route.fulfill({ json: { plugins: [body, ...many] } }))
  await page.route('**/api/history/*/state', (route) =>
    route.fulfill({ json: { seq: 1, plugins: [body, ...many] } }),
  )
  return { host, page }
}

const frames = (page: Page, count: number): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    let left = ${count}
    requestAnimationFrame(function next() {
      left -= 1
      if (left <= 0) done()
      else requestAnimationFrame(next)
    })
  })`)

test('with 500 plugins and 200 events a second no frame takes over 50 ms', options, async (context) => {
  const { host, page } = await busyPage(context)
  const search = (name: string, text: string) => async () => {
    await page.getByRole('searchbox', { name }).pressSequentially(text)
  }
  const reload = async (): Promise<void> => {
    assert.equal((await host.request('POST', `/api/plugins/${lamp}/reload`)).status, 200)
  }
  const cases: [path: string, meanwhile: () => Promise<unknown>][] = [
    ['/plugins', search('Search plugins', 'plugin-4')],
    ['/plugins', reload],
    ['/plugins/@fixtures/busy/events', search('Search the events', '7')],
    ['/plugins/@fixtures/busy/logs', search('Search the log', '7')],
    ['/machines/plugin-lifecycle', reload],
    ['/history', reload],
  ]
  for (const [path, meanwhile] of cases) {
    await page.goto(path)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('listitem').nth(8).waitFor()
    const { tasks, calls } = await traceMainThread(page, async () => {
      await Promise.all([frames(page, framesWatched), meanwhile()])
    })
    assert.ok(calls > framesWatched, `${path}: only ${calls} calls of script were seen`)
    const long = tasks.filter((time) => time > frameLimit)
    assert.deepEqual(long, [], `${path}: tasks of ${long.join(', ')} ms`)
  }
})

test('the measure of the frames sees a page that is too slow', options, async (context) => {
  const { page } = await busyPage(context)
  await page.goto('/plugins')
  const { tasks } = await traceMainThread(page, async () => {
    await page.evaluate('{ const until = performance.now() + 1000; while (performance.now() < until); }')
  })
  assert.ok((tasks[0] ?? 0) > frameLimit, `the longest task took ${tasks[0]} ms`)
})

test(
  'events and log of a busy plugin can be paused, searched, and gone on with',
  options,
  async (context) => {
    const { page } = await busyPage(context)
    for (const [tab, label, list] of [
      ['events', 'Search the events', 'Events, newest first'],
      ['logs', 'Search the log', 'Lines of the log, newest first'],
    ] as const) {
      await page.goto(`/plugins/@fixtures/busy/${tab}`)
      const lines = page.getByRole('list', { name: list }).getByRole('listitem')
      await lines.nth(20).waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText(/Paused; [1-9]\d* new lines? since/).waitFor()
      const before = await lines.allInnerTexts()
      const waiting = page.locator('.paused')
      const count = async (): Promise<number> => Number(/\d+/.exec(await waiting.innerText())?.[0])
      const then = await count()
      while ((await count()) === then) await frames(page, 1)
      assert.deepEqual(await lines.allInnerTexts(), before, `${tab}: nothing moves during the pause`)
      await page.getByRole('searchbox', { name: label }).fill('no such thing')
      await lines.first().waitFor({ state: 'detached' })
      await page.getByRole('searchbox', { name: label }).fill('count')
      await lines.nth(20).waitFor()
      await page.getByRole('button', { name: 'Go on' }).click()
      const newest = before[0]?.split('\n').at(-1) ?? ''
      while ((await lines.allInnerTexts()).some((text) => text.includes(newest))) await frames(page, 1)
    }
  },
)
