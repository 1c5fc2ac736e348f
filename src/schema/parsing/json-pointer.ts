/** One reference token of a JSON pointer (RFC 6901). */
export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The other way round. */
export function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The steps that a pointer takes; none for `''`. */
export function pointerSteps(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescapePointer)
}
