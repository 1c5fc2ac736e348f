/** Calls back at once, unlike a promise. The broker uses nothing but `then`. */
export function settled<T>(value: T): PromiseLike<T> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: the broker expects a promise here, and must not wait a turn
    then<R>(onSettled?: ((value: T) => R | PromiseLike<R>) | null): PromiseLike<R> {
      const result = onSettled?.(value)
      return settled(result as R)
    },
  }
}
