// What `npm start` runs: builds what has changed, and is the host then, in this same process: one more would take
// longer than to look whether anything has changed.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isFresh, partNames } from './build-stamp.mjs'

if (!partNames.every(isFresh)) {
  // Apart from the host, which would keep the builder in its memory.
  const builder = fileURLToPath(new URL('build.mjs', import.meta.url))
  const { status } = spawnSync(process.execPath, [builder], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
await import('../dist/main.js')
