import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('workers that end while V8 compiles what they run do not take the process with them', async () => {
  const program = fileURLToPath(new URL('end-workers.ts', import.meta.url))
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--import', 'tsx', program, '--rounds', '200'])
  assert.equal(stdout, 'all ended\n')
})
