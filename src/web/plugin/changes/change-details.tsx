import type { ChangeCheck } from '../../../schema/plugin/change-check.ts'
import { valuesAt, withReferences } from '../../../schema/manifest/config-references.ts'
import { permissionEntries } from '../../../schema/manifest/permission-entries.ts'
import { labelAt, labelOfPath } from '../../../schema/manifest/setting-label.ts'
import type { PermissionSettings } from '../../base/permission-words.ts'
import type { Plugin } from '../../base/types.ts'
import { countOf } from '../../base/words.ts'
import { breakable } from '../../parts/breakable.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Failure, Note } from '../../parts/feedback.tsx'
import { ForeignNamespace } from './foreign-namespace.tsx'
import { Allowed, PermissionList } from './permission-list.tsx'

/** What the host has found out about a version that is not installed yet. `plugin`: the version that is. */
export function ChangeDetails({ check, plugin }: { check: ChangeCheck; plugin: Plugin | undefined }) {
  const { from, to, author, repository, hostVersion, config, fields, files } = check
  const labelOf = (path: string): string => check.labels[path] ?? labelOfPath(plugin?.fields ?? [], path)
  const labelOfPlace = (pointer: string): string =>
    check.labels[pointer.replace('/config/', '')] ?? labelAt(plugin?.fields ?? [], pointer)
  /** Nobody could set anything yet: what is empty will be set. */
  const known = <T,>(value: T): T | undefined =>
    from === null && (value === '' || (Array.isArray(value) && value.length === 0)) ? undefined : value
  return (
    <>
      {check.problems.map(({ code, detail }) => (
        <Failure key={code} text={detail} />
      ))}
      {check.namespaceHeldBy === null ? null : (
        <ForeignNamespace id={check.id} heldBy={check.namespaceHeldBy} />
      )}
      {check.storedBy === null ? null : (
        <Note>
          A plugin of this name from the repository {breakable(check.storedBy)} was here before, and what it
          had stored was kept: this one can read that as soon as it is switched on. If it is not to: uninstall
          it right after the installation, together with the values that it has stored, and install it once
          more.
        </Note>
      )}
      <dl class="facts">
        <Fact name="Version">
          {from === null ? '' : `${from} → `}
          <strong>{to}</strong>
          {from === to ? ' (the same number, with other files)' : ''}
        </Fact>
        <Fact name="From">
          {breakable(repository)}
          {author === null ? '' : breakable(`, by ${author}`)}
        </Fact>
        {hostVersion.required === null ? null : (
          <Fact name="Needs Lupine">{hostVersion.required} or newer</Fact>
        )}
        {from === null ? null : (
          <>
            <Fact name="Settings">
              <ChangeLines changes={fields} labelOf={labelOf} nothing="No setting changes." />
            </Fact>
            <Fact name="Your settings">
              {config.valid ? (
                'Are still right with it.'
              ) : (
                <ul class="change-lines row-error">
                  {config.errors.map(({ path, message }) => (
                    <li key={path}>
                      {breakable(labelOfPlace(path))} {message}.
                    </li>
                  ))}
                </ul>
              )}
              {config.rows.length === 0 ? null : (
                <ul class="change-lines">
                  {config.rows.map(({ path, message }) => (
                    <li key={`${path} ${message}`}>{breakable(`${labelOfPlace(path)}: ${message}`)}.</li>
                  ))}
                </ul>
              )}
            </Fact>
          </>
        )}
        <Fact name="Files">
          {from === null ? (
            countOf(files.added.length, 'file')
          ) : (
            <ChangeLines changes={files} labelOf={(path) => path} nothing="No file changes." />
          )}
        </Fact>
      </dl>
      <PermissionChanges
        check={check}
        settings={{
          labelOf,
          valueOf: (key) => known(valuesAt(config.effective, key)[0]),
          rowsOf: (value) => known(withReferences(value, config.effective)),
        }}
      />
    </>
  )
}

function PermissionChanges({ check, settings }: { check: ChangeCheck; settings: PermissionSettings }) {
  const { from, permissions, environment, permissionChanges } = check
  const { added, removed } = permissionChanges
  const unlimited = permissions === null
  const all = permissionEntries(permissions, environment.read)
  if (from === null) {
    return (
      <section class="details">
        <h3>What it may do</h3>
        <Allowed label="What it may do" entries={all} settings={settings} />
      </section>
    )
  }
  return (
    <section class="details">
      <h3>What it may do</h3>
      {added.length === 0 && removed.length === 0 ? (
        <p class="hint">{unlimited ? 'Everything, as before.' : 'The same as before.'}</p>
      ) : null}
      {added.length === 0 ? null : (
        <>
          <p>New:</p>
          <Allowed label="What it may do for the first time" entries={added} settings={settings} />
        </>
      )}
      {removed.length === 0 ? null : (
        <>
          <p>No longer:</p>
          <PermissionList label="What it may not do any more" entries={removed} settings={settings} />
        </>
      )}
      {permissions !== null && removed.some(({ kind }) => kind === 'everything') ? (
        <>
          <p>From now on only:</p>
          <Allowed label="What it may do from now on" entries={all} settings={settings} />
        </>
      ) : null}
    </section>
  )
}

interface ChangeLinesProps {
  changes: ChangeCheck['fields']
  labelOf(name: string): string
  nothing: string
}

function ChangeLines({ changes: { added, removed, changed }, labelOf, nothing }: ChangeLinesProps) {
  const lines = [
    ['New', added],
    ['Changed', changed],
    ['Gone', removed],
  ] as const
  if (lines.every(([, names]) => names.length === 0)) return <>{nothing}</>
  return (
    <ul class="change-lines">
      {lines.map(([word, names]) =>
        names.length === 0 ? null : (
          <li key={word}>
            {word}: {breakable(names.map(labelOf).join(', '))}
          </li>
        ),
      )}
    </ul>
  )
}
