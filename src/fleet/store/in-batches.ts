/** Questions to the store at the same time: neither it nor this process is to drown in them. */
const atOnce = 16

export async function inBatches<T>(items: readonly T[], task: (item: T) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < items.length; index += atOnce) {
    await Promise.all(items.slice(index, index + atOnce).map(task))
  }
}
