import assert from 'node:assert/strict'
import { test } from 'node:test'
import { install, lampHost, options, run, useBrowser } from './fixture.ts'

/** Texts of plugins in languages that run to the left, and with characters that turn the direction of what follows them. */

const open = useBrowser()
const turned = '\u202e'
const plugin = {
  id: 'turned',
  lua: `
local plugin = Plugin:new("turned")
plugin:onInit(function()
  expose(plugin:sensor("sensor", function() return 1 end), "sensor",
    { id = "shown", name = "Shown ${turned}nwohs", area = "Hall ${turned}llah" })
  plugin:control("control", function() return 1 end, function() end)
end)`,
  files: { 'README.md': '# Lamp' },
  manifest: {
    name: `Lamp ${turned}gnihton`,
    description: `A lamp ${turned}gnihton`,
    tags: [`tag ${turned}x`],
    docs: [{ title: `Read ${turned}em`, file: 'README.md' }],
    exports: {
      sensors: [{ id: 'sensor', description: `Says ${turned}gnihton`, unit: `m${turned}s` }],
      controls: [{ id: 'control', description: `Does ${turned}gnihton` }],
      events: [{ name: 'turned:event', description: `Of ${turned}gnihton` }],
    },
    configSchema: [
      {
        key: 'speed',
        type: 'number',
        label: `Speed ${turned}deeps`,
        description: `In ${turned}sretem`,
        required: true,
        unit: `m${turned}s`,
        group: `Group ${turned}puorg`,
      },
      {
        key: 'rows',
        type: 'list',
        label: `Rows ${turned}swor`,
        fields: [{ key: 'row', label: `Row ${turned}wor` }],
      },
    ],
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

test('a text of a plugin cannot turn the words of its own page', options, async (context) => {
  const host = await lampHost(context, { plugins: [plugin] })
  await install(host, '@fixtures/turned')
  const path = '/plugins/@fixtures/turned'
  const config = { speed: 1, rows: [{ row: 'x' }] }
  assert.equal((await host.request('POST', `/api${path}/config`, { body: { config } })).status, 200)
  const { body } = await host.request('POST', `/api${path}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running')
  const { page } = await open(context, host)
  /** Pages, and texts that each shows. */
  const pages: [address: string, ...texts: string[]][] = [
    ['/plugins', 'Lamp \ufffdgnihton', 'A lamp \ufffdgnihton', 'tag \ufffdx'],
    [path, 'A lamp \ufffdgnihton', 'tag \ufffdx'],
    [
      `${path}/settings`,
      'Group \ufffdpuorg',
      'Speed \ufffddeeps',
      'In \ufffdsretem',
      'm\ufffds',
      'Row \ufffdwor',
    ],
    [
      `${path}/controls`,
      'Says \ufffdgnihton',
      'm\ufffds',
      'Does \ufffdgnihton',
      'Shown \ufffdnwohs',
      'Hall \ufffdllah',
    ],
    [`${path}/events`, 'Of \ufffdgnihton'],
    [`${path}/documents`, 'Read \ufffdem'],
    [`${path}/limits`, 'Saving reloads Lamp \ufffdgnihton.'],
  ]
  for (const [address, ...texts] of pages) {
    await page.goto(address)
    if (address.endsWith('limits')) await page.getByLabel('Timers').first().fill('7')
    for (const text of texts) await page.locator('main').getByText(text).first().waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), new RegExp(turned), address)
  }
  await page.goto(`${path}/settings`)
  await page.getByLabel('Speed').fill('fast')
  await page.getByText('Cannot be saved yet: Speed').waitFor()
  assert.doesNotMatch(await page.locator('main').innerText(), new RegExp(turned))
})

/** Speaks Arabic, with a word of English at the end. */
const sentence = 'مصباح جيد version'
const lantern = {
  id: 'lantern',
  lua: `Plugin:new("lantern"):log("info", "${sentence}")`,
  manifest: { name: 'Lantern', description: sentence, docs: [{ title: 'Read me', file: 'README.md' }] },
  files: { 'README.md': `${sentence}\n\n- ${sentence}\n` },
}

test(
  'a text in a language that runs to the left is shown in the order of its words',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [lantern] })
    await run(host, '@fixtures/lantern')
    const { page } = await open(context, host)
    for (const [address, ...texts] of [
      ['/plugins', '.row p'],
      ['/plugins/@fixtures/lantern', '.panel p'],
      ['/plugins/@fixtures/lantern/logs', '.line .message'],
      ['/plugins/@fixtures/lantern/documents', '.document p', '.document li'],
    ] as const) {
      await page.goto(address)
      for (const text of texts) {
        await page.locator(text, { hasText: sentence }).first().waitFor()
        const [first, last] = await page.evaluate<[number, number]>(`((node) => {
        const left = (word) => {
          const range = document.createRange()
          const at = node.data.indexOf(word)
          range.setStart(node, at)
          range.setEnd(node, at + word.length)
          return range.getBoundingClientRect().left
        }
        return [left('مصباح'), left('version')]
      })([...document.querySelectorAll('${text}')].find((one) => one.textContent.includes('version')).firstChild)`)
        assert.ok(last < first, `${address}, ${text}: the last word stands behind the first one, to the left`)
      }
    }
  },
)

/** A document with a heading in the middle, and a part in Hebrew that says so; it fails for a reason in Hebrew. */
const menorah = {
  id: 'menorah',
  lua: 'Plugin:new("menorah"):onInit(function() error("אין חשמל") end)',
  manifest: { name: 'Menorah', docs: [{ title: 'Read me', file: 'README.md' }] },
  files: {
    'README.md': [
      '<p align="center">Middle</p>',
      '<div dir="rtl">\n\nעברית\n\n- אור\n\n</div>',
      '| Place |\n| :-: |\n| Here, and nowhere else |\n| There |',
    ].join('\n\n'),
  },
}

test('a document stands as it says itself, in the middle or at the right', options, async (context) => {
  const host = await lampHost(context, { plugins: [menorah] })
  await install(host, '@fixtures/menorah')
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/menorah/documents')
  /** Pixels from the edges of what it stands in to its letters. */
  const space = async (text: string): Promise<{ left: number; right: number }> => {
    await page.locator('.document').getByText(text, { exact: true }).waitFor()
    return page.evaluate(`((node) => {
      const frame = node.parentElement.getBoundingClientRect()
      const range = document.createRange()
      range.selectNodeContents(node)
      const letters = range.getBoundingClientRect()
      return { left: letters.left - frame.left, right: frame.right - letters.right }
    })([...document.querySelectorAll('.document *')].find((one) => one.textContent === '${text}').firstChild)`)
  }
  for (const text of ['Middle', 'There']) {
    const { left, right } = await space(text)
    assert.ok(Math.abs(left - right) < 2, `${text}: ${left} pixels to the left, ${right} to the right`)
  }
  for (const text of ['עברית', 'אור']) {
    const { left, right } = await space(text)
    assert.ok(right < 2 && left > 100, `${text}: ${left} pixels to the left, ${right} to the right`)
  }
})

test(
  'when a plugin failed stands behind the reason, also where that runs to the left',
  options,
  async (context) => {
    const host = await lampHost(context, { plugins: [menorah] })
    await install(host, '@fixtures/menorah')
    await host.request('POST', '/api/plugins/@fixtures/menorah/toggle', { body: { enabled: true } })
    const { page } = await open(context, host)
    await page.goto('/plugins/@fixtures/menorah')
    const reason = page.getByRole('alert').getByText('אין חשמל')
    await reason.waitFor()
    const [when, last] = await page.evaluate<[number, number]>(`(() => {
    const alert = document.querySelector('[role=alert] p')
    const node = document.createTreeWalker(alert, NodeFilter.SHOW_TEXT)
    while (node.nextNode() && !node.currentNode.data.includes('חשמל'));
    const range = document.createRange()
    range.selectNodeContents(node.currentNode)
    return [alert.querySelector('time').getBoundingClientRect().left, range.getBoundingClientRect().right]
  })()`)
    assert.ok(when >= last, `the time begins at ${when} pixels, and the reason ends at ${last}`)
  },
)
