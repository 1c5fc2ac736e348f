import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { repairJournal } from '../../src/journal/repair/repair.ts'
import { knownEnd } from '../../src/journal/snapshot/known-end.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { runProgram } from '../helpers/host-process.ts'
import { openTestJournal } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import {
  command,
  openTestHost,
  startTestHost,
  type TestHost,
  type TestHostOptions,
} from '../helpers/test-host.ts'

/** Files of the host that somebody deleted, or that a restore forgot: what was lost is never passed over in silence. */

const config = { greeting: 'Moin' }

/** A data directory as a host has left it that was stopped in order, with one plugin that runs. */
async function stoppedHost(context: TestContext, options: TestHostOptions = {}): Promise<string> {
  const host = await startTestHost(options)
  context.after(() => host.close())
  await command(host, 'install', { fullId: '@fixtures/hello' })
  await command(host, '@fixtures/hello/config', { config })
  await command(host, '@fixtures/hello/toggle', { enabled: true })
  await host.host.close()
  const folder = await temporaryDirectory(context)
  const directory = join(folder, 'data')
  await cp(host.directory, directory, { recursive: true })
  await cp(host.repository, join(folder, 'repository'), { recursive: true })
  return directory
}

async function start(
  context: TestContext,
  directory: string,
  options: TestHostOptions = {},
): Promise<TestHost> {
  const host = await openTestHost(directory, join(directory, '..', 'repository'), options)
  context.after(() => host.close())
  return host
}

const remove = (directory: string, ...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => rm(join(directory, name))))

async function assertRefused(
  directory: string,
  message: RegExp,
  options: TestHostOptions = {},
): Promise<void> {
  const before = await readdir(directory)
  await assert.rejects(openTestHost(directory, directory, options), { name: 'StartError', message })
  assert.deepEqual(await readdir(directory), before)
}

async function repair(directory: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(['repair', '--data-dir', directory])
  assert.deepEqual([code, stderr], [0, ''])
  return stdout
}

/** As far as to where the damaged end of the journal would be cut off. */
async function interruptRepair(directory: string): Promise<void> {
  const { spare, ...known } = await knownEnd(systemFileSystem, directory, undefined)
  const files = failingFileSystem(
    (operation, path) => operation === 'truncate' || (operation === 'rm' && path.endsWith('.host.journal')),
  )
  const check = async (): Promise<void> => {
    await (await openTestJournal(directory, { ...known, whole: true })).close()
  }
  await assert.rejects(repairJournal(directory, files, 0, undefined, check, spare), { code: 'ENOSPC' })
  assert.ok(!(await readdir(directory)).includes('.host.checkpoint'))
}

async function assertHasPlugin(host: TestHost): Promise<void> {
  const { body } = await host.request('GET', '/api/plugins/@fixtures/hello')
  assert.deepEqual([body.state, body.config], ['running', config])
}

test('a host whose journal and .host.json are gone begins no new one beside its checkpoint; the repair has the settings', async (context) => {
  const directory = await stoppedHost(context)
  await remove(directory, '.host.journal', '.host.json')
  const says =
    /\.host\.journal and \.host\.json are gone, but a host has run here: \.host\.checkpoint is still there\. Put both back as they were\. .*lupine repair.* to begin with nothing, move \.host\.checkpoint away\.$/
  await assertRefused(directory, says)
  const key = join(directory, '..', 'key')
  await writeFile(key, 'ab'.repeat(32), { mode: 0o600 })
  const rotated = await runProgram(['rotate-key', '--data-dir', directory, '--secret-key-file', key])
  assert.equal(rotated.code, 1)
  assert.match(rotated.stderr.trim(), says)

  assert.match(await repair(directory), /^The journal is gone\. Made \.host\.json of \.host\.checkpoint/)
  await assertHasPlugin(await start(context, directory))
})

test('a host whose journal and .host.json are gone, and whose checkpoint says nothing, begins none either', async (context) => {
  const directory = await stoppedHost(context)
  await remove(directory, '.host.journal', '.host.json')
  await truncate(join(directory, '.host.checkpoint'), 100)
  await assertRefused(
    directory,
    /put both back as they were\. If they are lost: to begin with nothing, move \.host\.checkpoint away\.$/i,
  )
  await remove(directory, '.host.checkpoint')
  const host = await start(context, directory)
  assert.deepEqual((await host.request('GET', '/api/plugins')).body.plugins, [])
})

for (const [what, size] of [
  ['emptied', () => 0],
  ['cut after its first line', (text: string) => text.indexOf('\n') + 1],
] as const) {
  test(`a journal that was ${what} is not gone on with, where only the checkpoint can tell, and a repair that was interrupted is done again`, async (context) => {
    const directory = await stoppedHost(context)
    await remove(directory, '.host.json')
    const path = join(directory, '.host.journal')
    await truncate(path, size(await readFile(path, 'utf8')))
    await assertRefused(
      directory,
      /it ends here, but \.host\.checkpoint has seen \d+ events .*lupine repair.*takes the settings from \.host\.checkpoint\.$/,
    )
    const unreadable = failingFileSystem(
      (operation, file) => operation === 'readFile' && file.endsWith('.host.checkpoint') && 'EMFILE',
      { questions: true },
    )
    await assertRefused(directory, /\.host\.checkpoint cannot be used \(EMFILE\)/, { files: unreadable })
    await interruptRepair(directory)
    assert.match(await repair(directory), /^Cut the journal before line/)
    await assertHasPlugin(await start(context, directory))
  })
}

test('a last segment that is gone with .host.json is not passed over, with the checkpoint or without', async (context) => {
  const segments = { segmentBytes: 1_500 }
  const directory = await stoppedHost(context, segments)
  const without = join(directory, '..', 'without')
  await remove(directory, '.host.journal', '.host.json')
  await cp(directory, without, { recursive: true })
  await assertRefused(
    directory,
    /\.host\.journal\.\d+ is damaged .*it ends here, but \.host\.checkpoint has seen/,
    segments,
  )
  assert.match(await repair(directory), /^Cut the journal before line/)
  await assertHasPlugin(await start(context, directory, segments))

  await remove(without, '.host.checkpoint')
  const last =
    (await readdir(without))
      .filter((name) => name.startsWith('.host.journal.'))
      .sort()
      .at(-1) ?? ''
  await assertRefused(
    without,
    new RegExp(`${last} is still there\\. .* rename ${last} to \\.host\\.journal, and`),
    segments,
  )
  await rename(join(without, last), join(without, '.host.journal'))
  await start(context, without, segments)
})

test('a history that begins anew beside an older checkpoint is told, whatever .host.json says of it', async (context) => {
  const directory = await stoppedHost(context)
  await remove(directory, '.host.journal')
  const repositories = [{ name: 'fixtures', url: join(directory, '..', 'repository') }]
  await writeFile(join(directory, '.host.json'), JSON.stringify({ repositories }))
  const lines: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void lines.push(message) }
  await start(context, directory, { logger })
  assert.ok(lines.includes('There is no journal: the history begins anew, with what .host.json says'))
})

test('a host that begins a history beside files and values of plugins says which, and what to do; a first one says nothing', async (context) => {
  const directory = await stoppedHost(context)
  const warnings: unknown[] = []
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warnings.push(line) }
  const says = async (place: string): Promise<unknown[]> => {
    const host = await openTestHost(place, join(directory, '..', 'repository'), { logger })
    const { body } = await host.request('GET', '/api/plugins')
    await host.host.close()
    assert.deepEqual(body.plugins, [])
    return warnings.splice(0).filter((line) => /no journal/.test(JSON.stringify(line)))
  }
  const empty = join(directory, '..', 'empty')
  await mkdir(empty)
  assert.deepEqual(await says(empty), [])

  await mkdir(join(directory, '.kv'), { recursive: true })
  await writeFile(join(directory, '.kv', 'fixtures--lamp.json'), '')
  await mkdir(join(directory, 'plugins', 'by hand'))
  await remove(directory, '.host.journal', '.host.json', '.host.checkpoint')
  const [told, ...others] = (await says(directory)) as [string, object][]
  assert.deepEqual(others, [])
  assert.match(told?.[0] ?? '', /^There is no journal and no \.host\.json, so the history begins anew/)
  assert.deepEqual(told?.[1], { plugins: ['@fixtures/hello'], storedValues: ['@fixtures/lamp'] })
  // It has been told, and is the state of this host now.
  assert.deepEqual(await says(directory), [])
})
