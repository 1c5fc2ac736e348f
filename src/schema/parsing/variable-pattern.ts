import Type, { type Static } from 'typebox'

/** A name of an environment variable, or the beginning of names, ending in `*`. */
export const variablePattern = /^(\*|[^\s*,=\u0000]+\*?)$/

export const VariablePattern = Type.String({
  maxLength: 256,
  pattern: variablePattern.source,
  description: 'The name of an environment variable, or the beginning of names with * behind it',
})

/** What the `env` members of a plugin's settings come to on this host. */
export const EnvironmentUse = Type.Object({
  read: Type.Array(Type.String(), {
    description: 'Variables of the host that its settings may be read from',
  }),
  refused: Type.Array(
    Type.Object({
      key: Type.String({
        description: 'The setting; of one in a list or an object its path, such as rules[].token',
      }),
      variable: Type.String(),
      message: Type.String({ description: 'What would allow it' }),
    }),
  ),
})
export type EnvironmentUse = Static<typeof EnvironmentUse>
