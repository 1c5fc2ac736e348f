import Type from 'typebox'
import { fits } from './text-limits.ts'

export * from './text-limits.ts'

/** A text of so many bytes at most. */
export function Text(bytes: number) {
  return Type.Refine(
    Type.String(),
    (text) => fits(text, bytes),
    () => `must not have more than ${bytes} bytes`,
  )
}
