import type { ProblemDetail } from '../../base/problem.ts'
import { isCut } from '../../base/text/cut-text.ts'
import { escapePointer } from '../parsing/json-pointer.ts'
import { tagLimit } from '../parsing/lenient.ts'
import type { Manifest } from './manifest.ts'

/** Of what is shown in part, or not at all, because it is too long. */
export function cutWarnings(given: Record<string, unknown>, manifest: Manifest): ProblemDetail[] {
  const { homepage, tags } = given
  const longer = 'is longer than it can be shown;'
  return [
    ...cutPlaces(given, manifest, '').map((path) => ({ path, message: `${longer} its end is left out` })),
    ...(typeof homepage === 'string' && manifest.homepage === undefined
      ? [{ path: '/homepage', message: `${longer} it is left out` }]
      : []),
    ...(Array.isArray(tags) && tags.length > tagLimit
      ? [{ path: '/tags', message: `has more than ${tagLimit} words; the rest is left out` }]
      : []),
  ]
}

/** Where texts of `given` have been cut in what is kept of it. */
function cutPlaces(given: unknown, kept: unknown, path: string): string[] {
  // Members that nobody knows are kept as they are, and there may be hundreds of thousands of them.
  if (given === kept) return []
  if (typeof kept === 'string')
    return typeof given === 'string' && given.length > kept.length && isCut(kept) ? [path] : []
  if (typeof given !== 'object' || given === null || typeof kept !== 'object' || kept === null) return []
  // Where something has been left out nobody knows what has become of which.
  if (Array.isArray(kept) && (!Array.isArray(given) || given.length !== kept.length)) return []
  return Object.entries(kept).flatMap(([key, member]) =>
    Object.hasOwn(given, key)
      ? cutPlaces(Reflect.get(given, key), member, `${path}/${escapePointer(key)}`)
      : [],
  )
}
