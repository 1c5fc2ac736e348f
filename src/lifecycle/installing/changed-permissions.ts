import type { Manifest } from '../../schema/manifest/manifest.ts'
import { checkConfig } from '../manifests/config-rules.ts'
import { normaliseFields } from '../manifests/fields.ts'
import { allFields } from '../../schema/manifest/field.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { type Grant, type PermissionChanges, permissionChanges } from '../permissions/permission-changes.ts'
import { environmentUse } from '../permissions/plugin-environment.ts'

/**
 * What `next` would let a plugin do that `present` does not, with what is stored for it: a default that changes is a
 * change, too. `present`: undefined when nothing is installed, or nobody knows what is.
 */
export function changedPermissions(
  context: LifecycleContext,
  id: string,
  present: Manifest | undefined,
  next: Manifest,
): PermissionChanges {
  const stored = present === undefined ? {} : snapshotOfPlugin(context, id).context.config
  const grantOf = (manifest: Manifest): Grant => {
    const fields = normaliseFields(manifest)
    const environment = context.environment(manifest)
    const { effective } = checkConfig(fields, stored, environment)
    return {
      permissions: manifest.permissions ?? null,
      config: effective,
      variables: environmentUse(allFields(fields), environment).read,
    }
  }
  return permissionChanges(present === undefined ? undefined : grantOf(present), grantOf(next))
}
