import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { createKeyRing } from '../../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import { snapshotOf } from '../../../src/journal/snapshot/snapshot.ts'
import { decodeStore } from '../../../src/lifecycle/stores/key-value-file.ts'
import { namespace } from './world.ts'

/** What has to be so on disk, whenever a host was killed. */

/** More old versions of a plugin than this were forgotten there. */
const mostOlderVersions = 3

export async function namesIn(path: string): Promise<string[]> {
  return (await readdir(path).catch(() => [])).sort()
}

/**
 * `.host.json` is whole, and says what the journal says up to the event that it names. With `latest` that is the
 * last one. Undefined before the host has written it for the first time.
 */
export async function assertSnapshotIsFold(data: string, latest = false): Promise<void> {
  const text = await readFile(join(data, '.host.json'), 'utf8')
  assert.notEqual(text.trim(), '', '.host.json is empty')
  const file = JSON.parse(text) as { journal?: { seq: number; event: string } }
  if (file.journal === undefined) return
  const settings = {
    directory: data,
    files: systemFileSystem,
    clock: systemClock,
    logger: silentLogger,
    acknowledged: file.journal.seq,
  }
  const journal = await openJournal(settings)
  const whole = await openJournal({ ...settings, whole: true })
  try {
    const states = [journal, whole].map(({ state }) => JSON.stringify([state.host, [...state.plugins]]))
    assert.equal(states[0], states[1], 'the checkpoint with what follows it is the fold of all')
    const { seq } = file.journal
    const fold: unknown = JSON.parse(
      JSON.stringify(snapshotOf(journal.stateAt(seq), {}, journal.eventId(seq))),
    )
    assert.deepEqual(file, fold)
    if (latest) assert.equal(seq, journal.state.seq)
  } finally {
    await journal.close()
    await whole.close()
  }
}

/** Starts in a row that did not reach ready, counted from the lines themselves. */
export async function unfinishedStarts(data: string): Promise<number> {
  const names = (await namesIn(data)).filter((name) => /^\.host\.journal(?:\.\d+)?$/.test(name))
  // In the order of the numbers: the one without a number is the last.
  const files = [...names.slice(1), ...names.slice(0, 1)].map((name) => readFile(join(data, name), 'utf8'))
  const text = (await Promise.all(files)).join('')
  let count = 0
  let starting = false
  for (const line of text.split('\n').slice(0, -1)) {
    const { type, data: fields } = JSON.parse(line) as { type: string; data: { failed?: boolean } }
    if (type === 'HostStarted') {
      count += 1
      starting = true
    } else if (type === 'HostReady') {
      count = 0
      starting = false
    } else if (type === 'HostStopping' && starting && fields.failed !== true) {
      count -= 1
      starting = false
    }
  }
  return count
}

/** How far the plugin's store has counted; 0 without a store. */
export async function countOf(data: string, id: string): Promise<number> {
  const path = join(data, '.kv', `${namespace}--${id}.json`)
  const bytes = await readFile(path).catch(() => undefined)
  if (bytes === undefined) return 0
  const value = decodeStore(`@${namespace}/${id}`, bytes, createKeyRing([])).get('count')?.value
  if (value === undefined) return 0
  const { n, twice, text } = value as { n: number; twice: number; text: string }
  assert.deepEqual([twice, text.length], [n * 2, n % 400], 'a stored value is whole')
  return n
}

/** Nothing but what belongs there; after a start also no file of a write that was interrupted. */
export async function assertNothingLeftOver(data: string, started: boolean): Promise<void> {
  const files = ['.host.json', '.host.journal', '.host.checkpoint', '.host.names']
  const allowed = new Set([...files, '.host.lock', '.kv', '.purging', 'plugins'])
  const extra = (await namesIn(data)).filter(
    (name) => !allowed.has(name) && !/^\.host\.journal\.\d+$/.test(name),
  )
  const interrupted = files.map((name) => `${name}.tmp`)
  assert.deepEqual(extra, started ? [] : extra.filter((name) => interrupted.includes(name)))
  if (!started) return
  assert.deepEqual(await namesIn(join(data, '.purging')), [], 'an uninstallation came to its end')
  for (const place of ['.staging', '.swap']) {
    assert.deepEqual(await namesIn(join(data, 'plugins', place)), [], place)
  }
  const older = join(data, 'plugins', '.older')
  for (const name of await namesIn(older)) {
    const count = (await namesIn(join(older, name))).length
    assert.ok(count <= mostOlderVersions, `${count} old versions of ${name}`)
  }
}

/** After a stop in order. */
export async function assertNoTemporaryFiles(data: string): Promise<void> {
  const names = await readdir(data, { recursive: true })
  assert.deepEqual(
    names.filter((name) => name.endsWith('.tmp')),
    [],
  )
}

/** Each directory of a plugin, present or kept, has all its files, of one version. */
export async function assertWholePlugins(data: string): Promise<void> {
  const plugins = join(data, 'plugins')
  const present = (await namesIn(plugins)).filter((name) => !name.startsWith('.'))
  const previous = await namesIn(join(plugins, '.previous'))
  const older = await namesIn(join(plugins, '.older'))
  const folders = [...present, ...previous.map((name) => join('.previous', name))]
  for (const name of older) {
    folders.push(...(await namesIn(join(plugins, '.older', name))).map((one) => join('.older', name, one)))
  }
  for (const folder of folders) await versionIn(join(plugins, folder))
}

/** The version of the files in a plugin's directory. */
export async function versionIn(folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'plugin.json'), 'utf8')) as { version: string }
  assert.match(
    await readFile(join(folder, 'init.lua'), 'utf8'),
    new RegExp(`^-- version ${version}\n.*end\\)\n$`, 's'),
  )
  assert.equal(await readFile(join(folder, 'README.md'), 'utf8'), `version ${version}`)
  return version
}
