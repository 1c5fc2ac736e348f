import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('commands for a host that is stopped say so where no host has run, and leave nothing', async (context) => {
  const folder = await temporaryDirectory(context)
  const [directory, key] = [join(folder, 'data'), join(folder, 'key')]
  await mkdir(directory)
  await writeFile(key, 'ab'.repeat(32), { mode: 0o600 })
  for (const command of ['repair', 'rotate-key', 'decrypt']) {
    const { code, stdout, stderr } = await runProgram([
      command,
      ...['--data-dir', directory, '--secret-key-file', key],
    ])
    assert.deepEqual([code, stdout], [1, ''], command)
    assert.match(stderr, /^lupine: No host has run in .*data; name .* HOST_DATA_DIR \(--data-dir\)\.\n$/)
    assert.deepEqual(await readdir(directory), [])
  }
})
