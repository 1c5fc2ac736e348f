import Type, { type Static } from 'typebox'
import { type ProblemCode, problemTable } from '../../base/problem.ts'
import { PermissionEntry, Permissions } from '../manifest/permissions.ts'
import { Config } from './plugin.ts'
import { EnvironmentUse } from '../parsing/variable-pattern.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** What an installation or an update would bring, before it is done. */

const Text = nullable(Type.String())
const Names = Type.Array(Type.String())
const Changes = Type.Object({ added: Names, removed: Names, changed: Names })
const problemCodes = Object.keys(problemTable) as ProblemCode[]

export const ChangeCheck = Type.Object({
  id: Type.String(),
  from: nullable(Type.String(), {
    description: 'The installed version; null when none is installed',
  }),
  to: Type.String({ description: 'The version of the manifest that was fetched' }),
  unchanged: Type.Boolean({ description: 'Version and files are those that are installed' }),
  name: Type.String(),
  description: Text,
  author: Text,
  repository: Type.String(),
  namespaceHeldBy: nullable(Type.String(), {
    description: 'Another repository that the namespace of the plugin belongs to',
  }),
  storedBy: nullable(Type.String(), {
    description:
      'Another repository, whose plugin of this name was uninstalled and left what it had stored: this one can read it',
  }),
  permissions: nullable(Permissions, {
    description: 'null: the plugin declares none, so nothing is refused to it',
  }),
  permissionChanges: Type.Object({
    added: Type.Array(PermissionEntry, { description: 'What the installed version may not do yet' }),
    removed: Type.Array(PermissionEntry),
  }),
  environment: EnvironmentUse,
  fields: Type.Object(Changes.properties, {
    description: 'Keys of configuration fields; of those in lists and objects paths, such as rules[].to',
  }),
  labels: Type.Record(Type.String(), Type.String(), {
    description:
      'What people call the fields of the new version, by their paths: { "rules[].to": "Rules, To" }',
  }),
  config: Type.Object(
    {
      valid: Type.Boolean(),
      errors: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
      effective: Config,
      rows: Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: 'What happens to stored rows and members: filled in, kept unread, read from lines',
      }),
    },
    { description: 'The stored configuration, checked against the new fields; secrets hidden' },
  ),
  files: Type.Object(Changes.properties, { description: 'Paths in the folder of the plugin' }),
  dependencies: Type.Object({
    missing: Type.Array(
      Type.Object({
        dependency: Type.String({ description: 'As the manifest has it' }),
        reason: oneOf(['missing', 'version']),
        message: Type.String(),
      }),
    ),
  }),
  hostVersion: Type.Object({
    required: nullable(Type.String(), { description: 'null: any' }),
    supported: Type.Boolean(),
  }),
  problems: Type.Array(
    Type.Object({
      code: oneOf(problemCodes),
      detail: Type.String(),
    }),
    { description: 'What the command itself would be refused with now; empty: it may go ahead' },
  ),
})
export type ChangeCheck = Static<typeof ChangeCheck>
