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

const decimalsOf = (value: number): number => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0

/** Fine enough for both bounds: a browser counts the steps of a slider from the lower one, and from 0.5 on in ones never comes to 10. */
function usualStep(min: number, max: number): number {
  const decimals = Math.max(decimalsOf(min), decimalsOf(max), max - min <= 1 ? 2 : 0)
  return Number(`1e-${decimals}`)
}

/** A slider where both bounds are known and it makes sense, else a field for a number. */
export function numberInput(min: number | undefined, max: number | undefined, step?: number): InputKind {
  if (min === undefined || max === undefined || max <= min) return { kind: 'number', min }
  const each = step ?? usualStep(min, max)
  return (max - min) / each > sliderSteps ? { kind: 'number', min } : { kind: 'slider', min, max, step: each }
}
