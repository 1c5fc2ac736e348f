import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Where a part of the build is: beside the host's own program. Where the host itself runs from its TypeScript source, as
 * in the tests, the part is built first if its sources have changed.
 */
export function buildDirectory(part: 'worker' | 'web'): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('.', import.meta.url)
  const root = new URL('../../../', import.meta.url)
  const build = fileURLToPath(new URL('scripts/build.mjs', root))
  const { status, stderr } = spawnSync(process.execPath, [build, part], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`The ${part} could not be built: ${stderr}`)
  return new URL('dist/', root)
}
