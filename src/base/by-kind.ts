/** What is done with each kind of `T`; `More`: what it is given besides. */
type Kinds<T extends { kind: string }, More extends unknown[]> = {
  readonly [K in T['kind']]: (one: Extract<T, { kind: K }>, ...more: More) => void
}

/** Does what the table has for the kind of what it is given. The compiler asks for each kind there is. */
export function byKind<T extends { kind: string }, More extends unknown[] = []>(
  kinds: Kinds<T, More>,
): (one: T, ...more: More) => void {
  return (one, ...more) => {
    const perform = kinds[one.kind as T['kind']] as (one: T, ...more: More) => void
    perform(one, ...more)
  }
}
