import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { lazyImport } from '../../src/base/lazy-import.ts'
import { moduleAddress, printedWithFewFiles } from '../helpers/few-files.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('what is wanted is loaded once, and again only after it could not be loaded', async () => {
  let attempts = 0
  const load = lazyImport(async () => {
    attempts += 1
    if (attempts === 1) throw new Error('not now')
    return { attempts }
  })
  await assert.rejects(load(), /not now/)
  const [first, second] = await Promise.all([load(), load()])
  assert.deepEqual([first, second === first, await load()], [{ attempts: 2 }, true, first])
})

test('an import for which no file descriptor is left succeeds when there are some again', async (context) => {
  const part = join(await temporaryDirectory(context), 'part.mjs')
  await writeFile(part, 'export const loaded = true')
  const printed = printedWithFewFiles(
    context,
    `import { lazyImport } from ${moduleAddress('base/lazy-import.ts')}
    const load = lazyImport(() => import(${JSON.stringify(pathToFileURL(part).href)}))
    fill()
    const refused = await load().then(() => 'loaded', ({ code }) => code)
    release()
    console.log(refused, (await load()).loaded)`,
  )
  if (printed !== undefined) assert.equal(printed, 'EMFILE true\n')
})
