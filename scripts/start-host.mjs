// Builds what has changed, and is the host then, in this same process: one more would take
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

// npm runs this by way of a shell. Some shells do not pass the signal on with which npm is ended, and nobody would end the host.
// One that was signalled beside its shell is stopping already: this signal hurries nobody.
if (process.env.npm_lifecycle_event === 'start') {
  const { ppid } = process
  const watch = setInterval(() => {
    if (process.ppid === ppid) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGHUP')
  }, 1_000)
  watch.unref()
}

await import('../dist/main.js')
