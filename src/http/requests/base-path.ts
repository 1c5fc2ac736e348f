/**
 * The path below which a proxy shows this host beside others under one name (`/lupine` of `https://home.example/lupine`). The
 * one place that knows how it gets out of and into addresses.
 */
export interface BasePath {
  /** Without a slash at its end; empty: the host has a name of its own. */
  readonly path: string
  /**
   * The target of a request as the host knows it: also where nobody took the path off, as for a page that was called at the
   * host's own address.
   */
  inside(target: string): string
}

/** `own`: paths that the host itself answers. A base that begins as one of them does is the proxy's to take off. */
export function createBasePath(path: string, own: readonly string[]): BasePath {
  const isOwn = own.some((one) => firstPart(one) === firstPart(path))
  return {
    path,
    inside(target) {
      if (path === '' || isOwn || !target.startsWith(path)) return target
      const rest = target.slice(path.length)
      if (rest.startsWith('/')) return rest
      return rest === '' || rest.startsWith('?') ? `/${rest}` : target
    },
  }
}

/** Of the address under which others reach this host. */
export function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}

function firstPart(path: string): string | undefined {
  return path.split('/')[1]
}
