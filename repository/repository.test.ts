import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ConfigSchemaEntry } from '../src/schema/manifest/field-definition.ts'
import { entryFile, type Manifest, parseManifestShape } from '../src/schema/manifest/manifest.ts'
import { RepositoryIndex } from '../src/schema/manifest/repository-index.ts'
import { createParser } from '../src/schema/parsing/parser.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'repository')
const readJson = (...path: string[]): unknown => JSON.parse(readFileSync(join(root, ...path), 'utf8'))

const plugins = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

function manifestIn(...folders: string[]): Manifest {
  const parsed = parseManifestShape(readJson(...folders, 'plugin.json'))
  assert.ok(parsed.ok, JSON.stringify(parsed))
  return parsed.value
}

const manifestOf = (plugin: string): Manifest => manifestIn('repository', plugin)

test('the index is the one that the plugins make', () => {
  const script = join(root, 'scripts', 'index-repository.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script, '--check', folder], { encoding: 'utf8' })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
})

test('the index is one that the host accepts, and lists every plugin', () => {
  const parsed = createParser(RepositoryIndex)(readJson('repository', 'plugins.json'))
  assert.ok(parsed.ok, JSON.stringify(parsed))
  assert.deepEqual(
    parsed.value.plugins.map(({ id }) => id),
    plugins,
  )
})

test('the clock that a clone comes with is whole, in the version that its host file names', () => {
  const folders = ['plugins', 'starter--clock']
  const { version, files = [entryFile], docs = [] } = manifestIn(...folders)
  assert.deepEqual(
    readdirSync(join(root, ...folders)).sort(),
    ['plugin.json', ...files, ...docs.map(({ file }) => file)].sort(),
  )
  const host = readJson('.host.json') as { plugins: { installed: { id: string; version: string }[] } }
  assert.deepEqual(
    host.plugins.installed.map((entry) => [entry.id, entry.version]),
    [['@starter/clock', version]],
  )
})

for (const plugin of plugins) {
  test(`${plugin}: the manifest names every Lua file and its README`, () => {
    const { files = [entryFile], docs = [] } = manifestOf(plugin)
    const lua = readdirSync(join(folder, plugin)).filter((file) => file.endsWith('.lua'))
    assert.deepEqual([...files].sort(), lua.sort())
    assert.deepEqual(
      docs.map(({ file }) => file),
      ['README.md'],
    )
  })

  test(`${plugin}: every setting is explained, in the form and in the README`, () => {
    const readme = readFileSync(join(folder, plugin, 'README.md'), 'utf8')
    const top = manifestOf(plugin).configSchema ?? []
    const explained = (fields: readonly ConfigSchemaEntry[], outside: boolean): void => {
      for (const { key, type, label, description, required, default: fallback, fields: within } of fields) {
        assert.ok(type && label && description, key)
        // What rows of rows have is told in the line of the column.
        const table = outside ? new RegExp(`^\\| \`${key}\` +\\| ${type}`, 'm') : new RegExp(`\`${key}\``)
        assert.match(readme, table, `${key} is not in the settings table`)
        assert.ok(required !== undefined, key)
        assert.ok(fallback === undefined || typeof fallback === 'string', `${key}: the default is a string`)
        explained(within ?? [], outside && fields === top)
      }
    }
    explained(top, true)
  })

  test(`${plugin}: what the manifest exports is in the README`, () => {
    const readme = readFileSync(join(folder, plugin, 'README.md'), 'utf8')
    const { objects = {}, sensors = [], controls = [], events = [] } = manifestOf(plugin).exports ?? {}
    const names = [
      ...Object.keys(objects),
      ...[...sensors, ...controls].map(({ id }) => id),
      ...events.map(({ name }) => name),
    ]
    assert.deepEqual(
      names.filter((name) => !readme.includes(`\`${name}\``)),
      [],
    )
  })
}

test('no plugin carries what the host has', () => {
  const ofTheHost = ['jsonpath.lua', 'scaling.lua']
  const carried = plugins.filter((plugin) =>
    readdirSync(join(folder, plugin)).some((file) => ofTheHost.includes(file)),
  )
  assert.deepEqual(carried, [])
})
