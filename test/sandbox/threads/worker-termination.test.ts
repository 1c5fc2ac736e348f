import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Processes of which the sum counts, at least, and at most where other programs have the processors. */
const fewest = 3
const most = 10
/**
 * How often V8 begins to mark beside the program for each collection. It is three times or more where it may, and once where it
 * may not: then its threads help while the program stands still.
 */
const wanted = 2.5

const countOf = (text: string, words: RegExp): number => text.match(words)?.length ?? 0

test('V8 marks beside the program, and takes compiled code, as before when workers have ended', async () => {
  const program = fileURLToPath(new URL('mark-after-end.ts', import.meta.url))
  let begun = 0
  let collections = 0
  for (let made = 0; made < most && (made < fewest || begun <= wanted * collections); made += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program])
    assert.match(stdout, /^refused false$/m)
    assert.match(stdout, /^kept 40$/m)
    begun += countOf(stdout, /Starting major concurrent marking task/g)
    collections += countOf(stdout, /Mark-(?:Compact|sweep)/gi)
  }
  assert.ok(begun > wanted * collections, `${begun} times for ${collections} collections`)
})
