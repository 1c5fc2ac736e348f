import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'

/** Between two looks, in milliseconds: who asks without a pause takes the processor from what is waited for. */
const lookAgain = 20

/**
 * What `look` finds, once it finds something (neither undefined nor false): for what a host does by itself. After
 * `patience` milliseconds it fails, and names `what` was waited for.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  patience = 60_000,
): Promise<T> {
  const end = performance.now() + patience
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    assert.ok(performance.now() < end, `waited in vain for ${what}`)
    await wait(lookAgain)
  }
}
