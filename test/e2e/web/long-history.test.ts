import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { endedSegments } from '../../../src/journal/segments/segment.ts'
import { endLatestFirst } from '../../helpers/end-latest-first.ts'
import { writeLongJournal } from '../../helpers/long-journal.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { openTestHost, type TestHost } from '../../helpers/test-host.ts'
import { install, lampHost, options, useBrowser } from './fixture.ts'

/** Histories and machines on a journal of years. */

const open = useBrowser()
/** Events that a page reads at once (`pageSize`). */
const pageSize = 300

async function lastSeq(host: TestHost): Promise<number> {
  const { headers } = await host.request('GET', '/api/history?limit=1')
  return Number(headers.get('last-seq'))
}

test(
  'a moment before very many events has its time and its reason, by the slider and by its address',
  options,
  async (context) => {
    const directory = await temporaryDirectory({
      after: (end: () => Promise<void>) => endLatestFirst(context, end),
    })
    // More than one answer may have.
    await writeLongJournal(directory, 10_500, 1)
    const host = await openTestHost(directory, directory, {})
    endLatestFirst(context, () => host.host.close())
    const { page } = await open(context, host)
    const isTold = async (): Promise<void> => {
      await page.locator('.moment-words', { hasText: 'PluginCrashed' }).waitFor()
      await page.locator('.scrubber', { hasText: '2026' }).waitFor()
    }
    const { body } = await host.request('GET', '/api/history?after=4&limit=1')
    assert.equal(body.events[0].type, 'PluginCrashed')
    await page.goto('/machines/plugin-lifecycle')
    await page.getByText(`of ${await lastSeq(host)} events`).waitFor()
    await page.getByRole('slider', { name: 'Moment in the history' }).fill('5')
    await isTold()
    await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/plugin-0&seq=5')
    await isTold()
  },
)

test(
  'of a plugin with very many events the newest are shown, each number in one line, and those in between are not read',
  options,
  async (context) => {
    const directory = await temporaryDirectory({
      after: (end: () => Promise<void>) => endLatestFirst(context, end),
    })
    const events = 120_000
    await writeLongJournal(directory, events, 2)
    const host = await openTestHost(directory, directory, {})
    endLatestFirst(context, () => host.host.close())
    const { page } = await open(context, host)
    const asked: number[] = []
    page.on('request', (request) => {
      const after = /plugin-1\/history\?after=(\d+)&limit=\d{3,}/.exec(decodeURIComponent(request.url()))?.[1]
      if (after !== undefined) asked.push(Number(after))
    })
    await page.goto('/plugins/@fixtures/plugin-1/history')
    const link = page.locator('.event-line > a').first()
    await link.waitFor()
    const { events: all } = (await host.request('GET', `/api/history?after=${events}`)).body
    const newest = all.findLast(({ plugin }: { plugin: string | null }) => plugin === '@fixtures/plugin-1')
    assert.equal(await link.textContent(), `#${newest.seq}`)
    // Two lines have more pixels.
    const { height = 0 } = (await link.boundingBox()) ?? {}
    assert.ok(height > 0 && height < 36, String(height))
    const middle = asked.filter((after) => after > 0 && after < events / 2)
    assert.deepEqual(middle, [], String(asked))
    assert.ok(asked.length > 1)
  },
)

test('events whose files were moved away are told as such, and not offered', options, async (context) => {
  const host = await lampHost(context, { segmentBytes: 20_000 })
  for (const id of ['hello', 'demo']) await install(host, `@fixtures/${id}`)
  for (let turn = 0; turn < pageSize + 150; turn += 1)
    await host.request('POST', '/api/plugins/@fixtures/demo/config', { body: { config: { turn } } })
  const last = await lastSeq(host)
  const segments = endedSegments(await readdir(host.directory))
  const kept = segments.findLast(({ first }) => first <= last - pageSize)
  assert.ok(kept !== undefined && kept.first > 1)
  for (const { name, first } of segments) if (first < kept.first) await rm(join(host.directory, name))

  const { page } = await open(context, host)
  await page.goto('/history')
  const older = page.getByRole('button', { name: /^Read older events/ })
  await older.getByText(`(${last - pageSize + 1 - kept.first} more)`).waitFor()
  // By the keyboard: the list grows above the button while it is scrolled to.
  await older.press('Enter')
  const movedAway = page.getByText(`Events before #${kept.first} are not here`)
  await movedAway.waitFor()
  assert.equal(await older.count(), 0)
  // Of this one all are away.
  await page.goto('/plugins/@fixtures/hello/history')
  await movedAway.waitFor()

  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/demo&seq=2')
  await page.getByText('Event 2 is not here any more').waitFor()
  assert.equal(await page.getByText('Not installed').count(), 0)
  const slider = page.getByRole('slider', { name: 'Moment in the history' })
  assert.equal(await slider.getAttribute('min'), String(kept.first))
})
