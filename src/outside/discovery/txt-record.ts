/** Of what a service tells of itself: names, and values of which each character is a byte. */
export type Txt = [key: string, value: string][]

/** Bytes of all of it; RFC 6763, section 6.2 advises against more than 1300. */
const txtLimit = 4_096
const pairLimit = 100
const equalsSign = 0x3d

/** RFC 6763, section 6.4: what has no name is left out, of equal names the first counts, in whatever case. */
export function readTexts(texts: readonly Buffer[]): Txt {
  const found = new Map<string, [string, string]>()
  let bytes = 0
  for (const text of texts) {
    const at = text.indexOf(equalsSign)
    const key = text.toString('latin1', 0, at === -1 ? text.length : at)
    bytes += text.length
    if (bytes > txtLimit || found.size >= pairLimit) break
    if (!/^[\x20-\x7e]+$/.test(key) || found.has(key.toLowerCase())) continue
    found.set(key.toLowerCase(), [key, at === -1 ? '' : text.toString('latin1', at + 1)])
  }
  return [...found.values()]
}
