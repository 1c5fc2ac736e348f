import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openTestHost, type TestHost } from '../helpers/test-host.ts'
import { endLatestFirst } from '../helpers/end-latest-first.ts'
import { writeLongJournal } from '../helpers/long-journal.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { install, lampHost, options, useBrowser } from './web-fixture.ts'

/** Machines and histories of a host on which much has happened. */

const open = useBrowser()

/** More than the page reads at once (`pageSize`). */
const manyEvents = 320

/** One that was installed long ago, and one to which much has happened since. */
async function busyHost(context: TestContext): Promise<TestHost> {
  const host = await lampHost(context)
  for (const id of ['hello', 'demo']) await install(host, `@fixtures/${id}`)
  for (let turn = 0; turn < manyEvents; turn += 1)
    await host.request('POST', '/api/plugins/@fixtures/demo/config', { body: { config: { turn } } })
  return host
}

test('what has happened to a plugin long ago is in its machine', options, async (context) => {
  const host = await busyHost(context)
  const { page } = await open(context, host)
  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/hello')
  await page.locator('.state.current', { hasText: /^installed$/ }).waitFor()
  const sequence = page.getByRole('list', { name: 'Sequence of events' }).getByRole('button')
  await sequence.filter({ hasText: 'Installation asked for' }).waitFor()
  await page.locator('.moment-words', { hasText: 'PluginInstalled' }).waitFor()
  await page.getByRole('button', { name: 'The event before' }).click()
  await page.getByText(/^At event \d+$/).waitFor()
})

test('a host that was started long ago has a state', options, async (context) => {
  const host = await busyHost(context)
  const { page } = await open(context, host)
  await page.goto('/machines/host')
  await page.locator('.state.current', { hasText: 'ready' }).waitFor()
  const sequence = page.getByRole('list', { name: 'Sequence of events' }).getByRole('button')
  await sequence.filter({ hasText: 'Host ready' }).waitFor()
})

test('what an owner may change is no report of the host', options, async (context) => {
  const host = await lampHost(context)
  await install(host, '@fixtures/hello')
  const { page } = await open(context, host)
  await page.goto('/machines/plugin-lifecycle?plugin=@fixtures/hello')
  const possible = page.getByRole('list', { name: 'Events that are possible now' })
  await possible.getByRole('button', { name: 'Switch on' }).waitFor()
  // It has no addresses whose secret could be renewed.
  assert.equal(await possible.getByText('New secret').count(), 0)
  await possible.getByRole('link', { name: 'Change the limits' }).click()
  await page.getByRole('heading', { name: 'Limits' }).waitFor()
})

test('of a plugin with more events than are shown, the newest are', options, async (context) => {
  const directory = await temporaryDirectory({
    after: (end: () => Promise<void>) => endLatestFirst(context, end),
  })
  await writeLongJournal(directory, 10_050, 1)
  const host = await openTestHost(directory, directory, {})
  endLatestFirst(context, () => host.host.close())
  const { page } = await open(context, host)
  await page.goto('/plugins/@fixtures/plugin-0/history')
  const { body } = await host.request('GET', '/api/plugins/@fixtures/plugin-0/history?after=10000')
  const last: number = body.events.at(-1).seq
  await page.locator('.event-line > a').first().getByText(`#${last}`, { exact: true }).waitFor()
})
