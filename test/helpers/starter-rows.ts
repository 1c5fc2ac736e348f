import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../../src/base/text/json.ts'
import { checkConfig } from '../../src/lifecycle/manifests/config-rules.ts'
import { normaliseFields } from '../../src/lifecycle/manifests/fields.ts'
import { createHostEnvironment } from '../../src/lifecycle/permissions/plugin-environment.ts'
import { type Manifest, parseManifestShape } from '../../src/schema/manifest/manifest.ts'

/**
 * What the host gives a plugin for the setting `key`: rows, filled in, also from the lines of earlier versions. And what
 * is wrong with them.
 */
export function starterRows(
  folder: string,
  key: string,
  given: Json,
): { rows: Json; errors: string[]; unread: string[] } {
  const parsed = parseManifestShape(JSON.parse(readFileSync(join(folder, 'plugin.json'), 'utf8')))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  const manifest: Manifest = parsed.value
  const fields = normaliseFields(manifest).filter((field) => field.key === key)
  const environment = createHostEnvironment({}, undefined)({})
  const { errors, missing, warnings, effective } = checkConfig(fields, { [key]: given }, environment)
  return {
    rows: effective[key] as Json,
    errors: [...errors, ...missing].map(({ path, message }) => `${path} ${message}`),
    unread: warnings.map(({ message }) => message),
  }
}
