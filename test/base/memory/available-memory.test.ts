import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createAvailableMemory } from '../../../src/base/memory/available-memory.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

const mebibyte = 1024 * 1024
const ofMachine = 'MemTotal:  1048576 kB\nMemFree:  1024 kB\nMemAvailable:  524288 kB\nSwapFree:  102400 kB\n'

/** What Linux would say in these files. */
async function system(context: TestContext, files: Record<string, string>): Promise<string> {
  const root = await temporaryDirectory(context)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

async function megabytes(context: TestContext, files: Record<string, string>) {
  const found = createAvailableMemory(await system(context, files))()
  return found && { available: found.available / mebibyte, total: found.total / mebibyte }
}

test('without a limit it is what the machine has left, with its swap', async (context) => {
  const files = { 'proc/meminfo': ofMachine, 'proc/self/cgroup': '0::/\n' }
  assert.deepEqual(await megabytes(context, files), { available: 612, total: 1024 })
})

test('in a container it is what that may still have, and files that nobody needs in memory count as free', async (context) => {
  const group = {
    'memory.max': `${256 * mebibyte}\n`,
    'memory.high': 'max\n',
    'memory.current': `${200 * mebibyte}\n`,
    'memory.swap.max': '0\n',
    'memory.swap.current': '0\n',
    'memory.stat': `anon 1\ninactive_file ${30 * mebibyte}\nactive_file ${20 * mebibyte}\n`,
  }
  const files = Object.fromEntries(
    Object.entries(group).map(([name, text]) => [`sys/fs/cgroup/${name}`, text]),
  )
  const container = { 'proc/meminfo': ofMachine, 'proc/self/cgroup': '0::/docker/1f\n', ...files }
  assert.deepEqual(await megabytes(context, container), { available: 96, total: 256 })
  const throttled = { ...container, 'sys/fs/cgroup/memory.high': `${220 * mebibyte}\n` }
  assert.deepEqual(await megabytes(context, throttled), { available: 60, total: 220 })
  const swapping = { ...container, 'sys/fs/cgroup/memory.swap.max': `${64 * mebibyte}\n` }
  assert.deepEqual(await megabytes(context, swapping), { available: 160, total: 256 })
  const ofThisMachine = { ...swapping, 'sys/fs/cgroup/memory.swap.max': 'max\n' }
  assert.deepEqual(await megabytes(context, ofThisMachine), { available: 196, total: 256 })
})

test('what the system remembers of files and directories counts as free, as it does in the memory of the machine', async (context) => {
  const files = {
    'proc/meminfo': ofMachine,
    'proc/self/cgroup': '0::/\n',
    'sys/fs/cgroup/memory.max': `${256 * mebibyte}\n`,
    'sys/fs/cgroup/memory.current': `${250 * mebibyte}\n`,
    'sys/fs/cgroup/memory.swap.max': '0\n',
    'sys/fs/cgroup/memory.stat': `slab_reclaimable ${100 * mebibyte}\nslab_unreclaimable ${7 * mebibyte}\n`,
  }
  assert.deepEqual(await megabytes(context, files), { available: 6 + 50, total: 256 })
})

test('the limit of a group above counts, too', async (context) => {
  const files = {
    'proc/meminfo': ofMachine,
    'proc/self/cgroup': '0::/system.slice/lupine.service\n',
    'sys/fs/cgroup/system.slice/memory.max': `${300 * mebibyte}\n`,
    'sys/fs/cgroup/system.slice/memory.current': `${290 * mebibyte}\n`,
    'sys/fs/cgroup/system.slice/memory.swap.max': '0\n',
    'sys/fs/cgroup/system.slice/lupine.service/memory.max': 'max\n',
    'sys/fs/cgroup/system.slice/lupine.service/memory.current': `${90 * mebibyte}\n`,
  }
  assert.deepEqual(await megabytes(context, files), { available: 10, total: 300 })
})

test('control groups of the first version say it in other files', async (context) => {
  const files = {
    'proc/meminfo': ofMachine,
    'proc/self/cgroup': '5:cpu,cpuacct:/a\n4:memory:/docker/1f\n0::/\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    'sys/fs/cgroup/memory/memory.usage_in_bytes': `${900 * mebibyte}\n`,
    'sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes': `${384 * mebibyte}\n`,
    'sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes': `${380 * mebibyte}\n`,
    'sys/fs/cgroup/memory/docker/1f/memory.stat': `inactive_file 5\ntotal_inactive_file ${8 * mebibyte}\ntotal_active_file 0\n`,
  }
  assert.deepEqual(await megabytes(context, files), { available: 4 + 8 + 100, total: 384 })
  const noSwap = {
    ...files,
    'sys/fs/cgroup/memory/docker/1f/memory.memsw.limit_in_bytes': `${384 * mebibyte}\n`,
    'sys/fs/cgroup/memory/docker/1f/memory.memsw.usage_in_bytes': `${380 * mebibyte}\n`,
  }
  assert.deepEqual(await megabytes(context, noSwap), { available: 4 + 8, total: 384 })
})

test('where the system does not say there is no answer', async (context) => {
  assert.equal(await megabytes(context, {}), undefined)
  assert.equal(await megabytes(context, { 'proc/meminfo': 'MemTotal:  1048576 kB\n' }), undefined)
})
