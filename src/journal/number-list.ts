/** Whole numbers in ascending order: a journal has one or two for every event, so they are kept tight. */
export interface NumberList {
  readonly length: number
  /** `undefined` beyond the end. */
  at(position: number): number | undefined
  push(value: number): void
  /** Position of the first number above `value`; the length when there is none. */
  firstAbove(value: number): number
}

const firstCapacity = 16

/** `bytes` of a number: 4 (up to 4,294,967,295) or 8 (whole numbers as far as JavaScript counts). */
export function createNumberList(bytes: 4 | 8): NumberList {
  const make = (capacity: number): Uint32Array | Float64Array =>
    bytes === 4 ? new Uint32Array(capacity) : new Float64Array(capacity)
  let numbers = make(firstCapacity)
  let length = 0
  return {
    get length() {
      return length
    },
    at: (position) => (position < length ? numbers[position] : undefined),
    push(value) {
      if (length === numbers.length) {
        const larger = make(Math.ceil(length * 1.5))
        larger.set(numbers)
        numbers = larger
      }
      numbers[length] = value
      length += 1
    },
    firstAbove(value) {
      let low = 0
      let high = length
      while (low < high) {
        const middle = (low + high) >>> 1
        if ((numbers[middle] ?? 0) > value) high = middle
        else low = middle + 1
      }
      return low
    },
  }
}
