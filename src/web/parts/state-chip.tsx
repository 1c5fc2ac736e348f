import { stateInWords, toneOf } from '../base/words.ts'

export function StateChip({ state }: { state: string }) {
  return <span class={`chip tone-${toneOf(state)}`}>{stateInWords(state)}</span>
}
