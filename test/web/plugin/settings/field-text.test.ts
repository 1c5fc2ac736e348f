import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPoint } from '../../../../src/web/base/typed-number.ts'
import type { Field } from '../../../../src/web/base/types.ts'
import { hasLines, placeholderOf, typedValue } from '../../../../src/web/plugin/settings/field-text.ts'

const field = (more: Partial<Field>): Field =>
  ({
    key: 'x',
    type: 'string',
    label: 'X',
    description: null,
    default: null,
    secret: false,
    ...more,
  }) as Field

const lines: [title: string, field: Partial<Field>, value: unknown, expected: boolean][] = [
  ['the type text', { type: 'text' }, undefined, true],
  ['a description of rules', { description: 'One rule a line (or separated by ;)' }, undefined, true],
  ['a description of entries', { description: 'Entries, one per line' }, undefined, true],
  ['a description of lines', { description: 'Lines of the form a = b' }, undefined, true],
  ['a stored value with lines', {}, 'a\nb', true],
  ['a default with lines', { default: 'a\nb' }, undefined, true],
  ['a short text', { description: 'Where it is online' }, 'a', false],
  ['a number', { type: 'number', description: 'One a line' }, 5, false],
]

for (const [title, more, value, expected] of lines) {
  test(`${title} is typed in ${expected ? 'several lines' : 'one line'}`, () => {
    assert.equal(hasLines(field(more), value), expected)
  })
}

test('a decimal comma is a point where the language has one, and a mistake elsewhere', () => {
  assert.equal(withPoint('-1,5', ','), '-1.5')
  assert.equal(withPoint('1,000', '.'), '1,000')
})

const placeholders: [title: string, field: Partial<Field>, value: unknown, expected: string][] = [
  ['the default is what an unset one gets', { default: 5 }, undefined, '5'],
  ['the author may say what to type', { placeholder: 'about 20' }, undefined, 'about 20'],
  ['a default goes before that', { default: 'kitchen', placeholder: 'a room' }, undefined, 'kitchen'],
  [
    'a text that was saved empty does not get the default',
    { default: 'kitchen' },
    '',
    'Empty, not the default',
  ],
  ['an empty default is nothing else', { default: '' }, '', ''],
]

for (const [title, more, value, expected] of placeholders) {
  test(`in an empty field: ${title}`, () => {
    assert.equal(placeholderOf(field(more), value), expected)
  })
}

const typed: [title: string, field: Partial<Field>, text: string, expected: unknown][] = [
  ['an empty text without a default is no value', {}, '', undefined],
  ['an empty text over a default is stored', { default: 'kitchen' }, '', ''],
  ['an empty number over a default is no value', { type: 'number', default: 5 }, '', undefined],
  ['an empty secret over a default is no value', { secret: true, default: 'x' }, '', undefined],
  ['a number is a number', { type: 'number' }, '1.5', 1.5],
  ['a number that is still being typed is one', { type: 'number' }, '1.', 1],
  ['zeros behind a number say nothing', { type: 'number' }, '-0.250', -0.25],
  ['a number may begin with its point', { type: 'number' }, '-.5', -0.5],
  ['a hundred has its zeros', { type: 'integer' }, '100', 100],
  [
    'more digits than a number has stay text',
    { type: 'integer' },
    '12345678901234567890',
    '12345678901234567890',
  ],
  ['what is no number stays text', { type: 'number' }, '1,000', '1,000'],
  ['digits of a text stay text', {}, '15', '15'],
]

for (const [title, more, text, expected] of typed) {
  test(title, () => {
    assert.equal(typedValue(field(more), text), expected)
  })
}
