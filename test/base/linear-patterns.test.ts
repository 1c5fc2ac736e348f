import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ESLint, Linter } from 'eslint'
import * as regexp from 'eslint-plugin-regexp'

/** Regular expressions see what strangers wrote: none may take more time than the text is long. */

const root = join(import.meta.dirname, '..', '..')
const schemas = join(root, 'src', 'schema')
const rules = ['regexp/no-super-linear-backtracking', 'regexp/no-super-linear-move'] as const
const linter = new Linter()

/** What the rules say of an expression; nothing when it is linear. */
function complaints(pattern: string): string[] {
  const options = ['error', { report: 'potential' }] as const
  return linter
    .verify(`void new RegExp(${JSON.stringify(pattern)}, 'u')`, {
      plugins: { regexp: regexp as object },
      rules: Object.fromEntries(rules.map((rule) => [rule, [...options]])),
    })
    .map(({ message }) => `${pattern}: ${message}`)
}

/** Every `pattern` of a schema, and of what it is made of. */
function patternsOf(value: unknown, seen: Set<unknown>): string[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return []
  seen.add(value)
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'pattern' && typeof member === 'string' ? [member] : patternsOf(member, seen),
  )
}

test('the linter knows an expression that is not linear, and looks at every source', async () => {
  for (const slow of ['/+$', '^(\\d+\\.?\\d*)+$', '(a|a)*b']) assert.notDeepEqual(complaints(slow), [], slow)
  assert.deepEqual(complaints('^[a-z0-9]+$'), [])
  const eslint = new ESLint({ cwd: root })
  for (const file of ['src/base/log/redaction.ts', 'src/web/main.tsx', 'machines/host.ts']) {
    const config = (await eslint.calculateConfigForFile(join(root, file))) as {
      rules: Record<string, unknown[]>
    }
    for (const rule of rules) assert.equal(config.rules[rule]?.[0], 2, `${rule} for ${file}`)
  }
})

test('the patterns of the schemas are linear', async () => {
  const seen = new Set<unknown>()
  const patterns = new Set<string>()
  const files = readdirSync(schemas, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const module: Record<string, unknown> = await import(join(schemas, file))
    for (const pattern of patternsOf({ ...module }, seen)) patterns.add(pattern)
  }
  assert.ok(patterns.size > 10)
  assert.deepEqual([...patterns].flatMap(complaints), [])
})
