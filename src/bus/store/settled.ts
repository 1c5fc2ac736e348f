/** Calls back at once, unlike a promise, where the broker library must not wait a turn. It uses nothing but `then`. */
export function settled<T>(value: T): PromiseLike<T> {
  return {
    then<R>(onSettled?: ((value: T) => R | PromiseLike<R>) | null): PromiseLike<R> {
      const result = onSettled?.(value)
      return settled(result as R)
    },
  }
}
