// Builds dist/: the host in one file, the program of the workers in another with its code compiled, and the user
// interface. The first two carry all they need, because looking up some hundred files takes longer than everything
// else that a start does. What has not changed is not built again. Named parts (`main`, `worker`, `web`) are built alone.
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { fengariPlugin } from './fengari-for-worker.mjs'
import { fileSystemTime, isFresh, partNames, writeStamp } from './build-stamp.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const json = async (path) => JSON.parse(await readFile(path, 'utf8'))

const host = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  // Comments and blanks are half of the text, which stays in memory, and twice as large with one letter beyond Latin-1.
  // Names stay, and lines stay short: whoever reads a stack trace finds the place.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  legalComments: 'none',
  entryPoints: { main: 'src/launch.ts' },
  outdir: 'dist',
  // What is imported when it is first used is a file of its own, so that nobody else reads it.
  splitting: true,
  // The libraries want three versions of it, each with its own list of all types there are.
  alias: { 'mime-types': fileURLToPath(new URL('../node_modules/mime-types/index.js', import.meta.url)) },
  // They find their native parts beside themselves.
  external: ['classic-level', 'fs-native-extensions', 'serialport'],
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

const parts = {
  async main() {
    // What Node has compiled of the program before this one (`src/launch.ts`).
    await rm('dist/compile-cache', { recursive: true, force: true })
    return bundle({ ...host, plugins: [onlyUsedByHost] })
  },
  async worker() {
    const options = { ...(await json('src/sandbox/worker/esbuild.json')), outfile: 'dist/worker.js' }
    const program = await bundle({
      ...options,
      entryPoints: ['src/sandbox/worker/main.ts'],
      plugins: [fengariPlugin, onlyUsedByWorker],
    })
    const recorder = await bundle({
      ...host,
      splitting: false,
      sourcemap: false,
      entryPoints: ['src/sandbox/threads/record-code-cache.ts'],
    })
    const { recordCodeCache } = await imported(recorder.files[0])
    const [{ contents }] = program.files
    const files = [...program.files, { path: 'dist/worker.cache', contents: await recordCodeCache(contents) }]
    return { files, inputs: [...program.inputs, ...recorder.inputs] }
  },
  web: async () =>
    bundle({
      ...(await json('src/web/esbuild.json')),
      entryPoints: ['src/web/main.tsx'],
      outdir: 'dist/web',
    }),
}

/**
 * What is loaded with the first command and with the first request of a plugin holds up everybody else for as long. Bodies are
 * JSON here, so forms, uploads, old encodings and messages in fifty languages are left out; of the HTTP client all that is
 * built upon its connections.
 */
const onlyUsedByHost = {
  name: 'only-used-by-host',
  setup(build) {
    const replacements = {
      'co-body/lib/(any|form)': '',
      'koa-body/dist/esm/utils/parse-with-formidable': 'export default undefined',
      'iconv-lite/encodings/index': "module.exports = require('./internal')",
      'zod/v4/locales/index': "export { default as en } from './en.js'",
      'undici/index': `
        const Dispatcher = require('./lib/dispatcher/dispatcher')
        Object.assign(Dispatcher.prototype, require('./lib/api'))
        exports.Agent = require('./lib/dispatcher/agent')
        exports.Client = require('./lib/dispatcher/client')
        exports.EnvHttpProxyAgent = require('./lib/dispatcher/env-http-proxy-agent')
        exports.Pool = require('./lib/dispatcher/pool')
        exports.buildConnector = require('./lib/core/connect')`,
    }
    for (const [path, contents] of Object.entries(replacements))
      build.onLoad({ filter: new RegExp(`/node_modules/${path}\\.js$`) }, () => ({ contents }))
    // Types without an extension and a charset are never found in the list, and it is read by each start.
    build.onLoad({ filter: /\/node_modules\/mime-db\/db\.json$/ }, async ({ path }) => {
      const types = Object.entries(await json(path))
        .filter(([, { extensions, charset }]) => extensions ?? charset)
        .map(([type, { source, extensions, charset }]) => [type, { source, extensions, charset }])
      return { contents: JSON.stringify(Object.fromEntries(types)), loader: 'json' }
    })
    // So that esbuild sees what is used of it.
    const schemas = [/import \{ z \} from 'zod'/, "import * as z from 'zod'"]
    replaceIn(build, /koa-body\/dist\/esm\/types\.js$/, schemas)
  },
}

/** What no plugin needs of the libraries would be a tenth of the program of each worker. */
const onlyUsedByWorker = {
  name: 'only-used-by-worker',
  setup(build) {
    // XML knows five entities. The parser brings those of HTML too, which it takes only when it is not strict.
    const entities = /(sax\.ENTITIES = )Object\.assign\([^{]+\{[^}]*\}\)/
    // Strict documents without namespaces, in an engine that has all of its language: conditions that never hold.
    const never = /!parser\.strict\b|parser\.opt\.xmlns|!(String\.fromCodePoint|Object\.(create|keys))(?=\))/g
    // And a stream around itself.
    const streams = /^ {2}var Stream\n[^]*?(?=^ {2}\/\/ this really needs)/m
    replaceIn(
      build,
      /sax\/lib\/sax\.js$/,
      [entities, '$1sax.XML_ENTITIES'],
      [never, 'false'],
      [/^ {2}sax\.(SAXStream = SAXStream|createStream = createStream)$/gm, ''],
      [streams, ''],
    )
  },
}

/** Fails where there is nothing to replace: another version has it elsewhere. */
function replaceIn(build, filter, ...replacements) {
  build.onLoad({ filter }, async ({ path }) => {
    let contents = await readFile(path, 'utf8')
    for (const [text, replacement] of replacements) {
      const before = contents
      contents = before.replace(text, replacement)
      if (contents === before) throw new Error(`${path} has nothing like ${text}`)
    }
    return { contents }
  })
}

/** What comes of it, and all that it is made of. Nothing is written. */
async function bundle(options) {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    ...options,
    write: false,
    metafile: true,
    logLevel: 'warning',
  })
  return { files: outputFiles, inputs: Object.keys(metafile.inputs) }
}

/** The module in a file that is there only for that long. */
async function imported({ contents }) {
  const file = `dist/module.${process.pid}.mjs`
  await write({ path: file, contents })
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    await rm(file)
  }
}

/** Whoever reads a file meanwhile, or builds it too, has one that is whole. */
async function write({ path, contents }) {
  const temporary = `dist/${basename(path)}.${process.pid}.tmp`
  await mkdir(dirname(path), { recursive: true })
  const isProgram = contents[0] === 0x23 && contents[1] === 0x21
  await writeFile(temporary, contents, { mode: isProgram ? 0o777 : 0o666 })
  await rename(temporary, path)
}

async function make(part) {
  const began = fileSystemTime(part)
  const { files, inputs } = await parts[part]()
  await Promise.all(files.map(write))
  const outputs = files.map(({ path }) => relative('.', path))
  // Files that are no files, such as what stands for a module that a browser does not have.
  writeStamp(
    part,
    began,
    inputs.filter((path) => !/^\(?[a-z]+:/.test(path)),
    outputs,
  )
}

const named = process.argv.slice(2)
const unknown = named.find((part) => !partNames.includes(part))
if (unknown !== undefined) {
  console.error(`There is no part ${unknown}: name ${partNames.join(', ')}, or none for all.`)
  process.exit(2)
}
const wanted = named.length > 0 ? named : partNames
await Promise.all(wanted.filter((part) => !isFresh(part)).map(make))
