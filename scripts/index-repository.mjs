// Writes the plugin list of a repository's `plugins.json` from the manifests in its folders, with the SHA-256 of
// every file that a host fetches. What stands above the list (name, namespace, …) stays as it was written; what is
// not there comes from the folder's name.
//
//   node scripts/index-repository.mjs [--check] [folder]      (folder: default `repository`)
//
// With `--check` nothing is written: exit code 1 when the index is not what the files say.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

const check = process.argv.includes('--check')
const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? 'repository'
const indexFile = join(folder, 'plugins.json')

/** One line, and no trace of where in this script it was noticed. */
function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
process.on('uncaughtException', ({ message }) => fail(message))

const unknown = process.argv.slice(2).find((argument) => argument.startsWith('--') && argument !== '--check')
if (unknown !== undefined) fail(`${unknown} is not known; there is only --check`)
if (!existsSync(folder)) fail(`There is no folder ${folder}`)

function readJson(path) {
  try {
    // An editor may have put a byte order mark before it.
    return JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    return fail(`${path} cannot be used: ${error.message}`)
  }
}

/** `why`: what asks for this file. */
function sha256(path, why) {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch (error) {
    return fail(`${path} cannot be read (${error.code ?? error.message}); ${why}`)
  }
}

/** A short id or a full one, and a version, which a host fills up to three numbers. */
const idPattern = /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/
const namespacePattern = /^(?!.*--)[a-z0-9][a-z0-9._-]{0,63}$/
const versionPattern = /^\s*v?\d+(\.\d+){0,2}([-+]\S*)?\s*$/

function entryOf(path) {
  const place = join(folder, path, 'plugin.json')
  const manifest = readJson(place)
  const lists = [manifest?.files ?? [], manifest?.docs ?? []]
  if (manifest === null || !lists.every(Array.isArray))
    fail(`${place} is no manifest: see docs/plugin-api.md`)
  const files = namesOf(manifest.files ?? ['init.lua'])
  // The entry is one of them, whether the manifest names it or not.
  const fetched = new Set(['plugin.json', ...files, ...namesOf(manifest.docs ?? []), 'init.lua'])
  const whyOf = (file) => (file === 'init.lua' ? 'every plugin begins with it' : 'its plugin.json names it')
  const hashes = [...fetched].map((file) => [file, sha256(join(folder, path, file), whyOf(file))])
  // Without them no host takes the entry, and nobody but its users would hear of it.
  const missing = ['id', 'name', 'version'].filter((member) => (manifest[member] ?? '') === '')
  if (missing.length > 0) fail(`${place} has no ${missing.join(' and no ')}; see docs/plugin-api.md`)
  if (!idPattern.test(manifest.id))
    fail(`${place} has the id "${manifest.id}": small letters, digits, ".", "_" and "-" are possible`)
  if (!versionPattern.test(manifest.version))
    fail(`${place} has the version "${manifest.version}": it must be a semantic version, such as 1.2.3`)
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
    permissions: manifest.permissions,
    sha256: Object.fromEntries(hashes),
  }
}

/** As a host calls them: null is nothing, and `./init.lua` is `init.lua`. */
function namesOf(list) {
  return list
    .map((item) => item?.file ?? item)
    .filter((name) => typeof name === 'string')
    .map((name) => name.replace(/^(\.\/+)+/, ''))
}

/** What stands above the list of an index that does not say it. */
function headOfFolder() {
  const name = basename(resolve(folder))
  // As much of the name as a namespace may hold.
  const namespace = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64)
  return { version: 1, name, namespace: namespace === '' ? 'mine' : namespace }
}

const present = existsSync(indexFile) ? readJson(indexFile) : {}
if (typeof present !== 'object' || present === null || Array.isArray(present))
  fail(`${indexFile} is no index: it must be an object with a list of plugins, or not be there yet`)
const { plugins: listed, ...written } = present
const head = { ...written }
// Behind what is written: another order would be another file, with another signature.
for (const [member, value] of Object.entries(headOfFolder()))
  if ((head[member] ?? '') === '') head[member] = value
// No host takes an index with others.
const rules = [
  ['version', head.version === 1, '1'],
  ['name', typeof head.name === 'string', 'a text'],
  [
    'namespace',
    typeof head.namespace === 'string' && namespacePattern.test(head.namespace),
    'a text of small letters, digits, ".", "_" and single "-"',
  ],
]
for (const [member, isRight, what] of rules)
  if (!isRight) fail(`${indexFile} has the ${member} ${JSON.stringify(head[member])}: it must be ${what}`)
const folders = readdirSync(folder, { withFileTypes: true })
  // A folder without a manifest is something else: version control, say.
  .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'plugin.json')))
  .map(({ name }) => name)
  .sort()
const index = { ...head, plugins: folders.map(entryOf) }

// Formatting belongs to the formatter: only the content is compared.
const upToDate = listed !== undefined && JSON.stringify(present) === JSON.stringify(index)
if (check && !upToDate) {
  console.error(`${indexFile} does not match the plugins. Run: node scripts/index-repository.mjs ${folder}`)
  process.exit(1)
}
if (!check && !upToDate) writeFileSync(indexFile, `${JSON.stringify(index, null, 2)}\n`)
