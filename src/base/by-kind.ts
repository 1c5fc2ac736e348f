/** What is done with each kind of `T`, and what comes of it. */
export type Kinds<T extends { kind: string }, Result = void> = {
  [K in T['kind']]: (one: Extract<T, { kind: K }>) => Result
}

/** Does what the table has for the kind of what it is given. The compiler asks for each kind there is. */
export function byKind<T extends { kind: string }, Result = void>(
  kinds: Kinds<T, Result>,
): (one: T) => Result {
  return (one) => {
    const perform = kinds[one.kind as T['kind']] as (one: T) => Result
    return perform(one)
  }
}
