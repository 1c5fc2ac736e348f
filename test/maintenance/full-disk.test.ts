import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { programPath, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const run = promisify(execFile)

interface Outcome {
  code: number
  stdout: string
  stderr: string
}

/** Repairs a copy of the files of `from` in a file system of this size, and lists what is there afterwards. */
async function repairOnDiskOf(kilobytes: number, mountPoint: string, from: string): Promise<Outcome> {
  const script =
    'mount -t tmpfs -o size="$1"k tmpfs "$2" && cp "$3"/.host.* "$2" && "$4" "$5" repair --data-dir "$2"; ' +
    'code=$?; ls -A "$2"; exit $code'
  const parts = ['-rm', 'sh', '-c', script, 'sh', String(kilobytes), mountPoint, from]
  return outcomeOf([...parts, process.execPath, programPath])
}

function outcomeOf(parts: string[]): Promise<Outcome> {
  return run('unshare', parts).then(
    (done) => ({ code: 0, ...done }),
    (error: unknown) => error as Outcome,
  )
}

test('a repair on a disk that is full says what to do, and leaves no half copy in the room that there is', async (context) => {
  const folder = await temporaryDirectory(context)
  const [data, small, repository] = ['data', 'small', 'repository'].map((name) => join(folder, name))
  assert.ok(data !== undefined && small !== undefined && repository !== undefined)
  await mkdir(small)
  const refused = await run('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', small]).catch(String)
  if (typeof refused === 'string') {
    context.skip(`mounting is not permitted here: ${refused}`)
    return
  }
  await writeFixtureRepository(repository, [{ id: 'quiet', lua: 'Plugin:new("quiet")' }])
  const host = await startHostProcess(data)
  context.after(() => host.stop('SIGKILL'))
  for (const [path, body] of [
    ['/api/repositories', { name: 'fixtures', url: repository }],
    ['/api/plugins/install', { fullId: '@fixtures/quiet' }],
    // Twice in the journal, and once in each of the others.
    ['/api/plugins/quiet/config', { config: { text: 'x'.repeat(60_000) } }],
    ['/api/plugins/quiet/config', { config: { text: 'y'.repeat(60_000) } }],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(host.http + path, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  await host.stop('SIGTERM')
  const journal = join(data, '.host.journal')
  await writeFile(journal, (await readFile(journal, 'utf8')).replace('HostReady', 'HostRaedy'))

  const names = ['.host.checkpoint', '.host.journal', '.host.json', '.host.lock', '.host.names']
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(data, name))).size))
  // They just fit: for the copy there is the room of the checkpoint, which is half of what it needs.
  const kilobytes = sizes.reduce((sum, size) => sum + 4 * Math.ceil(size / 4_096), 0)
  const { code, stdout, stderr } = await repairOnDiskOf(kilobytes, small, data)
  assert.equal(code, 1)
  assert.equal(
    stderr,
    'lupine: The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.\n',
  )
  assert.deepEqual(stdout.trim().split('\n').sort(), names.slice(1))
})

test('a key and a token that a full disk does not take say which file that is, and what to do, and leave none', async (context) => {
  const small = await temporaryDirectory(context)
  const refused = await run('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', small]).catch(String)
  if (typeof refused === 'string') {
    context.skip(`mounting is not permitted here: ${refused}`)
    return
  }
  const script =
    'mount -t tmpfs -o size=4k tmpfs "$1" && head -c 4096 /dev/zero > "$1/full" && place="$1" && shift && "$@"; ' +
    'code=$?; ls -A "$place"; exit $code'
  const file = join(small, 'file')
  for (const command of [
    ['secret-key', '--secret-key-file', file],
    ['token', '--token-file', file],
  ]) {
    const parts = ['-rm', 'sh', '-c', script, 'sh', small, process.execPath, programPath, ...command]
    const { code, stdout, stderr } = await outcomeOf(parts)
    const said = `lupine: ${file} cannot be written (ENOSPC): free some space on its disk.\n`
    assert.deepEqual([code, stdout, stderr], [1, 'full\n', said])
  }
})

test('a repair in a file system that has become read-only says so, and speaks of no permissions', async (context) => {
  const data = await temporaryDirectory(context)
  await writeFile(join(data, '.host.json'), '{}')
  const bind = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
  const refused = await run('unshare', ['-rm', 'sh', '-c', bind, 'sh', data]).catch(String)
  if (typeof refused === 'string') {
    context.skip(`mounting is not permitted here: ${refused}`)
    return
  }
  const script = `${bind} && "$2" "$3" repair --data-dir "$1"`
  const parts = ['-rm', 'sh', '-c', script, 'sh', data, process.execPath, programPath]
  const { code, stderr } = await outcomeOf(parts)
  const advice = 'The data directory is on a read-only file system; mount it writable and try again.'
  assert.deepEqual(
    [code, stderr],
    [1, `lupine: ${data} cannot be used as a data directory (EROFS): ${advice}\n`],
  )
})
