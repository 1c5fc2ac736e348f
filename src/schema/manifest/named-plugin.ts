import { parseFullId } from '../names/identifier.ts'
import type { Dependency } from './manifest.ts'

/**
 * The plugin that a dependency names, and the version range as it is written. A short id is one of `namespace`, the
 * plugin's own. Undefined when it names none.
 */
export function namedPlugin(
  dependency: Dependency,
  namespace: string,
): { fullId: string; range: string | undefined } | undefined {
  const [, id, range] = /^(@?[^@]+)(?:@(.*))?$/s.exec(textOf(dependency).trim()) ?? []
  if (id === undefined) return undefined
  const identifier = parseFullId(id.startsWith('@') ? id : `@${namespace}/${id}`)
  return identifier === undefined ? undefined : { fullId: identifier.fullId, range }
}

/** Whether the plugin works without it. */
export function isOptional(dependency: Dependency): boolean {
  return typeof dependency !== 'string' && dependency.optional === true
}

export function textOf(dependency: Dependency): string {
  if (typeof dependency === 'string') return dependency
  return dependency.version === undefined ? dependency.id : `${dependency.id}@${dependency.version}`
}
