import type { TestContext } from 'node:test'

type End = () => Promise<void>

const ends = new WeakMap<TestContext, End[]>()

/**
 * Ends something after the test, before what was begun earlier: a host goes before another one's directory that it runs in.
 * Hooks of a test run in their order, and none after one that fails.
 */
export function endLatestFirst(context: TestContext, end: End): void {
  const present = ends.get(context)
  if (present !== undefined) {
    present.push(end)
    return
  }
  const all = [end]
  ends.set(context, all)
  context.after(async () => {
    const failures: unknown[] = []
    for (const one of all.reverse()) await one().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  })
}
