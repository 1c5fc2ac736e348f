import { Problem } from '../base/problem.ts'
import type { PluginIdentifier } from '../schema/names/identifier.ts'
import { hostSupports } from './versions.ts'

/** Throws `host_version_unsupported` where this host is too old for a plugin. */
export function requireHost(
  { fullId }: Pick<PluginIdentifier, 'fullId'>,
  minHostVersion: string | undefined,
  hostVersion: string,
): void {
  if (minHostVersion === undefined || hostSupports(minHostVersion, hostVersion)) return
  throw new Problem(
    'host_version_unsupported',
    `${fullId} needs host version ${minHostVersion} or newer; this is ${hostVersion}. Update the host first.`,
  )
}
