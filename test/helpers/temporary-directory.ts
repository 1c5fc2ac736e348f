import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A folder of the test's own, removed after it. */
export async function temporaryDirectory(context: Pick<TestContext, 'after'>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-test-'))
  context.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}
