import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moduleAddress, printedWithFewFiles } from '../helpers/few-files.ts'

test('that the networks of this machine are not told, while no file descriptor is left, is said with what to do', (context) => {
  const printed = printedWithFewFiles(
    context,
    `import { listNetworks } from ${moduleAddress('outside/networks.ts')}
    fill()
    let refusal
    try { listNetworks() } catch (error) { refusal = error }
    release()
    console.log(refusal.message, Object.keys(listNetworks()).length > 0)`,
  )
  if (printed !== undefined)
    assert.match(printed, /has too many files open; raise the limit \(ulimit -n\) true\n$/)
})
