import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** What a worker runs: a file, or the text of a program (`eval`). */
export interface WorkerProgram {
  program: URL | string
  eval: boolean
}

let fromSource: string | undefined

/**
 * The bundle beside the host's own. Where the host itself runs from its TypeScript source, as in the tests,
 * the same bundle is made in memory, once: it starts many times faster than loading every file through tsx.
 */
export function workerProgram(): WorkerProgram {
  if (!import.meta.url.endsWith('.ts'))
    return { program: new URL('./worker.js', import.meta.url), eval: false }
  fromSource ??= bundleSource()
  return { program: fromSource, eval: true }
}

function bundleSource(): string {
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild')
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('./worker/main.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    // A program that is given as text is CommonJS.
    format: 'cjs',
    target: 'node20',
    sourcemap: false,
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
