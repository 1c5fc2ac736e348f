import { isTruthy, option } from '../lua/arguments.ts'
import { bytesArgument, eachPiece, type FormatLibrary } from './format-function.ts'
import { asBuffer } from '../lua/text/bytes.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const lineEndsAndBlanks = new Set(Buffer.from(' \t\r\n'))
const padding = 0x3d
const digits = { plain: digitTable('+/'), url: digitTable('-_') }

/** One for each byte that is a digit. */
function digitTable(last: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(alphabet + last)) table[byte] = 1
  return table
}

/** Base64 of RFC 4648; blanks and line ends are left out, as in MIME, and padding may be missing. */
export const base64: FormatLibrary = {
  encode(context, data, options) {
    const bytes = bytesArgument(data, 'the data')
    context.byteBudget().spend(Math.ceil(bytes.length / 3) * 4)
    const forUrls = isTruthy(option(options, 'url'))
    return Buffer.from(asBuffer(bytes).toString(forUrls ? 'base64url' : 'base64'), 'latin1')
  },

  *decode(_context, text, options) {
    const bytes = bytesArgument(text, 'the text')
    const known = isTruthy(option(options, 'url')) ? digits.url : digits.plain
    const found = Buffer.alloc(bytes.length)
    let length = 0
    let padded = 0
    yield* eachPiece(bytes, (piece, start) => {
      for (let index = 0; index < piece.length; index += 1) {
        const byte = piece[index] ?? 0
        if (known[byte] === 1 && padded === 0) {
          found[length] = byte
          length += 1
        } else if (byte === padding) padded += 1
        else if (!lineEndsAndBlanks.has(byte)) throw new Error(`no Base64 at byte ${start + index + 1}`)
      }
    })
    if (length % 4 === 1 || (padded > 0 && (length + padded) % 4 !== 0) || padded > 2)
      throw new Error('no Base64: it has too few or too many digits at its end')
    return Buffer.from(found.toString('latin1', 0, length), 'base64')
  },
}
