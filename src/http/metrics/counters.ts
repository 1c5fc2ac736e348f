import { type Labels, numberText, type Sample } from './exposition.ts'

/** Numbers that only grow, by their labels. */

export interface Counter {
  add(labels: Labels, amount?: number): void
  samples(): Sample[]
}

export function createCounter(): Counter {
  const values = new Map<string, { labels: Labels; value: number }>()
  return {
    add(labels, amount = 1) {
      const key = keyOf(labels)
      const entry = values.get(key)
      if (entry === undefined) values.set(key, { labels, value: amount })
      else entry.value += amount
    },
    samples: () => [...values.values()],
  }
}

export interface Histogram {
  observe(labels: Labels, value: number): void
  samples(): Sample[]
}

/** `bounds`: upper ends of the buckets, ascending, both ends included. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const series = new Map<string, { labels: Labels; counts: number[]; sum: number; count: number }>()
  return {
    observe(labels, value) {
      const key = keyOf(labels)
      const entry = series.get(key) ?? { labels, counts: bounds.map(() => 0), sum: 0, count: 0 }
      series.set(key, entry)
      entry.sum += value
      entry.count += 1
      const bucket = bounds.findIndex((bound) => value <= bound)
      if (bucket >= 0) entry.counts[bucket] = (entry.counts[bucket] ?? 0) + 1
    },
    samples: () =>
      [...series.values()].flatMap(({ labels, counts, sum, count }) => {
        // Each bucket holds those below it as well.
        let below = 0
        const buckets = bounds.map((bound, position) => {
          below += counts[position] ?? 0
          return { suffix: '_bucket', labels: { ...labels, le: numberText(bound) }, value: below }
        })
        return [
          ...buckets,
          { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
          { suffix: '_sum', labels, value: sum },
          { suffix: '_count', labels, value: count },
        ]
      }),
  }
}

/** Labels of one counter come with the same names in the same order, and none has a line feed. */
function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name] ?? ''}\n`
  return key
}
