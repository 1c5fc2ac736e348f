/** What may come next in a JSON text. */
type Expectation =
  'value' | 'value or end of array' | 'key' | 'key or end of object' | 'colon' | 'next' | 'end'

const blank = /[ \t\n\r]*/y
/** Up to the quote at its end, or to what stands in its way. */
const string = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y
const literal = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

function end(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start
  return pattern.test(text) ? pattern.lastIndex : start
}

const space = 0x20

function afterValue(open: readonly string[]): Expectation {
  return open.length === 0 ? 'end' : 'next'
}

/** Where a text that is not JSON stops being it. The parser of the platform does not always say so, and quotes the text. */
export function jsonErrorPosition(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: Expectation = 'value'
  let position = end(blank, text, 0)
  while (position < text.length) {
    const character = text.charAt(position)
    const start = position
    if (character === '"' && expected !== 'colon' && expected !== 'next' && expected !== 'end') {
      const quote = end(string, text, start)
      if (text.charAt(quote) !== '"') return quote
      position = quote + 1
      expected = expected.startsWith('key') ? 'colon' : afterValue(open)
    } else if (expected === 'key' || expected === 'key or end of object') {
      if (character === '}' && expected !== 'key') {
        open.pop()
        expected = afterValue(open)
        position += 1
      }
    } else if (expected === 'colon') {
      if (character === ':') position += 1
      expected = 'value'
    } else if (expected === 'next') {
      const inside = open.at(-1)
      if (character === ',') {
        expected = inside === '{' ? 'key' : 'value'
        position += 1
      } else if (character === (inside === '{' ? '}' : ']')) {
        open.pop()
        expected = afterValue(open)
        position += 1
      }
    } else if (expected !== 'end') {
      if (character === '{' || character === '[') {
        open.push(character)
        expected = character === '{' ? 'key or end of object' : 'value or end of array'
        position += 1
      } else if (character === ']' && expected === 'value or end of array') {
        open.pop()
        expected = afterValue(open)
        position += 1
      } else {
        position = end(literal, text, start)
        expected = afterValue(open)
      }
    }
    if (position === start) return start
    // To ask the pattern at each character takes five times as long, and there may be a million.
    if (text.charCodeAt(position) <= space) position = end(blank, text, position)
  }
  return text.length
}
