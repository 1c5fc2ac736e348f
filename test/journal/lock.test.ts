import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { flockProgram, type KernelLock, nativeLock } from '../../src/journal/lock/kernel-lock.ts'
import { lockDirectory } from '../../src/journal/lock/lock.ts'
import { removalFile } from '../../src/journal/lock/process-lock-file.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const rooms = join(import.meta.dirname, '..', '..', 'src', 'journal', 'lock')

/** Each way to lock, and how a program of its own asks for it. */
const ways: { name: string; kernelLocks: KernelLock[]; program: string; file: string }[] = [
  {
    name: 'the native module',
    kernelLocks: [await nativeLock()],
    program: '[await nativeLock()]',
    file: '.host.lock',
  },
  { name: 'the program flock', kernelLocks: [flockProgram], program: '[flockProgram]', file: '.host.lock' },
  { name: 'a file with the number of the process', kernelLocks: [], program: '[]', file: '.host.lock.pid' },
]

for (const { name, kernelLocks, file } of ways) {
  test(`by ${name} a directory is locked once, and free again after the release`, async (context) => {
    const directory = await temporaryDirectory(context)
    const lock = await lockDirectory(directory, kernelLocks)
    assert.ok(lock)
    assert.deepEqual(await readdir(directory), [file])
    assert.equal(await lockDirectory(directory, kernelLocks), undefined)
    await lock.release()
    const again = await lockDirectory(directory, kernelLocks)
    assert.ok(again)
    await again.release()
  })

  test(`by ${name} a start that failed takes its lock file away`, async (context) => {
    const directory = await temporaryDirectory(context)
    const lock = await lockDirectory(directory, kernelLocks)
    await lock?.release({ withFile: true })
    assert.deepEqual(await readdir(directory), [])
  })
}

test('a process that is killed leaves no lock, in whichever way it held it', async (context) => {
  const held = await Promise.all(
    ways.map(async (way) => ({ ...way, directory: await temporaryDirectory(context) })),
  )
  const source = `
    const { lockDirectory } = await import(${JSON.stringify(join(rooms, 'lock.ts'))})
    const { flockProgram, nativeLock } = await import(${JSON.stringify(join(rooms, 'kernel-lock.ts'))})
    const locks = [${held.map(({ directory, program }) => `await lockDirectory(${JSON.stringify(directory)}, ${program})`).join(', ')}]
    console.log(locks.includes(undefined) ? 'refused' : 'locked')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [answer] = await once(child.stdout, 'data')
  assert.equal(String(answer).trim(), 'locked')
  for (const { name, directory, kernelLocks } of held)
    assert.equal(await lockDirectory(directory, kernelLocks), undefined, name)
  child.kill('SIGKILL')
  await once(child, 'exit')
  for (const { name, directory, kernelLocks } of held) {
    const lock = await lockDirectory(directory, kernelLocks)
    assert.ok(lock, name)
    await lock.release({ withFile: true })
  }
})

test('the lock of a file that a start which failed takes away just then counts for nothing', async (context) => {
  const directory = await temporaryDirectory(context)
  const native = await nativeLock()
  let isThere = true
  const late: KernelLock = (fileDescriptor) => {
    // It was open already.
    if (isThere) rmSync(join(directory, '.host.lock'))
    isThere = false
    return native(fileDescriptor)
  }
  const lock = await lockDirectory(directory, [late])
  assert.ok(lock)
  assert.equal(await lockDirectory(directory, [native]), undefined)
  await lock.release({ withFile: true })
  assert.deepEqual(await readdir(directory), [])
})

test('a lock file that cannot be looked at any more is not kept open', async (context) => {
  const parent = await temporaryDirectory(context)
  const directory = join(parent, 'data')
  await mkdir(directory)
  let ours: number | undefined
  const late: KernelLock = (fileDescriptor) => {
    ours = fileDescriptor
    renameSync(directory, join(parent, 'elsewhere'))
    writeFileSync(directory, '')
    return 'taken'
  }
  await assert.rejects(lockDirectory(directory, [late]), { code: 'ENOTDIR' })
  assert.throws(() => fstatSync(ours ?? -1), { code: 'EBADF' })
})

test('the lock of a file that was taken away counts for nothing where another host has made one in its place', async (context) => {
  const directory = await temporaryDirectory(context)
  const path = join(directory, '.host.lock')
  const native = await nativeLock()
  let other: number | undefined
  const late: KernelLock = (fileDescriptor) => {
    if (other === undefined) {
      rmSync(path)
      other = openSync(path, 'wx+')
      assert.equal(native(other), 'taken')
    }
    return native(fileDescriptor)
  }
  assert.equal(await lockDirectory(directory, [late]), undefined)
  assert.deepEqual(await readdir(directory), ['.host.lock'], 'it stays the other one’s')
  closeSync(other ?? -1)
  const lock = await lockDirectory(directory, [native])
  assert.ok(lock)
  await lock.release()
})

test('a directory whose lock file is another one each time is not taken', async (context) => {
  const directory = await temporaryDirectory(context)
  const replacing: KernelLock = () => {
    rmSync(join(directory, '.host.lock'))
    closeSync(openSync(join(directory, '.host.lock'), 'wx+'))
    return 'taken'
  }
  await assert.rejects(lockDirectory(directory, [replacing]), /lock is another file each time/)
})

test('where one way does not exist the next is taken', async (context) => {
  const directory = await temporaryDirectory(context)
  const lock = await lockDirectory(directory, [() => 'not available', await nativeLock()])
  assert.ok(lock)
  assert.equal(await lockDirectory(directory, [() => 'not available', await nativeLock()]), undefined)
  await lock.release()
})

test('the file of a process that has ended, of an earlier one of the same number, or without a word counts for nothing', async (context) => {
  const directory = await temporaryDirectory(context)
  const ended = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  await once(ended, 'exit')
  for (const content of [
    JSON.stringify({ pid: ended.pid, started: '' }),
    JSON.stringify({ pid: process.pid, started: 'another boot 17' }),
    '',
    '{"pid": "many"}',
  ]) {
    await writeFile(join(directory, '.host.lock.pid'), content)
    const lock = await lockDirectory(directory, [])
    assert.ok(lock, content)
    await lock.release()
  }
})

test('of many that find the file of a dead process one gets the directory', async (context) => {
  const directory = await temporaryDirectory(context)
  const path = join(directory, '.host.lock.pid')
  const dead = '{"pid": 1, "started": "another boot 17"}'
  for (let round = 0; round < 30; round += 1) {
    // Up to two have been killed before, while they removed such a file.
    let name = path
    for (let killed = round % 3; killed >= 0; killed -= 1) {
      await writeFile(name, dead)
      name = removalFile(name, dead)
    }
    const locks = await Promise.all(Array.from({ length: 8 }, () => lockDirectory(directory, [])))
    assert.equal(locks.filter((lock) => lock !== undefined).length, 1)
    await locks.find((lock) => lock !== undefined)?.release()
    assert.deepEqual(await readdir(directory), [])
  }
})
