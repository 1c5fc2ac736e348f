import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import {
  keptPlaces,
  pluginPlaces,
  pruneKept,
  recoverSwaps,
  removePlugin,
  swapIn,
} from '../../../src/repository/directories/plugin-swap.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { clockPlugin, problemOf, readTree, writeTree } from '../repository-fixture.ts'

const current = 'plugins/test--clock/init.lua'
const previous = 'plugins/.previous/test--clock/init.lua'
const staged = 'plugins/.staging/one/init.lua'

/** The real file system, that fails from the call `first` on, or only there. */
function failingFrom(
  first: number,
  code: string,
  onlyThere = false,
): { files: FileSystem; calls: () => number } {
  let calls = 0
  const count = (): void => {
    calls += 1
    if (onlyThere ? calls === first : calls >= first) throw Object.assign(new Error(code), { code })
  }
  const files: FileSystem = {
    ...systemFileSystem,
    rename: async (from, to) => {
      count()
      await systemFileSystem.rename(from, to)
    },
    open: async (...given) => {
      count()
      return systemFileSystem.open(...given)
    },
    mkdir: (async (...given: Parameters<FileSystem['mkdir']>) => {
      count()
      return systemFileSystem.mkdir(...given)
    }) as FileSystem['mkdir'],
    rm: async (...given) => {
      count()
      await systemFileSystem.rm(...given)
    },
  }
  return { files, calls: () => calls }
}

/** All but the versions before the previous one, which have names of their own. */
async function withoutOlder(directory: string): Promise<Record<string, string>> {
  const files = Object.entries(await readTree(directory))
  return Object.fromEntries(files.filter(([path]) => !path.startsWith('plugins/.older/')))
}

test('a swap puts the new version in place and keeps the one before', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeTree(directory, { [current]: 'two', [previous]: 'one', [staged]: 'three' })
  await swapIn(pluginPlaces(directory), clockPlugin, join(directory, 'plugins/.staging/one'))
  assert.deepEqual(await withoutOlder(directory), { [current]: 'three', [previous]: 'two' })
})

test('restoring exchanges the present and the previous version', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeTree(directory, { [current]: 'two', [previous]: 'one' })
  await swapIn(pluginPlaces(directory), clockPlugin, join(directory, 'plugins/.previous/test--clock'))
  assert.deepEqual(await readTree(directory), { [current]: 'one', [previous]: 'two' })
  await swapIn(pluginPlaces(directory), clockPlugin, join(directory, 'plugins/.previous/test--clock'))
  assert.deepEqual(await readTree(directory), { [current]: 'two', [previous]: 'one' })
})

test('versions before the previous one are kept too, until they are pruned', async (context) => {
  const directory = await temporaryDirectory(context)
  const places = pluginPlaces(directory)
  await writeTree(directory, { [current]: 'two', [previous]: 'one', [staged]: 'three' })
  await swapIn(places, clockPlugin, join(directory, 'plugins/.staging/one'))
  const [, oldest = ''] = await keptPlaces(places, clockPlugin)
  await swapIn(places, clockPlugin, oldest)
  assert.deepEqual(Object.values(await readTree(directory)).sort(), ['one', 'three', 'two'])
  assert.equal((await readTree(directory))[current], 'one')
  await pruneKept(places, clockPlugin, new Set(), async () => false)
  assert.deepEqual(await readTree(directory), { [current]: 'one', [previous]: 'three' })
})

test('removing leaves nothing of the plugin, and everything of the others', async (context) => {
  const directory = await temporaryDirectory(context)
  const other = { 'plugins/test--lamp/init.lua': 'lamp', 'plugins/.previous/test--lamp/init.lua': 'old lamp' }
  await writeTree(directory, { [current]: 'two', [previous]: 'one', ...other })
  await removePlugin(pluginPlaces(directory), clockPlugin)
  assert.deepEqual(await readTree(directory), other)
  await removePlugin(pluginPlaces(directory), clockPlugin)
})

test('a crash at any step of a swap leaves the old version or the new one, whole, with its predecessor', async (context) => {
  const outcomes = new Set<string>()
  for (let step = 1; ; step += 1) {
    const directory = await temporaryDirectory(context)
    await writeTree(directory, { [current]: 'two', [previous]: 'one', [staged]: 'three' })
    const { files, calls } = failingFrom(step, 'EIO')
    const swap = swapIn(pluginPlaces(directory, files), clockPlugin, join(directory, 'plugins/.staging/one'))
    await swap.catch(() => undefined)
    await recoverSwaps(pluginPlaces(directory), silentLogger)
    const tree = await withoutOlder(directory)
    assert.ok(
      [
        { [current]: 'two', [previous]: 'one' },
        { [current]: 'two' },
        { [current]: 'three', [previous]: 'two' },
      ].some((allowed) => JSON.stringify(sorted(allowed)) === JSON.stringify(sorted(tree))),
      `step ${step}: ${JSON.stringify(tree)}`,
    )
    outcomes.add(String(tree[current]))
    if (calls() < step) break
  }
  assert.deepEqual([...outcomes].sort(), ['three', 'two'])
})

test('a crash at any step of a restoration loses neither version', async (context) => {
  for (let step = 1; ; step += 1) {
    const directory = await temporaryDirectory(context)
    await writeTree(directory, { [current]: 'two', [previous]: 'one' })
    const { files, calls } = failingFrom(step, 'EIO')
    await swapIn(
      pluginPlaces(directory, files),
      clockPlugin,
      join(directory, 'plugins/.previous/test--clock'),
    ).catch(() => undefined)
    await recoverSwaps(pluginPlaces(directory), silentLogger)
    const tree = await readTree(directory)
    assert.deepEqual([tree[current], tree[previous]].sort(), ['one', 'two'], `step ${step}`)
    if (calls() < step) break
  }
})

/** Three versions of two files each: the present one, the one before, and one that is older. */
const three = {
  [current]: 'three',
  'plugins/test--clock/lib.lua': 'three',
  [previous]: 'two',
  'plugins/.previous/test--clock/lib.lua': 'two',
  'plugins/.older/test--clock/kept/init.lua': 'one',
  'plugins/.older/test--clock/kept/lib.lua': 'one',
}

/** The version in place, after each version was found whole, once, and nothing else. */
async function wholeVersions(directory: string, where: string): Promise<string | undefined> {
  const tree = await readTree(directory)
  const folders = new Map<string, string[]>()
  for (const [path, content] of Object.entries(tree)) {
    const folder = path.slice(0, path.lastIndexOf('/'))
    folders.set(folder, [...(folders.get(folder) ?? []), content])
  }
  assert.deepEqual(
    [...folders.values()].map((contents) => contents.join()).sort(),
    ['one,one', 'three,three', 'two,two'],
    `${where}: ${JSON.stringify(tree)}`,
  )
  return tree[current]
}

for (const onlyThere of [false, true]) {
  const what = onlyThere ? 'a disk that refuses any step' : 'a crash at any step'
  test(`${what} of a return to an older version leaves every version whole`, async (context) => {
    const outcomes = new Set<string | undefined>()
    let steps = 0
    for (let step = 1; ; step += 1) {
      const directory = await temporaryDirectory(context)
      await writeTree(directory, three)
      const { files, calls } = failingFrom(step, onlyThere ? 'ENOSPC' : 'EIO', onlyThere)
      const kept = join(directory, 'plugins/.older/test--clock/kept')
      const failure = await swapIn(pluginPlaces(directory, files), clockPlugin, kept).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (calls() < step) break
      steps += 1
      if (onlyThere) {
        const expected = failure === undefined ? 'one' : 'three'
        assert.equal(await wholeVersions(directory, `step ${step}`), expected, 'what was told is so')
      }
      await recoverSwaps(pluginPlaces(directory), silentLogger)
      outcomes.add(await wholeVersions(directory, `step ${step}, after the start`))
      // Whatever came out, each of the three can be returned to.
      for (const version of ['one', 'two', 'three']) {
        for (const path of await keptPlaces(pluginPlaces(directory), clockPlugin)) {
          if ((await readTree(path))['init.lua'] !== version) continue
          await swapIn(pluginPlaces(directory), clockPlugin, path)
          break
        }
        assert.equal(await wholeVersions(directory, `step ${step}, back to ${version}`), version)
      }
    }
    assert.ok(steps >= 10, String(steps))
    assert.ok(
      outcomes.has('three') && [...outcomes].every((outcome) => outcome !== 'two'),
      [...outcomes].join(),
    )
    if (!onlyThere) assert.ok(outcomes.has('one'))
  })
}

test('a first installation that crashes leaves the whole plugin or nothing', async (context) => {
  for (let step = 1; ; step += 1) {
    const directory = await temporaryDirectory(context)
    await writeTree(directory, { [staged]: 'one' })
    const { files, calls } = failingFrom(step, 'EIO')
    const swap = swapIn(pluginPlaces(directory, files), clockPlugin, join(directory, 'plugins/.staging/one'))
    await swap.catch(() => undefined)
    await recoverSwaps(pluginPlaces(directory), silentLogger)
    const tree = await readTree(directory)
    assert.ok(Object.keys(tree).length === 0 || tree[current] === 'one', JSON.stringify(tree))
    if (calls() < step) break
  }
})

test('a disk that refuses any step of a swap is told of, and everything is as before', async (context) => {
  let refused = 0
  for (let step = 1; ; step += 1) {
    const directory = await temporaryDirectory(context)
    const before = { [current]: 'two', [previous]: 'one', [staged]: 'three' }
    await writeTree(directory, before)
    const { files, calls } = failingFrom(step, 'ENOSPC', true)
    const swap = swapIn(pluginPlaces(directory, files), clockPlugin, join(directory, 'plugins/.staging/one'))
    const failure = await swap.then(
      () => undefined,
      (error: unknown) => problemOf(Promise.reject(error)),
    )
    if (calls() < step) break
    const tree = await readTree(directory)
    if (failure === undefined) {
      // Only the deletion of what nobody needs any more may fail without a word.
      assert.equal(tree[current], 'three')
      continue
    }
    refused += 1
    assert.deepEqual(
      [failure.code, failure.message],
      [
        'storage_full',
        'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
      ],
    )
    assert.deepEqual(tree, before)
  }
  assert.ok(refused >= 4)
})

test('the start removes what was being fetched, and leaves plugins alone', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeTree(directory, { [current]: 'two', [previous]: 'one', [staged]: 'half of three' })
  await recoverSwaps(pluginPlaces(directory), silentLogger)
  assert.deepEqual(await readTree(directory), { [current]: 'two', [previous]: 'one' })
})

test('a start without plugins creates nothing', async (context) => {
  const directory = await temporaryDirectory(context)
  await mkdir(join(directory, 'empty'))
  await recoverSwaps(pluginPlaces(join(directory, 'empty')), silentLogger)
  assert.deepEqual(await systemFileSystem.readdir(join(directory, 'empty')), [])
})

function sorted(tree: Record<string, string | undefined>): [string, string | undefined][] {
  return Object.entries(tree).sort(([left], [right]) => (left < right ? -1 : 1))
}
