// Builds dist/: the host in one file, the worker in another, and the user interface. The first two carry all
// they need, because looking up some hundred files takes longer than everything else that a start does.
import { readFile, rm } from 'node:fs/promises'
import { build } from 'esbuild'

const common = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  logLevel: 'warning',
  outdir: 'dist',
  // Packages in CommonJS ask for Node's own modules by `require`, and for their own place.
  banner: {
    js: [
      "import { createRequire as createRequireOfBundle } from 'node:module'",
      "import { dirname as dirnameOfBundle } from 'node:path'",
      "import { fileURLToPath as pathOfBundle } from 'node:url'",
      'const require = createRequireOfBundle(import.meta.url)',
      'const __filename = pathOfBundle(import.meta.url)',
      'const __dirname = dirnameOfBundle(__filename)',
    ].join('\n'),
  },
}

await rm('dist', { recursive: true, force: true })
await Promise.all([
  build({
    ...common,
    entryPoints: { main: 'src/main.ts' },
    // One finds its native part beside itself; the other is used from source alone.
    external: ['fs-native-extensions', 'esbuild'],
  }),
  build({ ...common, entryPoints: { worker: 'src/sandbox/worker/main.ts' } }),
  build({
    ...JSON.parse(await readFile('src/web/esbuild.json', 'utf8')),
    entryPoints: ['src/web/main.tsx'],
    outdir: 'dist/web',
    logLevel: 'warning',
  }),
])
