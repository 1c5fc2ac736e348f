/** What a value is set with. */
export type InputKind =
  | { kind: 'switch' }
  | { kind: 'slider'; min: number; max: number; step: number }
  | { kind: 'number'; min?: number | undefined }
  | { kind: 'choice'; options: readonly string[] }
  /** Each sends its value; nothing shows which was the last. */
  | { kind: 'buttons'; buttons: readonly { value: boolean | string; label: string }[] }
  /** As text of three numbers from 0 to 255: `255,160,0`. */
  | { kind: 'colour' }
  | { kind: 'text' }

/** A slider with more steps than this cannot be moved to a wanted one by hand. */
const sliderSteps = 1_000

/** A slider where both bounds are known and it makes sense, else a field for a number. */
export function numberInput(min: number | undefined, max: number | undefined, step?: number): InputKind {
  if (min === undefined || max === undefined || max <= min) return { kind: 'number', min }
  const each = step ?? (max - min <= 1 ? 0.01 : 1)
  return (max - min) / each > sliderSteps ? { kind: 'number', min } : { kind: 'slider', min, max, step: each }
}
