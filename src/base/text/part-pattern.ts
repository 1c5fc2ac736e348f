/** Parts that a pattern may have; names are no longer. */
const mostParts = 64

/**
 * Whether a name of parts is meant by a pattern, in which `*` stands for one whole part; with `deep`, `**` as the last
 * part for one or more. Throws `Error` for `**` elsewhere.
 */
export function partPattern(pattern: string, separator: string, deep = false): (name: string) => boolean {
  const wanted = pattern.split(separator)
  if (wanted.length > mostParts) throw new Error(`the pattern has more than ${mostParts} parts`)
  const isDeep = deep && wanted.at(-1) === '**'
  if (isDeep) wanted.pop()
  if (deep && wanted.includes('**')) throw new Error(`in the pattern '${pattern}' ** must be the last part`)
  return (name) => {
    const parts = name.split(separator)
    if (isDeep ? parts.length <= wanted.length : parts.length !== wanted.length) return false
    return wanted.every((part, index) => part === '*' || part === parts[index])
  }
}

/** Whether a name is a pattern of more than itself. */
export function hasWildcard(pattern: string, separator: string): boolean {
  return pattern.includes('*') && pattern.split(separator).some((part) => part === '*' || part === '**')
}
