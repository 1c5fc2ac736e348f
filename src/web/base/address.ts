/**
 * What all addresses of the host begin with, as browsers see them: empty, or a path such as `/lupine` where a proxy shows it below
 * one. This file is part of the script, which stands one folder below.
 */
export const basePath = new URL('..', import.meta.url).pathname.replace(/\/$/, '')

/** A path of the host (`/plugins`, `/api/system`) as an address for the browser. */
export function addressOf(path: string): string {
  return basePath + path
}

/** The path of the host that an address of this origin names; undefined: it is somebody else's. */
export function pathAt(pathname: string): string | undefined {
  if (!pathname.startsWith(basePath)) return undefined
  const rest = pathname.slice(basePath.length)
  if (rest === '') return '/'
  return rest.startsWith('/') ? rest : undefined
}
