import { isDeepStrictEqual } from 'node:util'
import { decide, requireInstalled } from '../../journal/fold/decide.ts'
import type { PluginPreview } from '../../repository/repository.ts'
import { hostSupports } from '../../repository/versions.ts'
import type { ChangeCheck } from '../../schema/plugin/change-check.ts'
import { allFields } from '../../schema/manifest/field.ts'
import { labelOfPath } from '../../schema/manifest/setting-label.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { changedPermissions } from './changed-permissions.ts'
import { checkConfig } from '../manifests/config-rules.ts'
import { normaliseFields } from '../manifests/fields.ts'
import { installedVersion, type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { checkDependencies, unmetMessage } from '../loading/dependency-check.ts'
import { explainCycles } from './dependency-cycles.ts'
import { installSource, originRepository } from '../sources/install-source.ts'
import { storedByOther } from '../sources/last-installation.ts'
import { findLeftoverFiles } from '../sources/leftover-files.ts'
import type { InstallRequest } from '../lifecycle.ts'
import { environmentUse } from '../permissions/plugin-environment.ts'
import { possibleSecretPlaces } from '../secrets/former-secrets.ts'
import { wholeConfig } from '../secrets/secret-places.ts'
import { hideSecrets } from '../secrets/secrets.ts'
import type { ShownManifests } from './shown-manifests.ts'
import { changesOf, fieldChanges, storedRowChanges } from './stored-rows.ts'

/** Says what an installation or an update would bring. Fetches and verifies, and changes nothing. */
export interface ChangeChecker {
  install(request: InstallRequest): Promise<ChangeCheck>
  update(id: string, version: string | undefined): Promise<ChangeCheck>
}

export function createChangeChecker(context: LifecycleContext, shown: ShownManifests): ChangeChecker {
  const { repositories, manifests, hostVersion } = context

  async function preview({ fullId, repository, version }: InstallRequest): Promise<PluginPreview> {
    const { from } = await installSource(context, fullId, repository, { write: false })
    return repositories.preview(from, identifierOf(fullId), { version })
  }

  async function previewFolder(request: InstallRequest, error: unknown): Promise<PluginPreview> {
    const { manifest, integrity, repository } = await findLeftoverFiles(context, request, error)
    const { minHostVersion = null } = manifest
    return { manifest, integrity, repository: repository ?? '', minHostVersion }
  }

  /** `installed`: compare with the version that is there, and with its configuration. */
  async function compare(id: string, next: PluginPreview, installed: boolean): Promise<ChangeCheck> {
    const { manifest, integrity, minHostVersion } = next
    const { unmet } = await checkDependencies(context, id, manifest)
    const missing = unmet.length === 0 ? unmet : await explainCycles(context, id, manifest, unmet)
    const present = snapshotOfPlugin(context, id).context
    const before = installed ? manifests.get(id) : undefined
    const [oldFields, fields] = [installed ? manifests.fields(id) : [], normaliseFields(manifest)]
    const oldSecrets = possibleSecretPlaces(context, id)
    const oldIntegrity = installed ? present.integrity : {}
    const unchanged =
      installed && manifest.version === present.version && isDeepStrictEqual(integrity, oldIntegrity)
    const environment = context.environment(manifest)
    const checked = checkConfig(fields, installed ? present.config : {}, environment)
    const wrong = [...checked.errors, ...checked.missing]
    const check: ChangeCheck = {
      id,
      from: installed ? present.version : null,
      to: manifest.version,
      unchanged,
      name: manifest.name,
      description: manifest.description ?? null,
      author: manifest.author ?? null,
      repository: next.repository,
      namespaceHeldBy: context.namespaces.heldByOther(identifierOf(id).namespace, next.repository),
      storedBy: installed ? null : storedByOther(context, id, next.repository),
      permissions: manifest.permissions ?? null,
      permissionChanges: changedPermissions(context, id, before, manifest),
      environment: environmentUse(allFields(fields), environment),
      fields: fieldChanges(oldFields, fields),
      labels: Object.fromEntries(allFields(fields).map(({ path }) => [path, labelOfPath(fields, path)])),
      config: {
        valid: wrong.length === 0,
        errors: wrong,
        // A key that was a secret's is one still, though the new version may not know it any more.
        effective: hideSecrets(oldSecrets, hideSecrets(wholeConfig(fields), checked.effective)),
        rows: installed ? storedRowChanges(oldFields, fields, present.config, checked.effective) : [],
      },
      files: changesOf(oldIntegrity, integrity),
      dependencies: { missing },
      hostVersion: {
        required: minHostVersion,
        supported: minHostVersion === null || hostSupports(minHostVersion, hostVersion),
      },
      problems: [],
    }
    shown.show(id, manifest)
    return { ...check, problems: problemsOf(check, hostVersion) }
  }

  return {
    async install(request) {
      const id = request.fullId
      const { repository = null, version = null } = request
      decide(snapshotOfPlugin(context, id), { type: 'install', repository, version })
      const next = await preview(request).catch((error: unknown) => previewFolder(request, error))
      // It may have been installed meanwhile.
      decide(snapshotOfPlugin(context, id), { type: 'install', repository, version })
      return compare(id, next, false)
    },
    async update(id, version) {
      requireInstalled(snapshotOfPlugin(context, id))
      const installed = installedVersion(context, id)
      const from = await originRepository(context, id)
      const next = await repositories.preview(from, identifierOf(id), { version, installed })
      requireInstalled(snapshotOfPlugin(context, id))
      return compare(id, next, true)
    },
  }
}

/** What the command itself would say. */
function problemsOf(
  { id, unchanged, hostVersion: { required, supported }, dependencies }: ChangeCheck,
  hostVersion: string,
): ChangeCheck['problems'] {
  const problems: ChangeCheck['problems'] = []
  if (!supported) {
    const detail = `${id} needs host version ${required} or newer; this is ${hostVersion}. Update the host first.`
    problems.push({ code: 'host_version_unsupported', detail })
  }
  if (dependencies.missing.length > 0 && !unchanged) {
    problems.push({ code: 'dependency_unmet', detail: unmetMessage(dependencies.missing) })
  }
  return problems
}
