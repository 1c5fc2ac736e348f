import { pointerSteps } from '../parsing/json-pointer.ts'
import type { Field } from './field.ts'

/** What people call a setting. Pure. */

/** What the pointer `/config/rules/1/to` leads to: `Rules, row 2, To`. */
export function labelAt(fields: readonly Field[], pointer: string): string {
  return namesOf(fields, pointerSteps(pointer).slice(1)).join(', ')
}

function namesOf(fields: readonly Field[] | null, [step, ...below]: readonly string[]): string[] {
  if (step === undefined) return []
  const field = fields?.find(({ key }) => key === step)
  if (field === undefined) return [step, ...below]
  return [field.label, ...(field.type === 'list' ? namesInList(field, below) : namesOf(field.fields, below))]
}

function namesInList({ items, fields }: Field, [step, ...below]: readonly string[]): string[] {
  if (step === undefined) return []
  const name = `${fields === null ? 'value' : 'row'} ${Number(step) + 1}`
  if (items?.type === 'list') return [name, ...namesInList(items, below)]
  return [name, ...namesOf(items === null ? fields : items.fields, below)]
}

/** What people call the setting at a path: `rules[].from` is `Rules, From`; `rules, from` where the fields are not known. */
export function labelOfPath(fields: readonly Field[], path: string): string {
  const own = fields.find(({ key }) => key === path)
  if (own !== undefined) return own.label
  const labels: string[] = []
  let below: readonly Field[] | null = fields
  for (const step of path.split(/[.[\]]+/).filter((one) => one !== '')) {
    const field: Field | undefined = below?.find(({ key }) => key === step)
    labels.push(field?.label ?? step)
    below = field?.fields ?? field?.items?.fields ?? null
  }
  return labels.join(', ')
}

/** What a pointer leads to, with the pointer, by which programs know it; the pointer alone where the setting has no other name. */
export function labelAndPath(fields: readonly Field[], pointer: string): string {
  const label = labelAt(fields, pointer)
  return pointer === `/config/${label}` ? pointer : `${label} (${pointer})`
}
