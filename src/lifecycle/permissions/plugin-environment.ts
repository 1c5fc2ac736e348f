import type { PlacedField } from '../../schema/manifest/field.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { EnvironmentUse } from '../../schema/parsing/variable-pattern.ts'
import { environmentRefusal } from './environment-rule.ts'

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
    const refusal = (variable: string): string | undefined =>
      environmentRefusal(variable, { permissions, named })
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
