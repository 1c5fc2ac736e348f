import assert from 'node:assert/strict'
import { readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { type Logger, silentLogger } from '../../src/base/log/log.ts'
import { snapshotRetryDelay } from '../../src/journal/snapshot/snapshot-writer.ts'
import { until } from '../helpers/until.ts'
import { type DiskError, failingFileSystem } from '../helpers/failing-file-system.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { installAndStart, openTestHost, startHostFor, startTestHost } from '../helpers/test-host.ts'

const cases: [DiskError, RegExp][] = [
  ['ENOSPC', /^the journal cannot be written: The disk of the data directory is full; free some space/],
  ['EROFS', /^the journal cannot be written: The data directory is on a read-only file system/],
  ['EIO', /^the journal cannot be written: The disk of the data directory reports an error/],
]

for (const [code, says] of cases) {
  test(`a disk that refuses what the journal writes (${code}) is told by /readyz, until it takes something again`, async (context) => {
    let refusing = false
    let hasTried = false
    const clock = createManualClock()
    const files = failingFileSystem((operation, path) => {
      if (!refusing || (operation !== 'write' && operation !== 'writeFile')) return false
      if (path.includes('.host.json')) hasTried = true
      return code
    })
    const host = await startHostFor(context, { clock, files })
    const install = () =>
      host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
    const ready = () => host.request('GET', '/readyz')
    refusing = true
    assert.equal((await install()).status, 507)
    const refused = await ready()
    assert.deepEqual([refused.status, refused.body.reasons.length], [503, 1])
    assert.match(refused.body.reasons[0], says)

    // Nobody sends a command: the host finds out by itself.
    clock.advance(snapshotRetryDelay)
    await until('a try', async () => hasTried)
    assert.equal((await ready()).status, 503)
    refusing = false
    await until('a host in order', async () => {
      clock.advance(snapshotRetryDelay)
      return (await ready()).status === 200
    })

    // Or a command comes before.
    refusing = true
    assert.equal((await install()).status, 507)
    assert.equal((await ready()).status, 503)
    refusing = false
    assert.equal((await install()).status, 201)
    assert.deepEqual((await ready()).body.reasons, [])
  })
}

test('an end that cannot be written down is told once, in words about the disk', async (context) => {
  let refusing = false
  const files = failingFileSystem((operation, path) =>
    refusing && operation === 'write' && path.endsWith('.host.journal') ? 'ENOSPC' : false,
  )
  const told: unknown[] = []
  const error: Logger['error'] = (message, fields) => void told.push([message, fields?.error])
  const { host } = await startHostFor(context, { files, logger: { ...silentLogger, error } })
  refusing = true
  await host.close()
  const ends = told.filter((one) => String(one).startsWith('The end of the host'))
  assert.equal(ends.length, 1, String(told))
  assert.match(String(ends), /disk of the data directory is full/)
})

test('a journal that may not grow any further is told by /readyz until it may, whatever else is written', async (context) => {
  let refusing = false
  const clock = createManualClock()
  let isWritten = false
  const files = failingFileSystem((operation, path) => {
    if (refusing && operation === 'rename' && path.endsWith('.host.json')) isWritten = true
    return refusing && operation === 'write' && path.endsWith('.host.journal') ? 'EFBIG' : false
  })
  const host = await startHostFor(context, { clock, files })
  const install = () => host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  refusing = true
  assert.equal((await install()).status, 507)
  clock.advance(snapshotRetryDelay)
  await until('another file', async () => isWritten)
  const { status, body } = await host.request('GET', '/readyz')
  assert.deepEqual([status, body.reasons.length], [503, 1])
  refusing = false
  assert.equal((await install()).status, 201)
  assert.equal((await host.request('GET', '/readyz')).status, 200)
})

for (const [name, call] of [
  ['.kv', 'readdir'],
  ['plugins', 'rm'],
] as const) {
  test(`a folder of the data directory that is another user's (${name}) ends the start with its path and what to do`, async () => {
    const refuse = (path: string): void => {
      if (!path.includes(`/data/${name}`)) return
      throw Object.assign(new Error(`EACCES: permission denied, ${call} '${path}'`), { code: 'EACCES' })
    }
    const refusing = async (...given: unknown[]): Promise<unknown> => {
      refuse(String(given[0]))
      return Reflect.apply(systemFileSystem[call], systemFileSystem, given) as unknown
    }
    await assert.rejects(startTestHost({ files: { ...systemFileSystem, [call]: refusing } }), {
      name: 'StartError',
      message: new RegExp(`give its user the right to and try again\\. \\(EACCES: .*/data/${name}`),
    })
  })
}

test('a folder of the plugins that is another user’s, and is given back after many tries, costs nobody their plugins', async (context) => {
  const host = await startHostFor(context, {})
  await installAndStart(host, 'hello')
  await host.host.close()
  const journal = () => readFile(join(host.directory, '.host.journal'), 'utf8')
  const before = await journal()
  const start = async (call: 'readdir' | 'rm', place: string) => {
    const refusing = async (...given: unknown[]): Promise<unknown> => {
      if (String(given[0]).endsWith(place))
        throw Object.assign(new Error(`EACCES: permission denied, ${call} '${String(given[0])}'`), {
          code: 'EACCES',
        })
      return Reflect.apply(systemFileSystem[call], systemFileSystem, given) as unknown
    }
    const files = { ...systemFileSystem, [call]: refusing }
    await assert.rejects(openTestHost(host.directory, host.repository, { files }), { name: 'StartError' })
  }
  for (const place of ['.swap', '.previous', '.older']) await start('readdir', place)
  assert.equal(await journal(), before)
  // What is in the way only when it is removed is met later.
  for (let tries = 0; tries < 4; tries += 1) await start('rm', '.staging')
  const again = await host.restart()
  assert.equal(again.host.lifecycle.safeMode, null)
  assert.equal((await again.request('GET', '/api/plugins/hello')).body.state, 'running')
})

for (const name of ['plugins', '.kv']) {
  test(`a file in the place of a folder of the data directory (${name}) ends the start with its path and what to do`, async (context) => {
    const directory = await temporaryDirectory(context)
    await writeFile(join(directory, name), '')
    await assert.rejects(openTestHost(directory, directory, {}), {
      name: 'StartError',
      message: new RegExp(
        `^The host cannot start in .*: Something else is where a folder of the data directory should be; move it away and try again\\. \\(ENOTDIR.*/${name}`,
      ),
    })
    assert.equal(await readFile(join(directory, name), 'utf8'), '')
  })
}

test('a link that leads nowhere in the place of the folder of the plugins ends the start with its path and what to do', async (context) => {
  const directory = await temporaryDirectory(context)
  await symlink('away', join(directory, 'plugins'))
  await assert.rejects(openTestHost(directory, directory, {}), {
    name: 'StartError',
    message:
      /^The host cannot start in .*: Something else is where the folder plugins of the data directory should be .*; move it away, or put back what it leads to, and try again\. \(EEXIST.*\/plugins/,
  })
  assert.equal(await readlink(join(directory, 'plugins')), 'away')
})

test('what takes the place of a folder while the host runs is told to whoever asks for what needs it, and loses nothing', async (context) => {
  const host = await startHostFor(context, {})
  const install = () => host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  const says = (name: string): RegExp =>
    new RegExp(
      `^Something else is where the folder ${name.replace('.', '\\.')} of the data directory should be .*; move it away, or put back what it leads to, and try again\\.$`,
    )
  const plugins = join(host.directory, 'plugins')
  await symlink('away', plugins)
  const refused = await install()
  assert.equal(refused.status, 507)
  assert.match(refused.body.detail, says('plugins'))
  await rm(plugins)
  assert.equal((await install()).status, 201)

  const purging = join(host.directory, '.purging')
  await writeFile(purging, 'mine')
  const purge = () => host.request('DELETE', '/api/plugins/hello?purge=files')
  const kept = await purge()
  assert.equal(kept.status, 507)
  assert.match(kept.body.detail, says('.purging'))
  assert.equal(await readFile(purging, 'utf8'), 'mine')
  assert.equal((await host.request('GET', '/api/plugins/hello')).status, 200)
  await rm(purging)
  assert.equal((await purge()).status, 200)
})
