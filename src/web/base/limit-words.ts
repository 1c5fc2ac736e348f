import { type LimitDefinition, limitDefinitions } from '../../schema/plugin/limit-definitions.ts'

/** Limits in words. Pure. */

/** `stringBytes` is `String bytes`. */
export function limitName(name: string): string {
  const text = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return (text.charAt(0).toUpperCase() + text.slice(1)).replace(/^(http|mqtt)\b/i, (word) =>
    word.toUpperCase(),
  )
}

const kibi = 1024
const mebi = kibi * kibi

/** A value with its unit, as people read it. The megabytes of a limit are those of its engine, of 1,024 kilobytes each. */
export function limitText(value: number, unit: string): string {
  if (unit === 'things') return value.toLocaleString('en')
  if (unit === 'MB') return `${value.toLocaleString('en')} MiB`
  if (unit !== 'bytes') return `${value.toLocaleString('en')} ${unit}`
  if (value >= mebi) return `${Number((value / mebi).toFixed(1))} MiB`
  return value >= kibi ? `${Number((value / kibi).toFixed(1))} KiB` : `${value} bytes`
}

const definitions: Readonly<Record<string, LimitDefinition>> = limitDefinitions

/** The value of a limit. A newer host may have limits that this page does not know. */
export function limitValue(name: string, value: number): string {
  return limitText(value, definitions[name]?.unit ?? 'things')
}
