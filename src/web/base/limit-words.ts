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

/** A value with its unit, as people read it. */
export function limitText(value: number, unit: string): string {
  if (unit === 'things') return value.toLocaleString('en')
  if (unit !== 'bytes') return `${value.toLocaleString('en')} ${unit}`
  if (value >= mebi) return `${Number((value / mebi).toFixed(1))} MiB`
  return value >= kibi ? `${Number((value / kibi).toFixed(1))} KiB` : `${value} bytes`
}
