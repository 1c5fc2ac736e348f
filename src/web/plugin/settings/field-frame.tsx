import type { ComponentChildren } from 'preact'
import type { Field } from '../../base/types.ts'
import { hintsFor, unreadVariable } from './field-hints.ts'
import { useForm } from './settings-form.ts'

export interface SettingFieldProps {
  field: Field
  /** Pointer to its value. */
  path: string
  value: unknown
  /** What the plugin would get, as far as it is known. */
  effective: unknown
  onChange(value: unknown): void
}

interface FieldFrameProps extends SettingFieldProps {
  /** The value comes from the secret that is stored, not from what was typed. */
  storedSecret: boolean
  /** What one types the value into. */
  children: ComponentChildren
}

/** What stands around the input of a setting: its name, hints, what is wrong with it, and how to clear it. */
export function FieldFrame(props: FieldFrameProps) {
  const { field, path, value, effective, storedSecret, onChange, children } = props
  const form = useForm()
  const id = idOf(path)
  const message = form.messageFor(path)
  const clearing = value === undefined ? undefined : wayToClear(field, storedSecret)
  const shape = message === '' ? 'field' : 'field wrong'
  const name = (
    <>
      {field.label}
      {field.required ? <span class="required"> (required)</span> : null}
    </>
  )
  const hint = (
    <p class="hint" id={`${id}-hint`}>
      {[...hintsFor(field, value, effective), ...unreadVariable(form.plugin, path, field)].join(' ')}
    </p>
  )
  const rest = (
    <>
      <ErrorLine id={id} text={message === '' ? '' : `${field.label} ${message}.`} />
      {clearing === undefined ? null : (
        <button
          type="button"
          class="quiet small"
          onClick={({ currentTarget, detail }) => {
            onChange(undefined)
            // The button goes. With a finger or the mouse the keys of a phone would come up.
            if (detail === 0) controlBeside(currentTarget, field)?.focus()
          }}
          aria-label={`${clearing} ${field.default === null && !storedSecret ? '' : 'of '}${field.label}`}
        >
          {clearing}
        </button>
      )}
    </>
  )
  if (field.type === 'object' || field.type === 'list') {
    return (
      <fieldset class={`${shape} nested`}>
        <legend class="label">{name}</legend>
        {hint}
        {children}
        {rest}
      </fieldset>
    )
  }
  const bare = field.type === 'boolean' && field.enum === null
  return (
    <div class={shape}>
      {bare ? (
        <span class="label">{name}</span>
      ) : (
        <label class="label" for={id}>
          {name}
        </label>
      )}
      {children}
      {hint}
      {rest}
    </div>
  )
}

/** Where the keyboard goes on in the setting of a button. */
function controlBeside(button: HTMLElement, { type }: Field): HTMLElement | null | undefined {
  // The rows of a list may go as well.
  const wanted = type === 'list' ? '.sortable > button' : 'input, select, textarea, [role=switch]'
  return button.closest('.field')?.querySelector<HTMLElement>(wanted)
}

/** What takes a value away; undefined where one empties the field itself, or must not. */
function wayToClear(field: Field, storedSecret: boolean): string | undefined {
  if (field.required) return undefined
  if (storedSecret) return 'Remove the stored value'
  // A choice has an entry for it.
  if (field.enum !== null) return undefined
  if (field.default !== null) return 'Use the default'
  return field.type === 'boolean' || field.type === 'list' || field.type === 'object' ? 'Clear' : undefined
}

export function ErrorLine({ id, text }: { id: string; text: string }) {
  return (
    <p class="field-error" id={`${id}-error`} aria-live="polite">
      {text}
    </p>
  )
}

/** Of its input; `-hint` and `-error` follow it. */
export function idOf(path: string): string {
  return `field${path.replace('/config/', '-')}`
}
