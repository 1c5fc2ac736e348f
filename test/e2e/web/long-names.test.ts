import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertFitsWidth } from '../../helpers/browser.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { startTestHost } from '../../helpers/test-host.ts'
import { install, lampHost, options, run, useBrowser } from './fixture.ts'

/** Ids, topics and addresses that are longer than a line of a phone. */

const openPage = useBrowser()

const namespace = 'controllers-for-houses-in-northern-europe'
const shortId = 'weather-station-of-the-botanical-garden'
const topic = 'measurements/greenhouses/north-eastern-corner/temperature/average'

const station: FixturePlugin = {
  id: shortId,
  lua: `
local plugin = Plugin:new("${shortId}")
plugin:onInit(function()
  plugin:upsertObject("${topic}", { topic = "${topic}" })
  plugin:sensor("${topic}", function() return "${topic}" end)
  error("nobody answers at ${topic}")
end)`,
  manifest: {
    name: `@${namespace}/${shortId}`,
    author: 'garden-society/weather-station-maintainers',
    homepage: 'https://weather-stations.example/of-the-botanical-garden/measurements',
    permissions: { mqtt: { publish: [topic] } },
  },
}
/** Says again and again what it has heard: the page shows what comes while it is open. */
const reporter: FixturePlugin = {
  id: 'reporter',
  lua: `
local plugin = Plugin:new("reporter")
plugin:onInit(function()
  plugin:setInterval(100, function()
    plugin:log("info", "heard ${topic}")
    plugin:logSafe("info", "heard it", { topic = "${topic}" })
    plugin:emit("north-eastern-corner:temperature-of-the-greenhouse-changed", { topic = "${topic}" })
  end)
end)`,
}
/** A word that no line has room for. */
const word: FixturePlugin = { id: 'w'.repeat(60), lua: 'Plugin:new("word")' }

/**
 * Words (what stands between blanks, `/` and `-`) on more than one line although they are shorter than it, or are
 * short ones for which there is no line. To be run in the page.
 */
const wordsCut = `(() => {
  const cut = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const text = texts.currentNode
    let block = text.parentElement
    while (getComputedStyle(block).display === 'inline') block = block.parentElement
    for (const { 0: word, index } of text.data.matchAll(/[^\\s\\/-]+/g)) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      const parts = [...range.getClientRects()]
      const width = parts.reduce((sum, part) => sum + part.width, 0)
      const { paddingLeft, paddingRight } = getComputedStyle(block)
      const room = block.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
      if (new Set(parts.map(({ top }) => top)).size > 1 && width <= Math.max(room, 90)) cut.push(word)
    }
  }
  return cut
})()`

test(
  'long ids, topics and addresses end their lines at `/` and `-`, and no page gets wider',
  options,
  async (context) => {
    const host = await startTestHost()
    context.after(() => host.close())
    await writeFixtureRepository(host.repository, [station, reporter, word], namespace)
    const id = `@${namespace}/${shortId}`
    const talking = `@${namespace}/${reporter.id}`
    for (const fullId of [id, `@${namespace}/${word.id}`]) await install(host, fullId)
    const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
    assert.equal(body.state, 'failed')
    await run(host, talking)
    const { page } = await openPage(context, host, { theme: 'light', width: 320 })
    /** Pages, and what each shows of it. */
    const pages = {
      '/plugins': id,
      [`/plugins/${id}`]: topic,
      [`/plugins/${id}/history`]: topic,
      [`/plugins/${talking}/logs`]: topic,
      [`/plugins/${talking}/events`]: topic,
      '/catalog': id,
      '/repositories': namespace,
      '/history': id,
      [`/machines/plugin-lifecycle?plugin=${id}`]: topic,
      '/system': 'Broker',
    }
    for (const [address, text] of Object.entries(pages)) {
      await page.goto(address)
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor()
      assert.deepEqual(await page.evaluate<string[]>(wordsCut), [], address)
      await assertFitsWidth(page, address)
    }
  },
)

/** Says much: a sentence, an address, and a tag of one long word. */
const speaker: FixturePlugin = {
  id: 'speaker',
  lua: `
local plugin = Plugin:new("speaker")
local text = "The front door was opened at 07:30 by Ann and closed at 07:31; the alarm was armed at 07:32, the heating turned down."
plugin:onInit(function()
  plugin:sensor("address", function() return "http://camera.example/snapshots/2026/front-door.jpg?token=abcdefghijklmnopqrstuvwxyz" end)
  expose(plugin:sensor("sentence", function() return text end), "sensor", { id = "last", name = "What was last", area = "Hall" })
  local display = { value = text }
  function display:get() return self.value end
  function display:set(_, value) self.value = value end
  expose(display, "text", { id = "display", name = "Display", area = "Hall" })
end)`,
  manifest: { tags: ['speech', 'w'.repeat(80)] },
}

for (const width of [1280, 320]) {
  test(`a long value leaves room for its name (${width} pixels wide)`, options, async (context) => {
    const host = await startTestHost({ plugins: [speaker] })
    context.after(() => host.close())
    await run(host, '@fixtures/speaker')
    const { page } = await openPage(context, host, { theme: 'light', width })
    await page.goto('/plugins/@fixtures/speaker/controls')
    await page.getByRole('list', { name: 'Exposed' }).getByText('Display').waitFor()
    await page.getByRole('list', { name: 'Sensors' }).getByText('address').waitFor()
    const names = page.locator('.point > span')
    for (const name of await names.all()) {
      const box = await name.boundingBox()
      assert.ok(box !== null && box.width >= 80, `${await name.innerText()} has ${box?.width ?? 0} pixels`)
    }
    await assertFitsWidth(page, 'long values')
  })
}

test('a tag that is one long word fits on a phone', options, async (context) => {
  const host = await startTestHost({ plugins: [speaker] })
  context.after(() => host.close())
  await install(host, '@fixtures/speaker')
  const { page } = await openPage(context, host, { theme: 'light', width: 320 })
  for (const address of ['/plugins', '/catalog', '/plugins/@fixtures/speaker']) {
    await page.goto(address)
    await page.locator('.tag', { hasText: 'www' }).first().waitFor()
    await assertFitsWidth(page, address)
  }
})

test(
  'of a great many tags those are offered that most plugins have, and the one that is chosen',
  options,
  async (context) => {
    const plugins = ['one', 'two', 'three'].map((id) => {
      const own = Array.from({ length: 24 }, (_, index) => `${id}-${index}`)
      return { id, lua: '', manifest: { tags: [...own, 'shared'] } }
    })
    const host = await startTestHost({ plugins })
    context.after(() => host.close())
    await install(host, '@fixtures/three')
    const { page } = await openPage(context, host)
    await page.goto('/catalog?tag=three-23')
    const cards = page.getByRole('list', { name: 'Plugins on offer' })
    await cards.getByText('and 5 more').waitFor()
    assert.deepEqual(
      [await cards.getByRole('listitem').count(), await cards.locator('.tag').count()],
      [1, 20],
    )
    const tags = page.getByRole('group', { name: 'Tags' })
    assert.equal(await tags.getByRole('button').count(), 41)
    assert.equal(await tags.getByRole('button', { name: 'shared' }).count(), 1)
    await tags.getByRole('button', { name: 'three-23', pressed: true }).click()
    await cards.getByText('and 5 more').nth(2).waitFor()
    assert.equal(await tags.getByRole('button').count(), 40)
    await page.goto('/plugins/@fixtures/three')
    await page.getByText('and 5 more').waitFor()
  },
)

test(
  'a long version leaves room for its plugin, and a long unit for its number',
  options,
  async (context) => {
    const nightly: FixturePlugin = {
      id: 'nightly',
      version: `1.0.0-${'nightly'.repeat(8)}`,
      lua: 'Plugin:new("nightly")',
      manifest: {
        configSchema: [{ key: 'speed', type: 'number', label: 'Speed', unit: 'kilometres'.repeat(5) }],
      },
    }
    const host = await startTestHost({ plugins: [nightly] })
    context.after(() => host.close())
    await install(host, '@fixtures/nightly')
    const { page } = await openPage(context, host, { theme: 'light', width: 320 })
    await page.goto('/machines/plugin-lifecycle')
    await page.getByRole('list', { name: 'State of every plugin' }).getByText('@fixtures/').waitFor()
    assert.deepEqual(await page.evaluate<string[]>(wordsCut), [])
    await page.goto('/plugins/@fixtures/nightly/settings')
    const box = await page.getByRole('textbox', { name: 'Speed' }).boundingBox()
    assert.ok(box !== null && box.width >= 90, `${box?.width} pixels`)
    await assertFitsWidth(page, 'a long unit')
  },
)

test(
  'of an event that is very long the beginning is shown, and how much there is more',
  options,
  async (context) => {
    const plugin = {
      id: 'novel',
      lua: `local plugin = Plugin:new("novel")
      plugin:setInterval(200, function() plugin:emit("novel:chapter", { text = string.rep("once ", 60000) }) end)`,
    }
    const host = await lampHost(context, { plugins: [plugin] })
    await run(host, '@fixtures/novel')
    const { page } = await openPage(context, host)
    await page.goto('/plugins/@fixtures/novel/events')
    const line = page.getByRole('list', { name: 'Events, newest first' }).getByRole('listitem').first()
    await line.getByText(/… and 280,011 more characters, which go over MQTT$/).waitFor()
    const text = await line.locator('code').innerText()
    assert.ok(text.startsWith('{"text":"once once') && text.length < 25_000, `${text.length} characters`)
  },
)
