/** Positions in a file, in ascending order: one for each of many lines, so they are kept tight. */
export interface NumberList {
  readonly length: number
  /** `undefined` beyond the end. */
  at(position: number): number | undefined
  push(value: number): void
}

const firstCapacity = 16

export function createNumberList(): NumberList {
  let numbers = new Float64Array(firstCapacity)
  let length = 0
  return {
    get length() {
      return length
    },
    at: (position) => (position < length ? numbers[position] : undefined),
    push(value) {
      if (length === numbers.length) {
        const larger = new Float64Array(Math.ceil(length * 1.5))
        larger.set(numbers)
        numbers = larger
      }
      numbers[length] = value
      length += 1
    },
  }
}
