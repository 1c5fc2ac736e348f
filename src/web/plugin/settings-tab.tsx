import { useState } from 'preact/hooks'
import { pluginApi, send, wordsOf } from '../base/api.ts'
import { connection } from '../base/stream.ts'
import type { ConfigCheck, Field, Plugin } from '../base/types.ts'
import { valueText } from '../base/words.ts'
import { Empty, Failure } from '../parts/feedback.tsx'
import { tell } from '../parts/notices.tsx'
import { putPlugin } from '../store/plugins.ts'
import { type Difference, differences, draftOf, hiddenValue, setDraft, withDraft } from './draft.ts'
import { FieldInput } from './field-input.tsx'
import { useConfigCheck } from './use-config-check.ts'

export function SettingsTab({ plugin }: { plugin: Plugin }) {
  const { id, fields } = plugin
  const draft = draftOf(id)
  const config = withDraft(plugin.config, draft)
  const { check, error } = useConfigCheck(id, config)
  const [saving, setSaving] = useState(false)
  const [failure, setFailure] = useState('')
  const changes = differences(plugin, draft)
  const problem = whyNot(plugin, changes, check, error)
  const others = Object.keys(plugin.config).filter((key) => !fields.some((field) => field.key === key))

  function change(key: string, value: unknown): void {
    // A value that is as stored is no change.
    const next = new Map(draft)
    if (JSON.stringify(plugin.config[key]) === JSON.stringify(value)) next.delete(key)
    else if (value === hiddenValue && plugin.config[key] === undefined) next.delete(key)
    else next.set(key, value)
    setDraft(plugin, next)
    setFailure('')
  }

  async function save(event: Event): Promise<void> {
    event.preventDefault()
    if (problem !== '' || saving) return
    setSaving(true)
    try {
      const saved = await send<Plugin>('POST', pluginApi(id, '/config'), { config })
      setDraft(plugin, new Map())
      putPlugin(saved)
      tell(savedWords(saved))
    } catch (reason) {
      setFailure(wordsOf(reason))
    } finally {
      setSaving(false)
    }
  }

  if (fields.length === 0 && others.length === 0) return <Empty>{plugin.name} has no settings.</Empty>
  return (
    <form class="panel settings" onSubmit={(event) => void save(event)} noValidate>
      {fields.map((field) => (
        <FieldRow
          key={field.key}
          field={field}
          plugin={plugin}
          value={config[field.key]}
          message={messageFor(field.key, check)}
          effective={check?.effective[field.key]}
          onChange={(value) => change(field.key, value)}
        />
      ))}
      {others.length === 0 ? null : <p class="hint">Also stored, and kept as it is: {others.join(', ')}.</p>}
      <div class="save">
        {changes.length === 0 ? null : <Changes changes={changes} />}
        {failure === '' ? null : <Failure text={failure} />}
        <p class="hint" id="save-hint" role="status">
          {saving ? 'Saving…' : problem !== '' ? problem : consequence(plugin)}
        </p>
        <div class="actions">
          <button
            type="submit"
            class="primary"
            disabled={saving || problem !== ''}
            aria-describedby="save-hint"
          >
            {plugin.enabled ? 'Save and reload' : 'Save'}
          </button>
          <button
            type="button"
            disabled={saving || draft.size === 0}
            onClick={() => setDraft(plugin, new Map())}
          >
            Discard changes
          </button>
        </div>
      </div>
    </form>
  )
}

interface FieldRowProps {
  field: Field
  plugin: Plugin
  value: unknown
  message: string
  effective: unknown
  onChange(value: unknown): void
}

function FieldRow({ field, plugin, value, message, effective, onChange }: FieldRowProps) {
  const id = `field-${field.key}`
  const storedSecret = field.secret && value === hiddenValue
  const bare = field.type === 'boolean' && field.enum === null
  return (
    <div class={message === '' ? 'field' : 'field wrong'}>
      {bare ? (
        <span class="label">{field.label}</span>
      ) : (
        <label class="label" for={id}>
          {field.label}
          {field.required ? <span class="required"> (required)</span> : null}
        </label>
      )}
      <FieldInput
        field={field}
        id={id}
        value={value}
        storedSecret={storedSecret}
        describedBy={`${id}-hint ${id}-error`}
        invalid={message !== ''}
        onChange={onChange}
      />
      <p class="hint" id={`${id}-hint`}>
        {[...hints(field, value, effective), ...unreadVariable(plugin, field)].join(' ')}
      </p>
      <p class="field-error" id={`${id}-error`} aria-live="polite">
        {message === '' ? '' : `${field.label} ${message}.`}
      </p>
      {value === undefined || field.required ? null : (
        <button
          type="button"
          class="quiet small"
          onClick={() => onChange(undefined)}
          aria-label={`${field.default === null ? 'Clear' : 'Use the default of'} ${field.label}`}
        >
          {storedSecret || plugin.fields.length === 0
            ? 'Remove the stored value'
            : field.default === null
              ? 'Clear'
              : 'Use the default'}
        </button>
      )}
    </div>
  )
}

function hints(field: Field, value: unknown, effective: unknown): string[] {
  const { description, min, max, env } = field
  const result: string[] = []
  if (description !== null) result.push(description.replace(/[^.!?]$/, '$&.'))
  if (min !== null && max !== null) result.push(`From ${min} to ${max}.`)
  else if (min !== null) result.push(`At least ${min}.`)
  else if (max !== null) result.push(`At most ${max}.`)
  if (field.default !== null) result.push(`Default: ${valueText(field.default)}.`)
  if (env === null) return result
  const isUnset = value === undefined || value === ''
  const found = isUnset && effective !== undefined && effective !== field.default
  result.push(
    found
      ? `Now from the environment variable ${env}: ${valueText(effective)}.`
      : `When empty, the environment variable ${env} is used.`,
  )
  return result
}

/** A variable that could be read, were it allowed. Where it is required, the message below the field says so. */
function unreadVariable({ environment }: Plugin, { key, required }: Field): string[] {
  const refused = environment.refused.find((one) => one.key === key)
  if (refused === undefined || required) return []
  return [`Not from the environment: ${refused.message}.`]
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

function messageFor(key: string, check: ConfigCheck | undefined): string {
  const pointer = `/config/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return (
    check?.errors
      .filter(({ path }) => path === pointer)
      .map(({ message }) => message)
      .join('; ') ?? ''
  )
}

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
  if (connection.value !== 'connected') return 'The host is not there at the moment. What you typed is kept.'
  if (error !== '') return `This could not be checked: ${error}`
  if (check === undefined) return 'Checking…'
  const wrong = check.errors.filter(({ message }) => plugin.enabled || !isMissing(message))
  if (wrong.length === 0) return ''
  const names = wrong.map(({ path, message }) => `${labelOf(plugin, path)} ${message}`)
  return `Cannot be saved yet: ${names.join('; ')}.`
}

function labelOf(plugin: Plugin, path: string): string {
  const key = path.replace('/config/', '').replaceAll('~1', '/').replaceAll('~0', '~')
  return plugin.fields.find((field) => field.key === key)?.label ?? key
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
