import assert from 'node:assert/strict'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import type { Logger } from '../../src/base/log/log.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { makeTokenFile } from '../../src/maintenance/token-file.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startTestHost } from '../helpers/test-host.ts'

test('a token file is made for its owner alone, says how it is used, and is never overwritten', async (context) => {
  const directory = await temporaryDirectory(context)
  const own = join(directory, 'token')
  const data = join(directory, 'new', 'data')
  for (const [tokenFile, path] of [
    [own, own],
    [undefined, join(data, '.host.token')],
  ] as const) {
    const said = await makeTokenFile(systemFileSystem, { tokenFile, dataDirectory: data })
    const content = await readFile(path, 'utf8')
    assert.match(content, /^[\w-]{43}\n$/)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.ok(said.includes(`HOST_TOKEN_FILE=${path}`) && !said.includes(content.trim()), said)
    await assert.rejects(
      makeTokenFile(systemFileSystem, { tokenFile, dataDirectory: data }),
      new RegExp(`${path} is there already and was not changed`),
    )
    assert.equal(await readFile(path, 'utf8'), content)
    const host = await startTestHost({ settings: { tokenFile: path } })
    const ask = (authorization: string) => host.request('GET', '/api/plugins', { headers: { authorization } })
    assert.equal((await ask(`Bearer ${content.trim()}`)).status, 200)
    assert.equal((await ask('Bearer x')).status, 401)
    await host.close()
  }
})

test('a token file on a file system that keeps no rights is not said to be for its owner alone', async (context) => {
  const tokenFile = join(await temporaryDirectory(context), 'token')
  // As exFAT and NTFS are mounted on Linux by default: each file is everybody's.
  const files: FileSystem = {
    ...systemFileSystem,
    async open(...parameters) {
      const handle = await systemFileSystem.open(...parameters)
      await handle.chmod(0o777)
      return handle
    },
  }
  const said = await makeTokenFile(files, { tokenFile, dataDirectory: '.' })
  assert.match(
    said,
    /; others can use it, as its file system keeps no rights: mount it with umask=077, or put/,
  )
  assert.ok(!said.includes('only you can read it'), said)
})

test('a token file that is named as a folder is refused, as no host reads one', async (context) => {
  const directory = await temporaryDirectory(context)
  await assert.rejects(makeTokenFile(systemFileSystem, { tokenFile: directory, dataDirectory: directory }), {
    message: `${directory} is a folder; name a file in it.`,
  })
  assert.deepEqual(await readdir(directory), [])
})

test('a token for a data directory that cannot be made is refused with what to do', async (context) => {
  const directory = await temporaryDirectory(context)
  const file = join(directory, 'file')
  await writeFile(file, '')
  for (const [dataDirectory, code] of [
    [file, 'EEXIST'],
    [join(file, 'data'), 'ENOTDIR'],
  ] as const) {
    await assert.rejects(makeTokenFile(systemFileSystem, { tokenFile: undefined, dataDirectory }), {
      message: `${join(dataDirectory, '.host.token')} cannot be written (${code}): a file stands where its folder must be, so name another place.`,
    })
  }
})

test('half a token is not left behind by a full disk', async (context) => {
  const directory = await temporaryDirectory(context)
  for (const failing of ['writeFile', 'sync'] as const) {
    const files = failingFileSystem((operation) => operation === failing)
    await assert.rejects(
      makeTokenFile(files, { tokenFile: join(directory, 'token'), dataDirectory: directory }),
    )
    assert.deepEqual(await readdir(directory), [])
  }
})

/** What a host with this token warns of at its start. */
async function warningsWith(settings: {
  token?: string
  tokenFile?: string
  publicUrl?: string
}): Promise<string[]> {
  const lines: string[] = []
  const logger: Logger = { ...silentLogger, warn: (message) => lines.push(message) }
  await (await startTestHost({ settings, logger })).close()
  return lines.filter((line) => line.includes('token'))
}

test('a start without a token, or with one that can be guessed, tells the command that makes one', async (context) => {
  const file = join(await temporaryDirectory(context), 'token')
  await writeFile(file, 'short\n', { mode: 0o600 })
  const remedy = /"lupine token" makes one/
  const [none] = await warningsWith({})
  assert.match(none ?? '', /^There is no token: every program on this machine/)
  assert.match(none ?? '', remedy)
  for (const settings of [{ token: 'x'.repeat(15) }, { tokenFile: file }]) {
    const [short, ...more] = await warningsWith(settings)
    assert.match(short ?? '', /fewer than 16 characters/)
    assert.match(short ?? '', remedy)
    assert.deepEqual(more, [])
  }
  assert.deepEqual(await warningsWith({ token: 'x'.repeat(16), publicUrl: 'https://home.example.com' }), [])
  assert.equal((await warningsWith({ publicUrl: 'https://home.example.com' })).length, 2)
})
