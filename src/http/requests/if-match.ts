import { Problem } from '../../base/problem.ts'

/** An entity tag: `"5"`, or the weak `W/"5"` that some proxies turn it into. */
const entityTag = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

/** Longest `If-Match` list: nobody has seen more revisions than this at once. */
const tagLimit = 32

/** The header's tags without their quotes; '*' when any revision will do. Throws `body_invalid`. */
export function parseIfMatch(header: string | undefined): '*' | string[] | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '*') return '*'
  const tags = header.split(',').map((part) => entityTag.exec(part.trim())?.[1])
  if (tags.length > tagLimit || !tags.every((tag) => tag !== undefined)) {
    throw new Problem('body_invalid', 'If-Match must be a revision in double quotes, such as "5", or *.', {
      errors: [{ path: '', message: 'the header If-Match is malformed' }],
    })
  }
  return tags
}

/**
 * The revision that a command must find, from `If-Match`. `current` gives the present one, or undefined when
 * the plugin is not installed. Throws `revision_conflict` when none of the tags can be met.
 */
export async function expectedRevision(
  header: string | undefined,
  current: () => Promise<number | undefined>,
): Promise<number | undefined> {
  const tags = parseIfMatch(header)
  if (tags === undefined || tags === '*') return undefined
  const [only] = tags
  if (tags.length === 1 && only !== undefined && /^\d{1,15}$/.test(only)) return Number(only)
  const revision = await current()
  if (revision !== undefined && tags.includes(String(revision))) return revision
  throw new Problem(
    'revision_conflict',
    `The plugin is at revision ${revision ?? 'none'}, which is not one of those in If-Match; read it again.`,
  )
}
