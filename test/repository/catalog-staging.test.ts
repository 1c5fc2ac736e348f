import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { clockPlugin, clockRepository, createStage, readTree, writeTree } from './repository-fixture.ts'

const local = { name: 'local', url: './repository' }

test('what was put in place can be taken back, which is done when the answer comes, and refused when the disk refuses it', async (context) => {
  const disk = { refuses: false }
  const files = failingFileSystem((operation) => disk.refuses && operation === 'rename')
  const { directory, catalog } = await createStage(context, { files })
  const publish = (version: string): Promise<void> =>
    writeTree(join(directory, 'repository'), clockRepository(version))
  const installed = (): Promise<Record<string, string>> => readTree(join(directory, 'plugins', 'test--clock'))
  await publish('1.0.0')
  const first = await catalog.stage(local, clockPlugin)
  await first.swapIn()
  await first.discard()
  const before = await installed()
  await publish('2.0.0')
  const staged = await catalog.stage(local, clockPlugin)
  await staged.swapIn()
  assert.equal((await installed())['init.lua'], '-- clock 2.0.0')
  await staged.undo()
  assert.deepEqual(await installed(), before)
  await staged.discard()
  const another = await catalog.stage(local, clockPlugin)
  await another.swapIn()
  disk.refuses = true
  await assert.rejects(another.undo())
  disk.refuses = false
  await another.discard()
})

test('what a version would be is told although it needs a newer host, and which one, by index or manifest', async (context) => {
  const { directory, catalog } = await createStage(context)
  const needs = [
    [undefined, undefined, null],
    ['2.0.0', undefined, '2.0.0'],
    [undefined, '3.0.0', '3.0.0'],
    ['2.0.0', '3.0.0', '3.0.0'],
    ['3.0.0', '2.0.0', '3.0.0'],
  ] as const
  for (const [listed, named, needed] of needs) {
    const tree = clockRepository('1.0.0', {
      entry: { minHostVersion: listed },
      manifest: { minHostVersion: named },
    })
    await writeTree(join(directory, 'repository'), tree)
    assert.equal((await catalog.preview(local, clockPlugin)).minHostVersion, needed)
  }
})
