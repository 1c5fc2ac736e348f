import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** The files of the user interface, ready to be sent. */

export interface WebAsset {
  type: string
  content: Buffer
  compressed: Buffer
  /** Changes with the content. */
  tag: string
}

export interface WebAssets {
  page: WebAsset
  /** By the names under which the page asks for them. */
  files: ReadonlyMap<string, WebAsset>
}

let loaded: WebAssets | undefined

/** Read, or built, with the first request; a host that nobody looks at does not pay for it. */
export function webAssets(): WebAssets {
  loaded ??= prepare(import.meta.url.endsWith('.ts') ? buildFromSource() : readBuilt())
  return loaded
}

type Files = readonly { name: string; content: Buffer }[]

function readBuilt(): Files {
  const folder = new URL('./web/', import.meta.url)
  return readdirSync(folder).map((name) => ({ name, content: readFileSync(new URL(name, folder)) }))
}

/** Where the host runs from its TypeScript source, as in the tests, the same bundle is made in memory. */
function buildFromSource(): Files {
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild')
  const folder = new URL('../web/', import.meta.url)
  const options = JSON.parse(readFileSync(new URL('esbuild.json', folder), 'utf8')) as object
  const { outputFiles } = buildSync({
    ...options,
    entryPoints: [fileURLToPath(new URL('main.tsx', folder))],
    outdir: 'web',
    write: false,
    logLevel: 'silent',
  })
  return outputFiles.map(({ path, contents }) => ({ name: basename(path), content: Buffer.from(contents) }))
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

function prepare(found: Files): WebAssets {
  const files = new Map<string, WebAsset>()
  const names = { '.js': '', '.css': '' }
  for (const { name, content } of found) {
    const extension = extname(name)
    const type = types[extension]
    if (type === undefined) continue
    const asset = assetOf(content, type)
    // With the hash in its name a file never changes, and a browser need not ask for it again.
    const hashed = `${basename(name, extension)}-${asset.tag.slice(0, 12)}${extension}`
    files.set(hashed, asset)
    if (extension === '.js' || extension === '.css') names[extension] = hashed
  }
  return {
    page: assetOf(Buffer.from(pageText(names['.js'], names['.css'])), 'text/html; charset=utf-8'),
    files,
  }
}

function assetOf(content: Buffer, type: string): WebAsset {
  const tag = createHash('sha256').update(content).digest('hex')
  return { type, content, compressed: gzipSync(content, { level: 9 }), tag }
}

function pageText(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Lupine</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/${style}">
<script type="module" src="/assets/${script}"></script>
<div id="app"></div>
<noscript>This page needs JavaScript. Everything it shows is at /api, too.</noscript>
</html>
`
}
