/** The character classes of Lua patterns, on bytes, in the C locale. Pure. */

const isLetter = (c: number): boolean => (c >= 65 && c <= 90) || (c >= 97 && c <= 122)
export const isDigit = (c: number): boolean => c >= 48 && c <= 57
const isVisible = (c: number): boolean => c > 32 && c < 127

const classes: Readonly<Record<string, (c: number) => boolean>> = {
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

/** What a character behind `%` matches, 256 answers each, of those that were asked for. */
const tables: (Uint8Array | undefined)[] = Array.from({ length: 256 })

/** An upper-case letter is the opposite of its class; any other character stands for itself. */
function tableOf(character: number): Uint8Array {
  const letter = String.fromCharCode(character)
  const found = classes[letter.toLowerCase()]
  const holds =
    found === undefined
      ? (c: number) => c === character
      : letter in classes
        ? found
        : (c: number) => !found(c)
  return (tables[character] = Uint8Array.from({ length: 256 }, (_, c) => (holds(c) ? 1 : 0)))
}

/** Whether the class of `letter` has the byte. */
export function inClass(c: number, letter: number): boolean {
  return (tables[letter] ?? tableOf(letter))[c] === 1
}
