import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Placement } from '../../../../src/fleet/leases/placement.ts'
import { followWanted } from '../../../../src/host/fleet/placement/follow-wanted.ts'
import type { Manifest } from '../../../../src/schema/manifest/manifest.ts'
import type { Fact } from '../../../../src/schema/journal/journal-event.ts'
import { id, installation, other } from '../../../helpers/any-fact.ts'
import { openTestJournal } from '../../../helpers/journal-stage.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../../helpers/temporary-directory.ts'

/** Whose files a host fetches, and when once more, by the clock. */

const turn = (): Promise<void> => new Promise(setImmediate)
const uninstalled: Fact = { type: 'PluginUninstalled', plugin: id, data: { purged: ['files'] } }

async function createStage(context: TestContext, known: Record<string, string> = {}) {
  const journal = await openTestJournal(await temporaryDirectory(context))
  context.after(() => journal.close())
  const clock = createManualClock()
  const manifests = new Map(
    Object.entries(known).map(([plugin, version]) => [plugin, { version } as Manifest]),
  )
  const owned = new Set<string>()
  const fetched: string[] = []
  const removed: unknown[] = []
  const described: string[][] = []
  const state = {
    canBeFetched: false,
    /** What the next one waits for. */
    held: undefined as Promise<void> | undefined,
    wanted: new Map() as ReadonlyMap<string, Placement>,
  }
  return {
    ...{ journal, clock, owned, fetched, removed, described, state },
    follow: () =>
      followWanted({
        ...{ journal, clock, manifests, owns: (plugin) => owned.has(plugin) },
        handover: {
          async mirror(plugin) {
            fetched.push(plugin)
            await (state.held ?? turn())
            return state.canBeFetched
          },
          async removed(...given) {
            removed.push(given)
          },
        },
        keeper: {
          describe: (hosts) => void described.push([...hosts.keys()]),
          want: (wanted) => void (state.wanted = wanted),
        },
      }),
    /** How often something is fetched while so many milliseconds go by. */
    async fetchedIn(milliseconds: number): Promise<number> {
      const before = fetched.length
      clock.advance(milliseconds)
      await turn()
      await turn()
      return fetched.length - before
    },
  }
}

test('files that cannot be fetched are tried again, less and less often, until they are here', async (context) => {
  const { journal, clock, fetched, state, follow, fetchedIn } = await createStage(context)
  const { stop } = follow()
  await journal.append(installation(id), 'http')
  assert.deepEqual(fetched, [id])
  // What it depends on is not known yet.
  assert.equal(state.wanted.has(id), false)
  assert.equal(await fetchedIn(0), 0)
  assert.equal(state.wanted.has(id), true)
  for (const pause of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    assert.equal(await fetchedIn(pause - 1), 0)
    assert.equal(await fetchedIn(1), 1)
  }
  state.canBeFetched = true
  assert.deepEqual([await fetchedIn(60_000), clock.waiting], [1, 0])
  stop()
})

test('files of a plugin that was uninstalled, or that this host has by now, are not tried again', async (context) => {
  for (const change of ['uninstalled', 'taken'] as const) {
    const { journal, clock, owned, follow, fetchedIn } = await createStage(context)
    const { stop } = follow()
    await journal.append(installation(id), 'http')
    await fetchedIn(0)
    if (change === 'taken') owned.add(id)
    else await journal.append([uninstalled], 'http')
    assert.deepEqual([await fetchedIn(5_000), clock.waiting], [0, 0])
    stop()
  }
})

test('files that change again while they are fetched are tried again once', async (context) => {
  const { journal, clock, fetched, state, follow, fetchedIn } = await createStage(context)
  const { stop } = follow()
  let release = (): void => undefined
  state.held = new Promise((resolve) => (release = resolve))
  await journal.append(installation(id), 'http')
  state.held = undefined
  await journal.append([uninstalled, ...installation(id)], 'http')
  await fetchedIn(0)
  assert.deepEqual([fetched, state.wanted.has(id), clock.waiting], [[id, id], false, 0])
  release()
  await fetchedIn(0)
  assert.deepEqual([state.wanted.has(id), clock.waiting], [true, 1])
  // Nor does an earlier pause count any more.
  await fetchedIn(4_000)
  await journal.append([uninstalled, ...installation(id)], 'http')
  await fetchedIn(0)
  assert.deepEqual([await fetchedIn(1_000), await fetchedIn(4_000)], [0, 1])
  state.canBeFetched = true
  await journal.append([uninstalled, ...installation(id)], 'http')
  await fetchedIn(0)
  assert.equal(clock.waiting, 0)
  stop()
})

test('what other hosts have changed before this one follows is fetched then', async (context) => {
  const { journal, owned, fetched, follow } = await createStage(context, { [id]: '1.0.0', [other]: '0.9.0' })
  await journal.append([...installation(id), ...installation(other), ...installation('@a/unread')], 'http')
  await journal.append([...installation('@a/own'), ...installation('@a/gone')], 'http')
  await journal.append([{ ...uninstalled, plugin: '@a/gone' } as Fact], 'http')
  owned.add('@a/own')
  const { stop } = follow()
  assert.deepEqual(fetched, [other, '@a/unread'])
  stop()
})

test('nothing is tried any more by who has stopped to follow, nor what is still being fetched then', async (context) => {
  const { journal, clock, follow, fetchedIn } = await createStage(context)
  for (const isFetched of [true, false]) {
    const { stop } = follow()
    await journal.append([...installation(isFetched ? id : other)], 'http')
    if (isFetched) await fetchedIn(0)
    stop()
    await fetchedIn(0)
    assert.deepEqual([await fetchedIn(60_000), clock.waiting], [0, 0])
  }
})

test('what is written down together is told once, and to nobody who does not follow any more', async (context) => {
  const { journal, described, state, follow } = await createStage(context)
  const joined = (host: string): Fact => ({
    type: 'HostJoined',
    plugin: null,
    data: { host, hostVersion: '1.0.0', address: 'http://a.example', labels: [] },
  })
  await journal.append([joined('a')], 'http')
  const { stop } = follow()
  assert.deepEqual(described, [['a']])
  for (let n = 0; n < 2; n += 1) {
    await journal.append([joined('b'), joined('c'), ...installation(`@a/p${n}`)], 'http')
    await turn()
    // Once for that, once when the files are here.
    await turn()
    assert.deepEqual([described.length, state.wanted.has(`@a/p${n}`)], [3 + 2 * n, true])
  }
  assert.deepEqual(described.at(-1), ['a', 'b', 'c'])
  stop()
  await journal.append([joined('d')], 'http')
  await turn()
  assert.equal(described.length, 5)
})

test('of what this host has, it sees to the files itself, but for what another one has installed anew', async (context) => {
  const { journal, owned, fetched, removed, follow, fetchedIn } = await createStage(context)
  const updated = (plugin: string): Fact => ({
    type: 'PluginUpdated',
    plugin,
    data: { version: '2.0.0', indexVersion: null, repository: null, integrity: {} },
  })
  owned.add(id)
  const { stop } = follow()
  await journal.append([...installation(id), ...installation(other)], 'http')
  assert.deepEqual(fetched.splice(0), [id, other])
  await journal.append([updated(id), updated(other)], 'http')
  assert.deepEqual(fetched.splice(0), [other])
  await journal.append([uninstalled, { ...uninstalled, plugin: other }], 'http')
  assert.deepEqual([fetched, removed], [[], [[other, ['files']]]])
  await fetchedIn(0)
  stop()
})
