import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildDirectory } from '../../base/files/build-directory.ts'
import { lazily } from '../../base/lazily.ts'
import { escapeMarkup } from './escape-markup.ts'

/** The files of the user interface, ready to be sent. */

export interface WebAsset {
  type: string
  content: Buffer
  compressed: Buffer
  /** Changes with the content. */
  tag: string
}

export interface WebAssets {
  /** `basePath`: what all its addresses begin with. */
  page(basePath: string): WebAsset
  /** By the names under which the page asks for them. */
  files: ReadonlyMap<string, WebAsset>
}

/** Read with the first request; a host that nobody looks at does not pay for it. */
export const webAssets = lazily((): WebAssets => prepare(readBuilt()))

type Files = readonly { name: string; content: Buffer }[]

function readBuilt(): Files {
  const folder = new URL('web/', buildDirectory('web'))
  return readdirSync(folder).map((name) => ({ name, content: readFileSync(new URL(name, folder)) }))
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
    page: (basePath) =>
      assetOf(Buffer.from(pageText(basePath, names['.js'], names['.css'])), 'text/html; charset=utf-8'),
    files,
  }
}

function assetOf(content: Buffer, type: string): WebAsset {
  const tag = createHash('sha256').update(content).digest('hex')
  return { type, content, compressed: gzipSync(content, { level: 9 }), tag }
}

function pageText(basePath: string, script: string, style: string): string {
  const base = escapeMarkup(basePath)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<title>Lupine</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/assets/${style}">
<script type="module" src="${base}/assets/${script}"></script>
<div id="app"></div>
<noscript>This page needs JavaScript. Everything it shows is at ${base}/api, too.</noscript>
</html>
`
}
