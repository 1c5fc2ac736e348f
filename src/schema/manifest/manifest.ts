import Type, { type Static } from 'typebox'
import { isJsonObject } from '../../base/text/json.ts'
import { Problem, type ProblemDetail } from '../../base/problem.ts'
import { cutWarnings } from './cut-warnings.ts'
import {
  ConfigDefinition,
  ConfigSchemaEntry,
  definitionWarnings,
  fieldDefinitions,
  nestedFieldErrors,
} from './field-definition.ts'
import type { PluginIdentifier } from '../names/identifier.ts'
import { parseJsonText } from '../parsing/json-text.ts'
import { parseLeniently } from '../parsing/lenient.ts'
import { lenientManifestRules } from './lenient-manifest.ts'
import { consistencyErrors, pluginFileLimit } from './manifest-consistency.ts'
import { misspeltMembers } from './misspelt-members.ts'
import { escapePointer } from '../parsing/json-pointer.ts'
import { firstErrors } from '../parsing/error-quota.ts'
import { createErrorSearch, type ErrorSearch } from '../parsing/find-errors.ts'
import { createParser, type Parser } from '../parsing/parser.ts'
import { Permissions } from './permissions.ts'

/** Specification 2.1–2.5. Members that are not named here are kept as they are. */

/**
 * A path inside the plugin's directory: relative, forward slashes, no `.` or `..` segment, no control
 * character. `%2e`, `%2f`, `%5c` and `%00` are refused too: some servers decode a path twice.
 */
export const RelativePath = Type.String({
  maxLength: 255,
  pattern:
    '^(?!.*%(2[eEfF]|5[cC]|00))(?!\\.{1,2}(/|$))[^/\\\\\\u0000-\\u001f\\u007f\\ud800-\\udfff]+(/(?!\\.{1,2}(/|$))[^/\\\\\\u0000-\\u001f\\u007f\\ud800-\\udfff]+)*$',
  description: 'A relative path with forward slashes that does not leave the directory',
})

export const SemanticVersion = Type.String({
  description: 'A semantic version, such as 1.2.3',
  maxLength: 256,
  pattern:
    '^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$',
})

/** Any key. The usual pattern of records (`^.*$`) lets a key with a line break through unchecked. */
const anyKey = '^[\\s\\S]*$'
export const AnyKey = Type.String({ pattern: anyKey })

const SensorExport = Type.Object({
  id: Type.String({ minLength: 1, description: 'Id, or a template such as <device>_power' }),
  type: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  unit: Type.Optional(Type.String()),
})

const ControlExport = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.Optional(Type.String()),
  range: Type.Optional(
    Type.String({
      pattern: '^-?\\d+(\\.\\d+)?-(-?\\d+(\\.\\d+)?)$',
      description: 'A range <min>-<max>, such as 0-100',
    }),
  ),
})

const EventExport = Type.Object({
  name: Type.String({ minLength: 1 }),
  description: Type.Optional(Type.String()),
})

export const Exports = Type.Object(
  {
    objects: Type.Optional(Type.Record(AnyKey, Type.Object({ type: Type.Optional(Type.String()) }))),
    sensors: Type.Optional(Type.Array(SensorExport)),
    controls: Type.Optional(Type.Array(ControlExport)),
    events: Type.Optional(Type.Array(EventExport)),
  },
  { description: 'What the plugin makes available while it runs' },
)
export type Exports = Static<typeof Exports>

export const Document = Type.Object({ title: Type.String(), file: RelativePath })
export type Document = Static<typeof Document>

/** `"@ns/id"`, `"@ns/id@range"` or `{id, version, optional}`; without a namespace it is the plugin's own. */
export const Dependency = Type.Union(
  [
    Type.String({ pattern: '^(@[^/@]+/)?[^/@]+(@.+)?$' }),
    Type.Object({
      id: Type.String({ pattern: '^(@[^/@]+/)?[^/@]+$' }),
      version: Type.Optional(Type.String()),
      optional: Type.Optional(Type.Boolean({ description: 'It is no obstacle when it is not there' })),
    }),
  ],
  {
    description:
      'A plugin id ("@namespace/id"), with a version range ("@namespace/id@^1.2.0"), or {id, version, optional}',
  },
)
export type Dependency = Static<typeof Dependency>

export const Manifest = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: 130,
      description: 'The short id, or the full id @namespace/id',
    }),
    name: Type.String({ minLength: 1, description: 'Name that people see' }),
    version: SemanticVersion,
    description: Type.Optional(Type.String()),
    author: Type.Optional(Type.String()),
    homepage: Type.Optional(Type.String({ description: 'Address of the page about the plugin' })),
    license: Type.Optional(Type.String()),
    minHostVersion: Type.Optional(SemanticVersion),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'Words to find it by' })),
    dependencies: Type.Optional(
      Type.Array(Dependency, { description: 'Plugins that must be loaded before' }),
    ),
    permissions: Type.Optional(Permissions),
    files: Type.Optional(
      Type.Array(RelativePath, {
        maxItems: pluginFileLimit,
        description: 'Lua files; init.lua is the entry',
        default: ['init.lua'],
      }),
    ),
    configSchema: Type.Optional(
      Type.Array(ConfigSchemaEntry, { description: 'The fields of the configuration form, in order' }),
    ),
    config: Type.Optional(
      Type.Record(AnyKey, ConfigDefinition, { description: 'Definitions of configuration values by key' }),
    ),
    exports: Type.Optional(Exports),
    docs: Type.Optional(
      Type.Array(Document, {
        maxItems: pluginFileLimit,
        description: 'Documents that can be read in the UI',
      }),
    ),
  },
  { title: 'Lupine plugin manifest', description: 'plugin.json of a Lupine plugin' },
)
export type Manifest = Static<typeof Manifest> & {
  /** What was left out because it is broken, or does nothing; absent: nothing was. */
  warnings?: readonly ProblemDetail[]
}
/** Warnings of one manifest that are kept. */
const warningLimit = 50

/** For editors: completion and checks in `plugin.json`. */
export const manifestJsonSchema: unknown = editorSchema()

function editorSchema(): object {
  const { properties, ...schema } = JSON.parse(JSON.stringify(Manifest)) as {
    properties: Record<'configSchema' | 'config', object>
  }
  const { configSchema, config } = properties
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...schema,
    properties: {
      ...properties,
      configSchema: { ...configSchema, items: { $ref: '#/$defs/entry' } },
      config: { ...config, patternProperties: { [anyKey]: { $ref: '#/$defs/definition' } } },
    },
    $defs: fieldDefinitions,
  }
}

const parseShallowly = createParser(Manifest)

export const parseManifestShape: Parser<Manifest> = (value, search = createErrorSearch()) => {
  const parsed = parseShallowly(value, search)
  const nested = isJsonObject(value) ? firstErrors(nestedErrors(value, search)) : []
  const errors = [...(parsed.ok ? [] : parsed.errors), ...nested]
  return parsed.ok && errors.length === 0 ? parsed : { ok: false, errors }
}

function* nestedErrors(
  { configSchema, config }: Record<string, unknown>,
  search: ErrorSearch,
): Iterable<ProblemDetail> {
  const entries = Array.isArray(configSchema) ? configSchema : []
  for (const [index, entry] of entries.entries())
    yield* nestedFieldErrors(entry, `/configSchema/${index}`, search)
  for (const [key, definition] of isJsonObject(config) ? Object.entries(config) : [])
    yield* nestedFieldErrors(definition, `/config/${escapePointer(key)}`, search)
}

export const entryFile = 'init.lua'
export const manifestFile = 'plugin.json'

/** The Lua files of a plugin, each once. The entry is one of them, whether the manifest names it or not. */
export function luaFiles(manifest: Manifest): string[] {
  const named = manifest.files ?? []
  return [...new Set(named.includes(entryFile) ? named : [entryFile, ...named])]
}

/** Everything that belongs to an installed plugin: manifest, Lua files, documents; each once. */
export function allFiles(manifest: Manifest): string[] {
  return [...new Set([manifestFile, ...luaFiles(manifest), ...(manifest.docs ?? []).map(({ file }) => file)])]
}

/**
 * The manifest of the plugin `expected`, from the bytes of `plugin.json` or from their parsed JSON. What can be
 * done without is left out, with a warning; throws `manifest_invalid` with everything else, as JSON pointers.
 */
export function parseManifest(source: unknown, expected: PluginIdentifier): Manifest {
  const refuse = (what: string, errors: ProblemDetail[]): Problem =>
    new Problem('manifest_invalid', `The ${manifestFile} of ${expected.fullId} ${what}`, { errors })
  let value = source
  const errors: ProblemDetail[] = []
  if (source instanceof Uint8Array) {
    const json = parseJsonText(source)
    if (!json.ok) throw refuse(`${json.message}.`, [{ path: '', message: json.message }])
    value = json.value
    errors.push(...json.repeated.map((path) => ({ path, message: 'is there twice' })))
  }
  if (!isJsonObject(value)) {
    const kind = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
    throw refuse(`must be a JSON object, not ${kind}.`, [{ path: '', message: 'must be object' }])
  }
  const parsed = parseLeniently(parseManifestShape, value, lenientManifestRules)
  if (!parsed.ok) errors.push(...parsed.errors)
  errors.push(...identityErrors(value, expected))
  if (parsed.ok) errors.push(...consistencyErrors(parsed.value.value, allFiles(parsed.value.value)))
  if (parsed.ok && errors.length === 0) {
    const { value: manifest, warnings } = parsed.value
    return withWarnings(manifest, [
      ...warnings,
      ...cutWarnings(value, manifest),
      ...fieldWarnings(manifest),
      ...misspeltMembers(value, known),
    ])
  }
  throw refuse(`is invalid: ${summary(errors)}.`, errors)
}

/** The manifest, and what is wrong with it. A member of that name in the file says nothing. */
export function withWarnings(manifest: Manifest, warnings: readonly ProblemDetail[]): Manifest {
  if (warnings.length > 0) return { ...manifest, warnings: warnings.slice(0, warningLimit) }
  if (manifest.warnings === undefined) return manifest
  const { warnings: _, ...rest } = manifest
  return rest
}

const known = { manifest: Manifest, permissions: Permissions, field: fieldDefinitions.entry }

function fieldWarnings({ configSchema = [], config = {} }: Manifest): ProblemDetail[] {
  return [
    ...configSchema.flatMap((entry, index) => definitionWarnings(entry, `/configSchema/${index}`)),
    ...Object.entries(config).flatMap(([key, definition]) =>
      definitionWarnings(definition, `/config/${escapePointer(key)}`),
    ),
  ]
}

function summary(errors: readonly ProblemDetail[]): string {
  const [first, ...others] = errors
  if (first === undefined) return 'for an unknown reason'
  const text = `${first.path || 'it'} ${first.message}`
  return others.length === 0 ? text : `${text}, and ${others.length} more`
}

function identityErrors(
  { id }: Record<string, unknown>,
  { fullId, shortId }: PluginIdentifier,
): ProblemDetail[] {
  if (typeof id !== 'string' || id === '' || id === fullId || id === shortId) return []
  return [{ path: '/id', message: `must be "${shortId}" or "${fullId}"` }]
}
