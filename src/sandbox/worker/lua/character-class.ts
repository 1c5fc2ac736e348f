/** The character classes of Lua patterns, on bytes, in the C locale. Pure. */

const isLetter = (c: number): boolean => (c >= 65 && c <= 90) || (c >= 97 && c <= 122)
export const isDigit = (c: number): boolean => c >= 48 && c <= 57
const isVisible = (c: number): boolean => c > 32 && c < 127

const classes: Record<string, (c: number) => boolean> = {
  a: isLetter,
  c: (c) => c < 32 || c === 127,
  d: isDigit,
  g: isVisible,
  l: (c) => c >= 97 && c <= 122,
  p: (c) => isVisible(c) && !isLetter(c) && !isDigit(c),
  s: (c) => c === 32 || (c >= 9 && c <= 13),
  u: (c) => c >= 65 && c <= 90,
  w: (c) => isLetter(c) || isDigit(c),
  x: (c) => isDigit(c) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102),
  z: (c) => c === 0,
}

/** What a letter behind `%` matches: 256 answers. */
const classTables = new Map<number, Uint8Array>()
for (const [letter, holds] of Object.entries(classes)) {
  const table = Uint8Array.from({ length: 256 }, (_unused, c) => (holds(c) ? 1 : 0))
  classTables.set(letter.charCodeAt(0), table)
  classTables.set(
    letter.toUpperCase().charCodeAt(0),
    table.map((bit) => 1 - bit),
  )
}

/** Whether the class of `letter` has the byte; any other character stands for itself. */
export function inClass(c: number, letter: number): boolean {
  const table = classTables.get(letter)
  return table === undefined ? letter === c : table[c] === 1
}
