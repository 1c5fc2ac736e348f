import type { ComponentChildren } from 'preact'
import { withMovedItem } from '../../base/moved-item.ts'
import type { Field } from '../../base/types.ts'
import { SortableList } from '../../parts/lists/sortable-list.tsx'
import { ErrorLine, FieldFrame, idOf, type SettingFieldProps } from './field-frame.tsx'
import { FieldInput } from './field-input.tsx'
import {
  columnsOf,
  emptyRow,
  objectOf,
  pointerTo,
  sectionsOf,
  shownFields,
  type Values,
  withMember,
} from './setting-places.ts'
import { useForm } from './settings-form.ts'
import { literalText } from '../../parts/inputs/literal-text.ts'
import { hiddenValue } from '../../../schema/plugin/hidden-value.ts'

interface SettingFieldsProps {
  fields: readonly Field[]
  values: Values
  /** What the plugin would get, as far as it is known. */
  effective: Values
  /** Pointer to what holds them. */
  path: string
  onChange(key: string, value: unknown): void
}

/** Settings beside one another: of the whole form, of an object, of a row. */
export function SettingFields({ fields, values, effective, path, onChange }: SettingFieldsProps) {
  const form = useForm()
  const visible = new Set(shownFields(fields, values))
  const isWrong = ({ key }: Field): boolean => form.isWrong(pointerTo(path, key))
  // Nobody can put right what cannot be seen.
  const shown = fields.filter((field) => visible.has(field) || isWrong(field))
  const draw = (field: Field) => (
    <SettingField
      key={field.key}
      field={field}
      path={pointerTo(path, field.key)}
      value={values[field.key]}
      effective={effective[field.key]}
      onChange={(value) => onChange(field.key, value)}
    />
  )
  return (
    <>
      {sectionsOf(shown).map(({ group, fields: plain, advanced }, index) => (
        <Group key={group ?? `plain ${index}`} name={group}>
          {plain.map(draw)}
          {advanced.length === 0 ? null : (
            <details class="advanced" open={advanced.some(isWrong)}>
              <summary>More settings</summary>
              <div class="advanced-fields">{advanced.map(draw)}</div>
            </details>
          )}
        </Group>
      ))}
    </>
  )
}

function Group({ name, children }: { name: string | null; children: ComponentChildren }) {
  if (name === null) return <>{children}</>
  return (
    <fieldset class="group">
      <legend>{name}</legend>
      {children}
    </fieldset>
  )
}

function SettingField(props: SettingFieldProps) {
  const { field, path, value, onChange } = props
  const message = useForm().messageFor(path)
  const id = idOf(path)
  const isNested = field.type === 'object' || field.type === 'list'
  // A text in place of rows or members is hidden as a whole where there are secrets among them.
  const storedSecret = value === hiddenValue && (field.secret || isNested)
  return (
    <FieldFrame {...props} storedSecret={storedSecret}>
      {isNested ? (
        <NestedInput {...props} storedSecret={storedSecret} />
      ) : (
        <FieldInput
          field={field}
          id={id}
          value={value}
          storedSecret={storedSecret}
          describedBy={`${id}-hint ${id}-error`}
          invalid={message !== ''}
          onChange={onChange}
        />
      )}
    </FieldFrame>
  )
}

function NestedInput(props: SettingFieldProps & { storedSecret: boolean }) {
  const { field, path, value, effective, storedSecret, onChange } = props
  if (field.type === 'list' && typeof value === 'string' && !field.secret)
    return <LinesOfList {...props} text={value} />
  if (storedSecret) return <StoredButton {...props} />
  if (field.type === 'list') return <ListInput {...props} />
  const values = objectOf(value)
  return (
    <SettingFields
      fields={field.fields ?? []}
      values={values}
      effective={objectOf(effective)}
      path={path}
      onChange={(key, member) => {
        const next = withMember(values, key, member)
        onChange(Object.keys(next).length === 0 ? undefined : next)
      }}
    />
  )
}

function StoredButton({ field, onChange }: SettingFieldProps) {
  return (
    <button type="button" class="small" onClick={() => onChange(field.type === 'list' ? [] : {})}>
      Stored; replace it
    </button>
  )
}

interface LinesOfListProps extends SettingFieldProps {
  text: string
  storedSecret: boolean
}

/** A text from the time when the list was one, of which not every line can be read. */
function LinesOfList(props: LinesOfListProps) {
  const { field, path, effective, text, storedSecret, onChange } = props
  return (
    <>
      {storedSecret ? (
        <StoredButton {...props} />
      ) : (
        <textarea
          id={idOf(path)}
          rows={5}
          value={text}
          aria-label={field.label}
          {...literalText}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
      <p class="hint">
        Not every line can be read. The log of the plugin says which are left out.
        {storedSecret ? ' The text is not shown, as it may have secrets in it.' : ''}
      </p>
      {Array.isArray(effective) ? (
        <button type="button" class="small" onClick={() => onChange(effective)}>
          Make rows of the lines that can be read
        </button>
      ) : null}
    </>
  )
}

function ListInput({ field, path, value, effective, onChange }: SettingFieldProps) {
  const typed = value ?? field.default
  const rows = Array.isArray(typed) ? (typed as readonly unknown[]) : []
  const filled = Array.isArray(effective) ? (effective as readonly unknown[]) : []
  return (
    <SortableList
      label={field.label}
      noun={field.fields === null ? 'value' : 'row'}
      count={rows.length}
      full={field.maxItems !== null && rows.length >= field.maxItems}
      flat={field.fields === null && field.items?.type !== 'list' && field.items?.type !== 'object'}
      row={(index) => (
        <Row
          list={field}
          number={index + 1}
          path={pointerTo(path, index)}
          value={rows[index]}
          effective={filled[index]}
          onChange={(row) => onChange(rows.map((other, position) => (position === index ? row : other)))}
        />
      )}
      onAdd={() => onChange([...rows, emptyRow(field)])}
      onRemove={(index) => onChange(rows.filter((_, position) => position !== index))}
      onMove={(from, to) => onChange(withMovedItem(rows, from, to))}
    />
  )
}

interface RowProps extends Omit<SettingFieldProps, 'field'> {
  list: Field
  /** Counted from 1. */
  number: number
}

function Row({ list, number, path, value, effective, onChange }: RowProps) {
  const message = useForm().messageFor(path)
  const columns = columnsOf(list)
  const { items } = list
  const label = `${list.label}, ${columns === null ? 'value' : 'row'} ${number}`
  const error = <ErrorLine id={idOf(path)} text={message === '' ? '' : `${label} ${message}.`} />
  if (columns === null && items?.type !== 'list') {
    const field: Field =
      items === null ? { ...list, type: 'string', suggest: null, label } : { ...items, label }
    return (
      <div class={message === '' ? 'row-body' : 'row-body field wrong'}>
        <label class="hidden" for={idOf(path)}>
          {label}
        </label>
        <FieldInput
          field={field}
          id={idOf(path)}
          value={value ?? undefined}
          storedSecret={field.secret && value === hiddenValue}
          describedBy={`${idOf(path)}-error`}
          invalid={message !== ''}
          onChange={(typed) => onChange(typed ?? null)}
        />
        {error}
      </div>
    )
  }
  const values = objectOf(value)
  return (
    <div class="row-body" role="group" aria-label={label}>
      {columns === null && items !== null ? (
        <ListInput
          field={{ ...items, label }}
          path={path}
          value={value}
          effective={effective}
          onChange={onChange}
        />
      ) : (
        <SettingFields
          fields={columns ?? []}
          values={values}
          effective={objectOf(effective)}
          path={path}
          onChange={(key, member) => onChange(withMember(values, key, member))}
        />
      )}
      {error}
    </div>
  )
}
