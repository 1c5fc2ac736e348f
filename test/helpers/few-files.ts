import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'

/** The address of a module of the host's, for the text of a program. */
export const moduleAddress = (path: string): string =>
  JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/**
 * What a program prints that may have few files open. It has `fill()`, after which no file descriptor is left, and `release()`.
 * Skips the test where the limit cannot be set, and answers nothing then.
 */
export function printedWithFewFiles(context: TestContext, program: string): string | undefined {
  const limit = '--nofile=64:64'
  if (spawnSync('prlimit', [limit, 'true']).status !== 0) {
    context.skip('the limit of open files cannot be set here')
    return undefined
  }
  const text = `
    import { closeSync, openSync } from 'node:fs'
    import { devNull } from 'node:os'
    const opened = []
    function fill() {
      try { for (;;) opened.push(openSync(devNull)) } catch {}
    }
    function release() {
      for (const file of opened.splice(0)) closeSync(file)
    }
    ${program}`
  const command = [process.execPath, '--import', 'tsx', '--input-type=module', '--eval', text]
  const { stdout, stderr, status } = spawnSync('prlimit', [limit, ...command], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout
}
