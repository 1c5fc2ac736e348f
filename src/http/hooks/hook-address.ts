/** What the path of a request says about a handler; `rest` is decoded. */
export interface HookTarget {
  namespace: string
  shortId: string
  rest: string
}

/** Undefined: it is no address of a handler, or cannot be decoded. `target`: as in the request line. */
export function hookTargetOf(target: string): HookTarget | undefined {
  const [path = ''] = target.split('?', 1)
  const [, namespace, shortId, rest = ''] = /^\/hooks\/([^/]*)\/([^/]*)(?:\/(.*))?$/s.exec(path) ?? []
  if (namespace === undefined || shortId === undefined) return undefined
  try {
    return { namespace, shortId, rest: decodeURIComponent(rest) }
  } catch {
    return undefined
  }
}

/** A path as a log may show it: what is behind a plugin's id may be a secret. */
export function loggedPath(path: string): string {
  return path.replace(/^(\/hooks\/[^/]*\/[^/]*\/).+$/s, '$1…')
}
