/** Text for Prometheus (exposition format 0.0.4). Pure. */

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  /** What comes after the family's name: `_bucket`, `_sum`, `_count`; empty for most. */
  suffix?: string
  labels?: Labels
  value: number
}

export interface Family {
  /** Letters, digits and `_`; a counter's ends with `_total`. */
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
  samples: readonly Sample[]
}

/** A family without samples says what there could be, so that a query on it is not taken for a mistake. */
export function exposition(families: readonly Family[]): string {
  return families.map(familyText).join('')
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`]
  for (const { suffix = '', labels = {}, value } of samples) {
    lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`)
  }
  return `${lines.join('\n')}\n`
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}

export function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  if (value === -Infinity) return '-Inf'
  return String(value)
}
