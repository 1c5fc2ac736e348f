import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { journalFileName } from '../../../src/journal/segments/segment.ts'
import { snapshotFileName } from '../../../src/journal/snapshot/snapshot.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { contentOf } from '../../helpers/content-of.ts'
import { stageWithDemo, untilPlugin } from './fleet-stage.ts'

/** A host whose files were damaged while it was off, by a power cut, say: what they had is in the store of its fleet. */

const demo = '@fixtures/demo'
const history = '/api/history?limit=1000'

/** A fleet with a plugin; its second host is off. */
async function stageWithHostOff(context: TestContext) {
  const { stage, a } = await stageWithDemo(context)
  const b = await stage.start('b')
  const known = (await b.request('GET', history)).body as { events: unknown[] }
  await b.host.close()
  const fileOf = (name: string): string => join(b.directory, name)
  return {
    ...{ a, stage, known, directory: b.directory, fileOf },
    damageJournal: async () => {
      const path = fileOf(journalFileName)
      await writeFile(path, (await readFile(path, 'utf8')).replace('PluginInstalled', 'PluginInstAlled'))
    },
  }
}

test('a host whose copy of the journal is damaged starts all the same, has all of it again, and keeps the damaged one', async (t) => {
  const { a, stage, known, directory, damageJournal } = await stageWithHostOff(t)
  await damageJournal()
  const logger = createRecordingLogger()
  const b = await stage.start('b', { logger })
  assert.ok(logger.lines.some(({ message }) => message.includes("copy of the fleet's journal was damaged")))
  const kept = (await readdir(directory)).filter((name) => name.startsWith(`${journalFileName}.damaged-`))
  assert.equal(kept.length, 1)
  assert.match(await readFile(join(directory, kept[0] ?? ''), 'utf8'), /PluginInstAlled/)
  const { events } = (await b.request('GET', history)).body as { events: unknown[] }
  assert.deepEqual(events.slice(0, known.events.length), known.events)
  await a.host.close()
  await untilPlugin(b, demo, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
})

for (const [title, content] of [
  ['empty', ''],
  ['full of NUL bytes', '\0'.repeat(600)],
  ['cut off', '{"version": 1, "host": {"id"'],
] as const) {
  test(`a host of a fleet whose .host.json is ${title} starts all the same, and keeps it beside the new one`, async (t) => {
    const { stage, directory, fileOf } = await stageWithHostOff(t)
    await writeFile(fileOf(snapshotFileName), content)
    // From earlier times: those that are too many go.
    for (const time of [1, 2, 3, 4]) await writeFile(fileOf(`${snapshotFileName}.damaged-${time}`), '')
    const b = await stage.start('b')
    await b.host.close()
    const kept = (await readdir(directory)).filter((name) => name.startsWith(`${snapshotFileName}.damaged-`))
    const latest = kept.find((name) => /\d{2,}$/.test(name)) ?? ''
    assert.deepEqual(
      kept.sort(),
      [1, 3, 4, latest.split('-').at(-1)].map((time) => `${snapshotFileName}.damaged-${time}`).sort(),
    )
    assert.equal(await readFile(join(directory, latest), 'utf8'), content)
    assert.match(await readFile(fileOf(snapshotFileName), 'utf8'), /"@fixtures\/demo"/)
  })
}

test('of copies of the journal that were damaged again and again the oldest and the three newest are kept, and those of a repair', async (t) => {
  const { stage, directory, damageJournal } = await stageWithHostOff(t)
  const damaged = (time: number | string): string => `${journalFileName}.damaged-${time}`
  // Of "lupine repair", before the host came into the fleet: what was cut off there is nowhere else.
  const cutOff = ['2025-01-01T10-00-00.000Z', '2025-02-01T10-00-00.000Z'].map(damaged)
  for (const name of [...[1, 2, 3, 4, 5].map(damaged), ...cutOff]) await writeFile(join(directory, name), '')
  await damageJournal()
  const logger = createRecordingLogger()
  await stage.start('b', { logger })
  const kept = (await readdir(directory)).filter((name) => name.includes('.damaged-')).sort()
  const latest = kept.filter((name) => /-\d{2,}$/.test(name))
  assert.equal(latest.length, 1)
  assert.deepEqual(kept, [...[1, 4, 5].map(damaged), ...cutOff, ...latest].sort())
  const removed = logger.lines.find(({ message }) => message.startsWith('Removed damaged copies'))
  assert.deepEqual(
    removed?.fields?.removed,
    [2, 3].map((time) => join(directory, damaged(time))),
  )
})

test('a host that has its name of a .host.json that is damaged is told to set it, as it would be another host', async (t) => {
  const { stage, directory, fileOf } = await stageWithHostOff(t)
  await writeFile(fileOf(snapshotFileName), '')
  const content = await contentOf(directory)
  await assert.rejects(
    stage.start('b', { settings: { hostId: undefined } }),
    /^StartError: .*\.host\.json .* the name of this host: set HOST_ID to that/,
  )
  assert.deepEqual(await contentOf(directory), content)
})

for (const { title, file } of [
  { title: 'where .host.json is damaged, too', file: () => '' },
  {
    title: 'where .host.json is of another fleet',
    file: (text: string) => text.replace(/"event": "[^"]*"/, '"event": "another"'),
  },
]) {
  test(`a damaged copy of which nothing says that it is of this fleet is refused with one line, and nothing is changed, ${title}`, async (t) => {
    const { stage, directory, fileOf, damageJournal } = await stageWithHostOff(t)
    await damageJournal()
    const path = fileOf(snapshotFileName)
    const before = await readFile(path, 'utf8')
    await writeFile(path, file(before))
    assert.notEqual(await readFile(path, 'utf8'), before)
    const content = await contentOf(directory)
    await assert.rejects(
      stage.start('b'),
      /^StartError: .* is damaged at line \d+, and nothing says that it is a copy .* but keep it, .* has run alone so far /,
    )
    assert.deepEqual(await contentOf(directory), content)
  })
}
