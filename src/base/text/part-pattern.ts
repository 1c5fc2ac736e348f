/** Parts that a pattern may have; names are no longer. */
const mostParts = 64

/** The parts of a pattern. Throws `Error` when there are too many. */
export function partsOfPattern(pattern: string, separator: string): string[] {
  const parts = pattern.split(separator)
  if (parts.length > mostParts) throw new Error(`the pattern has more than ${mostParts} parts`)
  return parts
}

/** The parts of a name, one more at most than a pattern may have. */
export function partsOfName(name: string, separator: string): string[] {
  return name.split(separator, mostParts + 1)
}

/**
 * Whether a name of these parts is meant by a pattern, in which `*` stands for one whole part; with `deep`, `**` as the last
 * part for one or more. Throws `Error` for `**` elsewhere.
 */
export function partPattern(
  pattern: string,
  separator: string,
  deep = false,
): (parts: readonly string[]) => boolean {
  const wanted = partsOfPattern(pattern, separator)
  const isDeep = deep && wanted.at(-1) === '**'
  if (isDeep) wanted.pop()
  if (deep && wanted.includes('**')) throw new Error(`in the pattern '${pattern}' ** must be the last part`)
  return (parts) => {
    if (isDeep ? parts.length <= wanted.length : parts.length !== wanted.length) return false
    return wanted.every((part, index) => part === '*' || part === parts[index])
  }
}

/** Whether a name is a pattern of more than itself. */
export function hasWildcard(pattern: string, separator: string): boolean {
  return pattern.includes('*') && pattern.split(separator).some((part) => part === '*' || part === '**')
}
