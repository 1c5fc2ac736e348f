import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('V8 marks beside the program, and takes compiled code, as before when workers have ended', async () => {
  const program = fileURLToPath(new URL('mark-after-end.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program])
  assert.match(stdout, /^refused false$/m)
  assert.match(stdout, /concurrent marking task/)
  assert.match(stdout, /^kept 40$/m)
})
