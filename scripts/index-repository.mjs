// Writes the plugin list of a repository's `plugins.json` from the manifests in its folders, with the SHA-256 of
// every file that a host fetches. What stands above the list (name, namespace, …) stays as it was written.
//
//   node scripts/index-repository.mjs [--check] [folder]      (folder: default `repository`)
//
// With `--check` nothing is written: exit code 1 when the index is not what the files say.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const check = process.argv.includes('--check')
const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? 'repository'
const indexFile = join(folder, 'plugins.json')

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    console.error(`${path}: ${error.message}`)
    process.exit(1)
  }
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function entryOf(path) {
  const manifest = readJson(join(folder, path, 'plugin.json'))
  const files = manifest.files ?? ['init.lua']
  const documents = (manifest.docs ?? []).map(({ file }) => file)
  const fetched = ['plugin.json', ...files, ...documents]
  return {
    id: manifest.id,
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    author: manifest.author,
    path,
    tags: manifest.tags,
    minHostVersion: manifest.minHostVersion,
    files,
    sha256: Object.fromEntries(fetched.map((file) => [file, sha256(join(folder, path, file))])),
  }
}

const { plugins: _, ...head } = readJson(indexFile)
const folders = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()
const index = { ...head, plugins: folders.map(entryOf) }

// Formatting belongs to the formatter: only the content is compared.
const upToDate = JSON.stringify(readJson(indexFile)) === JSON.stringify(index)
if (check && !upToDate) {
  console.error(`${indexFile} does not match the plugins. Run: node scripts/index-repository.mjs ${folder}`)
  process.exit(1)
}
if (!check && !upToDate) writeFileSync(indexFile, `${JSON.stringify(index, null, 2)}\n`)
