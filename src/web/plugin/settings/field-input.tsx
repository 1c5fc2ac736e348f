import { useRef, useState } from 'preact/hooks'
import { numberKeys } from '../../base/typed-number.ts'
import type { Field } from '../../base/types.ts'
import { inputText, valueText } from '../../base/words.ts'
import { Switch } from '../../parts/inputs/switch.tsx'
import { hasLines, isNumeric, placeholderOf, typedValue } from './field-text.ts'
import { SuggestionList, useSuggestions } from './suggestions.tsx'
import { literalText } from '../../parts/inputs/literal-text.ts'
import { hiddenValue } from '../../../schema/plugin/hidden-value.ts'

interface FieldInputProps {
  field: Field
  id: string
  /** As it would be saved; undefined when nothing is. */
  value: unknown
  /** The value comes from the secret that is stored, not from what was typed. */
  storedSecret: boolean
  describedBy: string
  invalid: boolean
  onChange(value: unknown): void
}

/** What one types a value into, by the type of the field. */
export function FieldInput(props: FieldInputProps) {
  const { field } = props
  if (field.enum !== null) return <ChoiceInput {...props} choices={field.enum} />
  if (field.type === 'boolean') return <BooleanInput {...props} />
  if (field.secret) return <SecretInput {...props} />
  return hasLines(field, props.value) ? <LinesInput {...props} /> : <TextInput {...props} />
}

function ChoiceInput({
  field,
  id,
  value,
  describedBy,
  invalid,
  onChange,
  choices,
}: FieldInputProps & { choices: unknown[] }) {
  const index = choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value))
  // It was a choice of another version.
  const isNone = index === -1 && value !== undefined && value !== null && value !== ''
  return (
    <select
      id={id}
      value={isNone ? 'none of them' : String(index)}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      onChange={({ currentTarget }) => onChange(choices[Number(currentTarget.value)])}
    >
      <option value="-1">
        {field.default === null ? 'Not set' : `Default: ${valueText(field.default)}`}
      </option>
      {isNone ? <option value="none of them">{valueText(value)}</option> : null}
      {choices.map((choice, position) => (
        <option key={position} value={String(position)}>
          {String(choice)}
        </option>
      ))}
    </select>
  )
}

function BooleanInput({ field, value, onChange }: FieldInputProps) {
  const on = typeof value === 'boolean' ? value : field.default === true
  return <Switch label={field.label} on={on} onChange={onChange} />
}

/** What was typed stays as it is while it stands for the value, as `1,50` does for 1.5; answers what another text stands for. */
function useTyped(field: Field, value: unknown): [text: string, type: (text: string) => unknown] {
  const [typed, setTyped] = useState('')
  function type(text: string): unknown {
    setTyped(text)
    return typedValue(field, text)
  }
  return [typed !== '' && typedValue(field, typed) === value ? typed : inputText(value), type]
}

function LinesInput({ field, id, value, describedBy, invalid, onChange }: FieldInputProps) {
  return (
    <textarea
      id={id}
      rows={5}
      value={inputText(value)}
      placeholder={placeholderOf(field, value)}
      {...literalText}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      onInput={({ currentTarget }) => onChange(typedValue(field, currentTarget.value))}
    />
  )
}

function TextInput({ field, id, value, describedBy, invalid, onChange }: FieldInputProps) {
  const { suggestions, load } = useSuggestions(field)
  const [text, type] = useTyped(field, value)
  const list = field.suggest === null ? {} : { list: `${id}-suggestions`, onFocus: load }
  const input = (
    <input
      id={id}
      {...list}
      value={text}
      placeholder={placeholderOf(field, value)}
      inputMode={isNumeric(field) ? numberKeys(field.min) : 'text'}
      {...literalText}
      aria-describedby={field.unit === null ? describedBy : `${id}-unit ${describedBy}`}
      aria-invalid={invalid}
      onInput={({ currentTarget }) => onChange(type(currentTarget.value))}
    />
  )
  return (
    <>
      {field.unit === null ? (
        input
      ) : (
        <div class="with-unit">
          {input}
          <span id={`${id}-unit`}>{field.unit}</span>
        </div>
      )}
      {field.suggest === null ? null : <SuggestionList id={`${id}-suggestions`} suggestions={suggestions} />}
    </>
  )
}

function SecretInput({ field, id, value, storedSecret, describedBy, invalid, onChange }: FieldInputProps) {
  const [revealed, setRevealed] = useState(false)
  // What is cleared again is what is stored, be it since this form was opened.
  const before = useRef<string | undefined>(undefined)
  if (storedSecret) before.current = hiddenValue
  const [typed, type] = useTyped(field, value)
  const text = storedSecret ? '' : typed
  return (
    <div class="secret">
      <input
        id={id}
        {...(revealed && text !== '' ? { type: 'text' as const } : { type: 'password' as const })}
        value={text}
        placeholder={storedSecret ? 'Stored; type to replace it' : (field.placeholder ?? '')}
        {...literalText}
        autocomplete="new-password"
        aria-describedby={describedBy}
        aria-invalid={invalid}
        onInput={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? before.current : type(currentTarget.value))
        }
      />
      <button
        type="button"
        aria-pressed={revealed}
        disabled={text === ''}
        onClick={() => setRevealed(!revealed)}
        aria-label={`Show what was typed for ${field.label}`}
      >
        {revealed ? 'Hide' : 'Show'}
      </button>
    </div>
  )
}
