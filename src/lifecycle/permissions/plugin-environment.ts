import type { PlacedField } from '../../schema/manifest/field.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { Permissions } from '../../schema/manifest/permissions.ts'
import type { EnvironmentUse } from '../../schema/parsing/variable-pattern.ts'

/** The environment of the host, as one plugin may see it. */
export interface PluginEnvironment {
  /** Undefined: it is not set, or it may not be read. */
  read(variable: string): string | undefined
  /** Why it may not be read, with what would allow it; undefined when it may. */
  refusal(variable: string): string | undefined
}

/** Answers for each manifest which variables of the host it may read. */
export type HostEnvironment = (manifest: Pick<Manifest, 'permissions'>) => PluginEnvironment

/** `named`: what the owner lets plugins read (`HOST_PLUGIN_ENVIRONMENT`); undefined: it is not set. */
export function createHostEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  named: readonly string[] | undefined,
): HostEnvironment {
  return ({ permissions }) => {
    const refusal = (variable: string): string | undefined => environmentRefusal(variable, permissions, named)
    return {
      refusal,
      read: (variable) =>
        refusal(variable) === undefined && Object.hasOwn(variables, variable)
          ? variables[variable]
          : undefined,
    }
  }
}

/** What the settings of a plugin read of the environment, and what they may not. */
export function environmentUse(
  fields: readonly PlacedField[],
  environment: PluginEnvironment,
): EnvironmentUse {
  const use: EnvironmentUse = { read: [], refused: [] }
  for (const { path, field } of fields) {
    const { env } = field
    if (env === null) continue
    const message = environment.refusal(env)
    if (message !== undefined) use.refused.push({ key: path, variable: env, message })
    else if (!use.read.includes(env)) use.read.push(env)
  }
  return use
}

/** Never, whatever a manifest or an owner lists: the host's own, and the system's, by name or beginning. */
const never = ['HOST_*', 'PATH', 'HOME', 'USER', 'SHELL', 'PWD', 'NODE_*', 'npm_*', 'LD_*', 'SSH_*']

/** Names are compared without regard to case here, since some systems do so when they look one up. */
const neverLowerCase = never.map((pattern) => pattern.toLowerCase())

function isListed(patterns: readonly string[], variable: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? variable.startsWith(pattern.slice(0, -1)) : pattern === variable,
  )
}

/**
 * Why a plugin may not read this variable, with what would allow it; undefined when it may. `permissions`: of the manifest;
 * undefined: it declares nothing. `named`: as in `createHostEnvironment`.
 */
export function environmentRefusal(
  variable: string,
  permissions: Permissions | undefined,
  named: readonly string[] | undefined,
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
