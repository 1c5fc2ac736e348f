import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A folder of the test's own, removed after it. */
export async function temporaryDirectory(context: Pick<TestContext, 'after'>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'lupine-test-'))
  // Whatever is being closed at the same time may still write there.
  context.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}
