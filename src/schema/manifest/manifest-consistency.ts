import type { ProblemDetail } from '../../base/problem.ts'
import { firstErrors } from '../parsing/error-quota.ts'
import { escapePointer } from '../parsing/json-pointer.ts'
import { defaultCheckCost, defaultCheckCostLimit } from './default-check-cost.ts'
import {
  type ConfigDefinition,
  countSettings,
  definitionErrors,
  entriesErrors,
  settingsLimit,
} from './field-definition.ts'
import type { Manifest } from './manifest.ts'

/** `plugin.json`, the Lua files and the documents of one plugin together: enough for any, and a bound. */
export const pluginFileLimit = 200
/** More than any plugin has others to need. */
const dependencyLimit = 1_000

/** What is compared with one another must have an end: a hostile manifest would stop the host. */
function tooMany(path: string, count: number, limit: number, what: string): ProblemDetail[] {
  return count <= limit ? [] : [{ path, message: `has ${count} ${what}; a plugin has at most ${limit}` }]
}

function tooMuchWork({ configSchema = [], config = {} }: Manifest): ProblemDetail[] {
  const entries = configSchema.map(({ key, ...entry }) => [key, entry] as const)
  const definitions = new Map<string, ConfigDefinition>(entries)
  // Of the two one may have the values, and the other one what they are held against.
  for (const [key, definition] of Object.entries(config))
    definitions.set(key, { ...definitions.get(key), ...definition })
  if (defaultCheckCost([...definitions.values()]) <= defaultCheckCostLimit) return []
  const message =
    'has defaults of so many values, for so many columns and choices, that nobody could wait for their check'
  return [{ path: '', message }]
}

/**
 * What a schema cannot say: keys that meet, lists without end, and files that cannot be stored side by side. `files`: all that
 * belong to the plugin.
 */
export function consistencyErrors(manifest: Manifest, files: readonly string[]): ProblemDetail[] {
  const { configSchema = [], config = {}, dependencies = [] } = manifest
  const errors: ProblemDetail[] = [
    ...entriesErrors(configSchema, '/configSchema'),
    ...Object.entries(config).flatMap(([key, definition]) =>
      definitionErrors(definition, `/config/${escapePointer(key)}`),
    ),
    ...tooMany('/configSchema', countSettings(configSchema), settingsLimit, 'settings'),
    ...tooMany('/config', countSettings(Object.values(config)), settingsLimit, 'settings'),
    ...tooMuchWork(manifest),
    ...tooMany('/dependencies', dependencies.length, dependencyLimit, 'dependencies'),
    ...tooMany('/files', files.length, pluginFileLimit, 'files'),
  ]
  const known = new Set(files)
  const check = (file: string, path: string): void => {
    for (let slash = file.indexOf('/'); slash !== -1; slash = file.indexOf('/', slash + 1)) {
      const folder = file.slice(0, slash)
      if (known.has(folder)) errors.push({ path, message: `"${folder}" cannot be a file and a folder` })
    }
  }
  for (const [index, file] of (manifest.files ?? []).entries()) check(file, `/files/${index}`)
  for (const [index, { file }] of (manifest.docs ?? []).entries()) check(file, `/docs/${index}/file`)
  return firstErrors(errors)
}
