import { cutText, cutTexts } from '../../base/text/cut-text.ts'
import type { Fact } from '../../schema/journal/journal-event.ts'

/**
 * A fact whose explanations, which may have been written by a plugin or a repository, are of a length that a
 * person reads. Facts are cut before they are written down, and again when they are read: older versions wrote
 * explanations of any size.
 */
export function withBoundedTexts<T extends Fact>(fact: T): T {
  const { data } = fact
  if (!('error' in data) && !('reason' in data)) return fact
  const bounded = {
    ...('error' in data ? { error: cutTexts(data.error) } : {}),
    ...('reason' in data ? { reason: cutText(data.reason) } : {}),
  }
  return { ...fact, data: { ...data, ...bounded } }
}
