import type { Permissions } from '../../schema/manifest/permissions.ts'

/** Which variables of the host's environment the settings of a plugin may be read from. Pure. */

/** Never, whatever a manifest or an owner lists: the host's own, and the system's, by name or beginning. */
const never = ['HOST_*', 'PATH', 'HOME', 'USER', 'SHELL', 'PWD', 'NODE_*', 'npm_*', 'LD_*', 'SSH_*']

/** Names are compared without regard to case here, since some systems do so when they look one up. */
const neverLowerCase = never.map((pattern) => pattern.toLowerCase())

function isListed(patterns: readonly string[], variable: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? variable.startsWith(pattern.slice(0, -1)) : pattern === variable,
  )
}

export interface EnvironmentLists {
  /** Of the manifest; undefined: it declares nothing. */
  permissions: Permissions | undefined
  /** What the owner of the host names (`HOST_PLUGIN_ENVIRONMENT`); undefined: it is not set. */
  named: readonly string[] | undefined
}

/** Why a plugin may not read this variable, with what would allow it; undefined when it may. */
export function environmentRefusal(
  variable: string,
  { permissions, named }: EnvironmentLists,
): string | undefined {
  if (isListed(neverLowerCase, variable.toLowerCase())) {
    return `no plugin may read the environment variable ${variable}, which is the system's or the host's own`
  }
  const remedies: string[] = []
  if (permissions !== undefined && !isListed(permissions.environment ?? [], variable)) {
    remedies.push(`add ${JSON.stringify(variable)} to permissions.environment of its manifest`)
  }
  if (named !== undefined && !isListed(named, variable)) {
    remedies.push(`add ${variable} to HOST_PLUGIN_ENVIRONMENT of this host`)
  }
  if (remedies.length === 0) return undefined
  return `the plugin may not read the environment variable ${variable}; to let it, ${remedies.join(' and ')}`
}
