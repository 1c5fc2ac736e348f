import { labelAt } from '../../../schema/manifest/setting-label.ts'
import { hiddenValue } from '../../../schema/plugin/hidden-value.ts'
import { pluginApi, send } from '../../base/api.ts'
import { connection } from '../../base/stream.ts'
import type { ConfigCheck, Plugin } from '../../base/types.ts'
import { Empty, Failure } from '../../parts/feedback.tsx'
import { useSubmit } from '../../parts/inputs/use-submit.ts'
import { tell } from '../../store/notices.ts'
import { plugins, putPlugin } from '../../store/plugins.ts'
import { replaceIfUnchanged } from '../../store/replace-if-unchanged.ts'
import { type Difference, differences, draftOf, setDraft, typedSince, withDraft } from './draft.ts'
import { SettingFields } from './setting-fields.tsx'
import { FormContext, formOf } from './settings-form.ts'
import { useConfigCheck } from './use-config-check.ts'

export function SettingsTab({ plugin }: { plugin: Plugin }) {
  const { id, fields } = plugin
  const draft = draftOf(id)
  const config = withDraft(plugin.config, draft)
  const { value: check, error } = useConfigCheck(id, config)
  const { submit, sending, failure, forgetFailure } = useSubmit(save)
  const changes = differences(plugin, draft)
  const problem = whyNot(plugin, changes, check, error)
  // The host checks what is sent all the same: Enter right after the last key is not to be in vain.
  const canSave = problem === '' || problem === stillChecking
  const others = Object.keys(plugin.config).filter((key) => !fields.some((field) => field.key === key))

  function change(key: string, value: unknown): void {
    // A value that is as stored is no change.
    const next = new Map(draft)
    if (JSON.stringify(plugin.config[key]) === JSON.stringify(value)) next.delete(key)
    else if (value === hiddenValue && plugin.config[key] === undefined) next.delete(key)
    else next.set(key, value)
    setDraft(plugin, next)
    forgetFailure()
  }

  async function save(): Promise<void> {
    if (!canSave) return
    const saved = await replaceIfUnchanged(
      plugin,
      (seen) => seen.config,
      (revision) => send<Plugin>('POST', pluginApi(id, '/config'), { config }, revision),
    )
    const now = draftOf(id)
    const shown = withDraft(plugins.peek()?.get(id)?.config ?? plugin.config, now)
    setDraft(saved, typedSince(shown, config, [...draft.keys(), ...now.keys()]))
    putPlugin(saved)
    tell(savedWords(saved))
  }

  if (fields.length === 0 && others.length === 0) return <Empty>{plugin.name} has no settings.</Empty>
  return (
    <form class="panel" onSubmit={submit} noValidate>
      <FormContext.Provider value={formOf(plugin, check)}>
        <SettingFields
          fields={fields}
          values={config}
          effective={check?.effective ?? {}}
          path="/config"
          onChange={change}
        />
      </FormContext.Provider>
      {others.length === 0 ? null : <p class="hint">Also stored, and kept as it is: {others.join(', ')}.</p>}
      <div class="save">
        {changes.length === 0 ? null : <Changes changes={changes} />}
        {failure === '' ? null : <Failure text={failure} />}
        <p class="hint" id="save-hint" role="status">
          {sending ? 'Saving…' : problem !== '' ? problem : consequence(plugin)}
        </p>
        <div class="actions">
          <button type="submit" class="primary" disabled={sending || !canSave} aria-describedby="save-hint">
            {plugin.enabled ? 'Save and reload' : 'Save'}
          </button>
          <button
            type="button"
            disabled={sending || draft.size === 0}
            onClick={() => setDraft(plugin, new Map())}
          >
            Discard changes
          </button>
        </div>
      </div>
    </form>
  )
}

function Changes({ changes }: { changes: readonly Difference[] }) {
  return (
    <table class="changes">
      <caption>What saving changes</caption>
      <thead>
        <tr>
          <th scope="col">Setting</th>
          <th scope="col">Now</th>
          <th scope="col">Then</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ label, before, after }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>
              <del>{before}</del>
            </td>
            <td>
              <ins>{after}</ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const stillChecking = 'Checking…'

/** Something that is missing stops the load, not the saving. */
function isMissing(message: string): boolean {
  return message.startsWith('is required') || message.startsWith('the environment variable')
}

/** Why it cannot be saved now, in words; empty when it can. */
function whyNot(
  plugin: Plugin,
  changes: readonly Difference[],
  check: ConfigCheck | undefined,
  error: string,
): string {
  if (changes.length === 0) return 'There is nothing to save: all is as it is stored.'
  // While the page connects, as it does when somebody comes back to it, the button keeps the focus.
  if (connection.value === 'disconnected')
    return 'The host is not there at the moment. What you typed is kept.'
  if (error !== '') return `This could not be checked: ${error}`
  if (check === undefined) return stillChecking
  const wrong = check.errors.filter(({ message }) => plugin.enabled || !isMissing(message))
  if (wrong.length === 0) return ''
  const names = wrong.map(({ path, message }) => `${labelAt(plugin.fields, path)} ${message}`)
  return `Cannot be saved yet: ${names.join('; ')}.`
}

function consequence({ name, enabled }: Plugin): string {
  return enabled
    ? `Saving stores the settings and reloads ${name}.`
    : `Saving stores the settings. ${name} is off and stays off.`
}

function savedWords({ name, enabled, state, error }: Plugin): string {
  if (!enabled) return `Saved. ${name} is off.`
  return state === 'running'
    ? `Saved, and ${name} is running with it.`
    : `Saved, but ${name} could not start: ${error?.message ?? state}`
}
