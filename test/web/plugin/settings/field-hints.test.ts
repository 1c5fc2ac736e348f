import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hintsFor } from '../../../../src/web/plugin/settings/field-hints.ts'
import type { Field } from '../../../../src/web/base/types.ts'

const field = (more: Partial<Field>): Field =>
  ({
    key: 'x',
    type: 'string',
    label: 'X',
    description: null,
    placeholder: null,
    default: null,
    required: false,
    enum: null,
    min: null,
    max: null,
    minItems: null,
    maxItems: null,
    env: null,
    ...more,
  }) as Field

const hints: [title: string, field: Partial<Field>, hints: string[]][] = [
  ['nothing is said of a field of which nothing is known', {}, []],
  ['a default is told', { default: 'kitchen' }, ['Default: kitchen.']],
  ['an empty default is told as such', { default: '' }, ['Default: empty.']],
  ['bounds are told', { type: 'number', min: 0, max: 5 }, ['From 0 to 5.']],
]

for (const [title, more, expected] of hints)
  test(title, () => {
    assert.deepEqual(hintsFor(field(more), undefined, undefined), expected)
  })
