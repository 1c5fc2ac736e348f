/** Numbers as people type them, on a phone with its keys for numbers. */

const marks = new Intl.NumberFormat().formatToParts(1.5)
const decimalMark = marks.find(({ type }) => type === 'decimal')?.value

/** With a point, also where the language has a comma: of an iPhone these keys have no point then. */
export function withPoint(text: string, mark = decimalMark): string {
  return mark === ',' ? text.replace(',', '.') : text
}

/** For `inputMode`. Of an iPhone the keys for numbers have no minus. */
export function numberKeys(min: number | null | undefined): 'decimal' | 'text' {
  return (min ?? -1) >= 0 ? 'decimal' : 'text'
}
