import { bytesArgument, eachPiece, type FormatLibrary } from './format-function.ts'
import { asBuffer, toLatin1 } from '../lua/text/bytes.ts'

/** Two hexadecimal digits a byte: small ones out, either in. */
export const hex: FormatLibrary = {
  encode(context, data) {
    const bytes = bytesArgument(data, 'the data')
    context.byteBudget().spend(bytes.length * 2)
    return Buffer.from(asBuffer(bytes).toString('hex'), 'latin1')
  },

  *decode(_context, text) {
    const digits = bytesArgument(text, 'the text')
    if (digits.length % 2 !== 0) throw new Error('no hexadecimal text: it has an odd number of digits')
    const bytes = Buffer.alloc(digits.length / 2)
    yield* eachPiece(digits, (piece, start) => {
      const part = toLatin1(piece)
      // It ends at the first that is no digit.
      const written = bytes.write(part, start / 2, 'hex')
      if (written * 2 < part.length)
        throw new Error(`no hexadecimal digits at byte ${start + written * 2 + 1}`)
    })
    return bytes
  },
}
