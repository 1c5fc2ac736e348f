import { isJsonObject } from '../../base/text/json.ts'

// Without schemas, so that the pages can use it too.

/** What `${config.…}` of a permission stands for: `key`, `a.member`, `rules[].column`, at any depth. Pure. */

type Config = Readonly<Record<string, unknown>>

const reference = /\$\{config\.([^{}/]+)\}/g

/** The path of a permission that is nothing but one reference. */
export function onlyReference(pattern: string): string | undefined {
  return /^\$\{config\.([^{}/]+)\}$/.exec(pattern)?.[1]
}

/** Entries that one line of a manifest becomes at most: of two lists each pair of their rows is one. */
export const entryLimit = 10_000
/** Characters of them together: a text that is configured may stand in each. */
export const entriesLength = 4 * 1024 * 1024

/**
 * The pattern with what is configured in place of its references: once for each row that they lead through, with values
 * of the same row. None where something is not configured, for what it would be then is nobody's wish; and none at all
 * beyond `most`.
 */
export function withReferences(pattern: string, config: Config, most = entryLimit): string[] {
  let patterns = [pattern]
  for (;;) {
    const list = firstList(patterns[0] ?? '', config)
    if (list === undefined) return filled(patterns, config)
    // Row by row: each reference into this list speaks of the same row.
    const next: string[] = []
    for (const one of patterns)
      for (const row of rowsOf(config, firstList(one, config) ?? list)) {
        // Before all pairs of two long lists have been made.
        if (next.length >= Math.min(most, entryLimit)) return []
        next.push(ofRow(one, row))
      }
    patterns = next
  }
}

/** Path of the list that the first `[]` of a pattern stands behind. */
function firstList(pattern: string, config: Config): string | undefined {
  const paths = [...pattern.matchAll(reference)].map(([, path = '']) => path)
  const path = paths.find((one) => one.includes('[]') && !Object.hasOwn(config, one))
  return path?.slice(0, path.indexOf('[]'))
}

/** Paths of its rows: `rules[0]`, `rules[1]`. */
function rowsOf(config: Config, list: string): string[] {
  const rows = valuesAt(config, list)[0]
  return Array.isArray(rows) ? rows.map((_, index) => `${list}[${index}]`) : []
}

function ofRow(pattern: string, row: string): string {
  const list = `${row.slice(0, row.lastIndexOf('['))}[]`
  return pattern.replace(reference, (whole, path: string) =>
    path.startsWith(list) ? `\${config.${row}${path.slice(list.length)}}` : whole,
  )
}

/** None when they are too long together. */
function filled(patterns: readonly string[], config: Config): string[] {
  const entries: string[] = []
  let length = 0
  for (const pattern of patterns)
    for (const entry of withValues(pattern, config)) {
      length += entry.length
      if (length > entriesLength) return []
      entries.push(entry)
    }
  return entries
}

function withValues(pattern: string, config: Config): string[] {
  const valueOf = (path: string): unknown => valuesAt(config, path)[0]
  const paths = [...pattern.matchAll(reference)].map(([, path = '']) => path)
  if (!paths.every((path) => isUsable(valueOf(path)))) return []
  return [pattern.replace(reference, (_, path: string) => String(valueOf(path)))]
}

/** All values that a path leads to; of several rows one each. */
export function valuesAt(config: Config, path: string): unknown[] {
  if (Object.hasOwn(config, path)) return [config[path]]
  return stepsOf(path).reduce<unknown[]>(
    (found, step) => found.flatMap((value) => below(value, step)),
    [config],
  )
}

/** `a.rules[].to` → a, rules, [], to; a number in the brackets is one row. */
function stepsOf(path: string): string[] {
  return path.match(/\[\d*\]|[^.[\]]+/g) ?? []
}

function below(value: unknown, step: string): unknown[] {
  if (step === '[]') return Array.isArray(value) ? value : []
  if (step.startsWith('[')) return Array.isArray(value) ? [value[Number(step.slice(1, -1))]] : []
  return isJsonObject(value) && Object.hasOwn(value, step) ? [value[step]] : []
}

function isUsable(value: unknown): value is string | number {
  return (typeof value === 'string' && value !== '') || typeof value === 'number'
}
