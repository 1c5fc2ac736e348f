import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockDirectory } from '../../src/journal/lock.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('a directory is locked once, and free again after the release', async (context) => {
  const directory = await temporaryDirectory(context)
  const lock = await lockDirectory(directory)
  assert.ok(lock)
  assert.equal(await lockDirectory(directory), undefined)
  await lock.release()
  const again = await lockDirectory(directory)
  assert.ok(again)
  await again.release()
})

test('a start that failed takes its lock file away', async (context) => {
  const directory = await temporaryDirectory(context)
  const lock = await lockDirectory(directory)
  await lock?.release({ withFile: true })
  assert.deepEqual(await readdir(directory), [])
})

test('a process that is killed leaves no lock', async (context) => {
  const directory = await temporaryDirectory(context)
  const module = join(import.meta.dirname, '..', '..', 'src', 'journal', 'lock.ts')
  const program = `
    const { lockDirectory } = await import(${JSON.stringify(module)})
    console.log(await lockDirectory(process.argv[1]) === undefined ? 'refused' : 'locked')
    setInterval(() => {}, 1000)`
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', program, directory],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [answer] = await once(child.stdout, 'data')
  assert.equal(String(answer).trim(), 'locked')
  assert.equal(await lockDirectory(directory), undefined)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = await lockDirectory(directory)
  assert.ok(lock)
  await lock.release()
})
