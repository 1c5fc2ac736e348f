import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDirectorySource } from './directory-source.ts'
import type { ReadFolder } from './folder-reads.ts'
import { createHttpSource, type HttpSourceOptions } from './http-source.ts'
import { type Source, SourceError } from './source.ts'

export interface SourceOptions extends HttpSourceOptions {
  /** Directories that a relative path may start from; the first in which it exists counts. */
  bases: readonly [string, ...string[]]
  readFolder: ReadFolder
}

/** The source that an address or a path means. Throws `SourceError` for what is neither. */
export function openSource(url: string, options: SourceOptions): Source {
  if (/^https?:/i.test(url)) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new SourceError('its address is not valid')
    return createHttpSource(url, options)
  }
  const [, scheme] = /^([a-z][a-z0-9+.-]*:)\/\//i.exec(url) ?? []
  if (scheme !== undefined && scheme.toLowerCase() !== 'file:') {
    throw new SourceError(
      `addresses with ${scheme} are not supported; use a folder, or an http:// or https:// address`,
    )
  }
  if (url === '' || url.includes('\0')) throw new SourceError('its address is empty or has NUL characters')
  const [base, ...others] = options.bases
  const paths = /^file:/i.test(url)
    ? ([pathOf(url)] as const)
    : ([resolve(base, url), ...others.map((other) => resolve(other, url))] as const)
  return createDirectorySource(paths, options.limits, options.readFolder)
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw new SourceError('its file: address is not valid; it looks like file:///folder/of/plugins')
  }
}
