/** One handler for each `kind` of the union `T`. The compiler asks for a kind that has none. */
export type KindHandlers<T extends { kind: string }, Result = void> = {
  [K in T['kind']]: (one: Extract<T, { kind: K }>) => Result
}

/** A function that gives each value to the handler of its kind, and answers what that answers. */
export function dispatchByKind<T extends { kind: string }, Result = void>(
  handlers: KindHandlers<T, Result>,
): (one: T) => Result {
  return (one) => {
    const handle = handlers[one.kind as T['kind']] as (one: T) => Result
    return handle(one)
  }
}
