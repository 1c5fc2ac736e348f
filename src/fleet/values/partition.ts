/** Into how many parts the values of a plugin go, so that a change of one writes little. */

/** Characters of JSON of a part, about; fewer than that in all stand in the record itself. */
const partSize = 32 * 1024

/** `size`: characters of all entries as JSON. 0: they are in the record. `before`: the number now, kept while it is right. */
export function numberOfParts(size: number, before: number): number {
  if (size <= partSize) return 0
  let number = 2
  while (size > number * partSize) number *= 2
  // Shrinking is no hurry: a store that goes up and down is not written anew each time.
  return number < before && number * 4 > before ? before : number
}

/** The part that a key is in. */
export function partOf(key: string, parts: number): number {
  let hash = 0x81_1c_9d_c5
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01_00_01_93)
  }
  // The lower bits of this hash alone repeat too soon.
  return ((hash ^ (hash >>> 15)) >>> 0) % parts
}
