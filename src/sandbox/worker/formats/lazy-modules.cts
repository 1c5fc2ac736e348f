// Modules that only some plugins need: each is loaded when the first of them uses it. In CommonJS, because a function of
// Lua has no time to wait for one.
type Crypto = typeof import('node:crypto')
/** With what its types do not tell of. */
interface Sax {
  MAX_BUFFER_LENGTH: number
  parser(strict: true, options: { strictEntities: true }): import('sax').SAXParser
}

const cryptography = (): Crypto => require('node:crypto') as Crypto
const sax = (): Sax => require('sax') as Sax

export = { cryptography, sax }
