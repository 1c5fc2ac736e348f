import Type, { type Static } from 'typebox'
import { createParser } from './parser.ts'

/** Specification 2.1–2.5. Members that are not named here are kept as they are. */

/** A path inside the plugin's directory: relative, forward slashes, no `.` or `..` segment, no NUL. */
export const RelativePath = Type.String({
  minLength: 1,
  maxLength: 255,
  // Each segment: not empty, not `.` or `..`, free of backslashes and control characters.
  pattern: '^(?!\\.{1,2}(/|$))[^/\\\\\\u0000-\\u001f]+(/(?!\\.{1,2}(/|$))[^/\\\\\\u0000-\\u001f]+)*$',
})

export const SemanticVersion = Type.String({
  description: 'A semantic version, such as 1.2.3',
  pattern:
    '^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$',
})

export const FieldType = Type.Union([Type.Literal('string'), Type.Literal('number'), Type.Literal('boolean')])
export type FieldType = Static<typeof FieldType>

export const ConfigSchemaEntry = Type.Object({
  key: Type.String({ minLength: 1 }),
  type: Type.Optional(FieldType),
  label: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean()),
  default: Type.Optional(Type.Unknown({ description: 'A string even for number and boolean fields' })),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  enum: Type.Optional(Type.Array(Type.Unknown())),
  env: Type.Optional(Type.String({ minLength: 1 })),
  secret: Type.Optional(Type.Boolean()),
})

export const ConfigDefinition = Type.Object({
  type: Type.Optional(FieldType),
  label: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean()),
  default: Type.Optional(Type.Unknown()),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  enum: Type.Optional(Type.Array(Type.Unknown())),
  env: Type.Optional(Type.String({ minLength: 1 })),
  secret: Type.Optional(Type.Boolean()),
})

export const SensorExport = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.String(),
  description: Type.Optional(Type.String()),
  unit: Type.Optional(Type.String()),
})

export const ControlExport = Type.Object({
  id: Type.String({ minLength: 1 }),
  type: Type.String(),
  range: Type.Optional(
    Type.String({ pattern: '^-?\\d+(\\.\\d+)?-(-?\\d+(\\.\\d+)?)$', description: '<min>-<max>' }),
  ),
})

export const EventExport = Type.Object({
  name: Type.String({ minLength: 1 }),
  description: Type.Optional(Type.String()),
})

export const Exports = Type.Object({
  objects: Type.Optional(Type.Record(Type.String(), Type.Object({ type: Type.Optional(Type.String()) }))),
  sensors: Type.Optional(Type.Array(SensorExport)),
  controls: Type.Optional(Type.Array(ControlExport)),
  events: Type.Optional(Type.Array(EventExport)),
})
export type Exports = Static<typeof Exports>

export const Document = Type.Object({ title: Type.String(), file: RelativePath })
export type Document = Static<typeof Document>

/** `"@ns/id"`, `"@ns/id@range"`, or `{id, version}`. */
export const Dependency = Type.Union([
  Type.String({ pattern: '^@[^/@]+/[^/@]+(@.+)?$' }),
  Type.Object({ id: Type.String({ pattern: '^@[^/@]+/[^/@]+$' }), version: Type.Optional(Type.String()) }),
])
export type Dependency = Static<typeof Dependency>

export const Manifest = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 130 }),
    name: Type.String({ minLength: 1 }),
    version: SemanticVersion,
    description: Type.Optional(Type.String()),
    author: Type.Optional(Type.String()),
    homepage: Type.Optional(Type.String()),
    license: Type.Optional(Type.String()),
    minHostVersion: Type.Optional(SemanticVersion),
    tags: Type.Optional(Type.Array(Type.String())),
    dependencies: Type.Optional(Type.Array(Dependency)),
    files: Type.Optional(Type.Array(RelativePath, { minItems: 1, maxItems: 200 })),
    configSchema: Type.Optional(Type.Array(ConfigSchemaEntry)),
    config: Type.Optional(Type.Record(Type.String(), ConfigDefinition)),
    exports: Type.Optional(Exports),
    docs: Type.Optional(Type.Array(Document, { maxItems: 200 })),
  },
  { title: 'Lupine plugin manifest' },
)
export type Manifest = Static<typeof Manifest>

export const parseManifestShape = createParser(Manifest)

/** The Lua files of a plugin when its manifest does not name them. */
export const defaultFiles: readonly string[] = ['init.lua']
export const entryFile = 'init.lua'
export const manifestFile = 'plugin.json'
