// Builds dist/: the host in one file, and the worker in another that starts fast because it carries all it needs.
import { rm } from 'node:fs/promises'
import { build } from 'esbuild'

const common = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  logLevel: 'warning',
}

await rm('dist', { recursive: true, force: true })
await Promise.all([
  build({ ...common, entryPoints: { main: 'src/main.ts' }, outdir: 'dist', packages: 'external' }),
  build({
    ...common,
    entryPoints: { worker: 'src/sandbox/worker/main.ts' },
    outdir: 'dist',
    // fengari is CommonJS and asks for Node's own modules by `require`.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  }),
])
