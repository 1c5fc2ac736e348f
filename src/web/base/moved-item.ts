/** The list with the item at `from` taken out and put in at `to`. */
export function withMovedItem<Item>(items: readonly Item[], from: number, to: number): Item[] {
  return items.toSpliced(from, 1).toSpliced(to, 0, ...items.slice(from, from + 1))
}
