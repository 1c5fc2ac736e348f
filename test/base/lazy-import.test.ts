import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { lazyImport } from '../../src/base/lazy-import.ts'
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
  const within = ['--nofile=64:64', process.execPath, '--import', 'tsx', '--input-type=module', '--eval']
  if (spawnSync('prlimit', ['--nofile=64:64', 'true']).status !== 0) {
    context.skip('the limit of open files cannot be set here')
    return
  }
  const part = join(await temporaryDirectory(context), 'part.mjs')
  await writeFile(part, 'export const loaded = true')
  const script = `
    import { closeSync, openSync } from 'node:fs'
    import { devNull } from 'node:os'
    import { lazyImport } from ${JSON.stringify(new URL('../../src/base/lazy-import.ts', import.meta.url).href)}
    const load = lazyImport(() => import(${JSON.stringify(pathToFileURL(part).href)}))
    const opened = []
    try { for (;;) opened.push(openSync(devNull)) } catch {}
    const refused = await load().then(() => 'loaded', ({ code }) => code)
    for (const file of opened) closeSync(file)
    console.log(refused, (await load()).loaded)
  `
  const { stdout, stderr } = spawnSync('prlimit', [...within, script], { encoding: 'utf8' })
  assert.equal(stdout, 'EMFILE true\n', stderr)
})
