import { isJsonObject, type Json, type JsonObject, mapMembers } from '../../base/text/json.ts'
import {
  changeMembers,
  completeVersion,
  eachItem,
  type LenientRules,
  shortLabels,
  shortTexts,
  withoutDot,
  withoutNullMembers,
  withoutNulls,
} from '../parsing/lenient.ts'

/** What people write in manifests and mean well (contract, section 8), in the form of the schema. Pure. */

const known = new Set([
  ...['id', 'name', 'version', 'description', 'author', 'homepage', 'license', 'minHostVersion', 'tags'],
  ...['dependencies', 'permissions', 'files', 'configSchema', 'config', 'exports', 'docs'],
])
/** What may be null, or hold it, as a value. */
const values = new Set(['enum', 'default'])

function tidyManifest(given: JsonObject): JsonObject {
  const manifest = mapMembers(given, (member, key) => {
    if (!known.has(key)) return member
    // A null in a list of permissions says nothing that could be allowed or left out: it is refused.
    return member === null || key === 'permissions' ? (member ?? undefined) : withoutNulls(member, values)
  })
  return changeMembers(manifest, {
    version: completeVersion,
    minHostVersion: completeVersion,
    ...shortTexts,
    permissions: tidyPermissions,
    files: eachItem(withoutDot),
    docs: eachItem(tidyDocument),
    configSchema: eachItem(tidyField),
    config: (config) => (isJsonObject(config) ? mapMembers(config, tidyField) : config),
    exports: (exports) =>
      changeMembers(exports, {
        objects: (objects) => (isJsonObject(objects) ? mapMembers(objects, tidyExport) : objects),
        sensors: eachItem(tidyExport),
        controls: eachItem(tidyControl),
        events: eachItem(tidyExport),
      }),
  }) as JsonObject
}

function tidyPermissions(permissions: Json): Json {
  return isJsonObject(permissions) ? withoutNullMembers(permissions) : permissions
}

function tidyDocument(document: Json): Json {
  if (typeof document === 'string') return tidyDocument({ file: document })
  if (!isJsonObject(document) || typeof document.file !== 'string') return document
  const { title, file } = document
  const named = typeof title === 'string' && title !== '' ? title : fileName(file)
  return tidyExport({ ...document, title: named, file: withoutDot(file) })
}

function fileName(path: string): string {
  return path.split('/').at(-1) ?? path
}

// Made once: a hostile manifest has hundreds of thousands of fields.
const fieldChanges: Parameters<typeof changeMembers>[1] = {
  ...shortLabels,
  min: toNumber,
  max: toNumber,
  minItems: toNumber,
  maxItems: toNumber,
  required: toBoolean,
  secret: toBoolean,
  advanced: toBoolean,
  items: tidyField,
  fields: (fields) => eachItem(tidyField)(isJsonObject(fields) ? listedByKey(fields) : fields),
  lines: (lines) => (typeof lines === 'string' ? [lines] : lines),
}

function tidyField(field: Json): Json {
  return changeMembers(field, fieldChanges)
}

/** `fields` may be written as `config` is: an object from key to field. */
function listedByKey(fields: JsonObject): Json[] {
  return Object.entries(fields).map(([key, field]) => (isJsonObject(field) ? { ...field, key } : field))
}

const decimal = /^\s*[+-]?\d+(\.\d+)?\s*$/

function toNumber(value: Json): Json | undefined {
  if (typeof value !== 'string') return value
  if (value.trim() === '') return undefined
  return decimal.test(value) ? Number(value) : value
}

function toBoolean(value: Json): Json {
  if (value === 'true') return true
  return value === 'false' ? false : value
}

const tidyExport = (entry: Json): Json => changeMembers(entry, shortLabels)

const controlChanges: Parameters<typeof changeMembers>[1] = {
  ...shortLabels,
  range: (range) => (typeof range === 'string' ? range.replaceAll(/\s/g, '') : range),
}

const tidyControl = (control: Json): Json => changeMembers(control, controlChanges)

/** Without these a plugin cannot be installed, or not safely. */
const vital = new Set(['id', 'name', 'version', 'files', 'permissions'])

/** Whether a place below a field is the key of one of its `fields`. An entry that is no object has no key either. */
function isKeyOfEntry([step, index, ...below]: readonly string[]): boolean {
  if (step === 'items') return isKeyOfEntry(index === undefined ? [] : [index, ...below])
  if (step !== 'fields' || index === undefined) return false
  return below.length === 0 || (below.length === 1 && below[0] === 'key') || isKeyOfEntry(below)
}

export const lenientManifestRules: LenientRules = {
  tidy: tidyManifest,
  isVital([member = '', index, ...below], found) {
    const [part] = below
    if (vital.has(member)) return true
    if (member === 'configSchema') return index !== undefined && isKeyOfEntry(['fields', index, ...below])
    if (member === 'config') return isKeyOfEntry(below)
    // A path that leaves the folder; a document without one is left out.
    return member === 'docs' && part === 'file' && typeof found === 'string'
  },
  unit(path) {
    const [member, second, , part] = path
    if (member === 'docs' || member === 'dependencies' || member === 'tags') return 2
    if (member !== 'exports' || second === 'objects') return path.length
    return part === 'id' || part === 'name' ? 3 : path.length
  },
}
