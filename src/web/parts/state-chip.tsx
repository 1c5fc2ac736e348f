import { absenceInWords } from '../base/fleet-words.ts'
import type { Plugin } from '../base/types.ts'
import { stateInWords, toneOf } from '../base/words.ts'

export function StateChip({ state }: { state: string }) {
  return <span class={`chip tone-${toneOf(state)}`}>{stateInWords(state)}</span>
}

/** The state of a plugin as it is now: one that is on and has no host of the fleet is not simply off. */
export function PluginChip({ plugin }: { plugin: Plugin }) {
  if (absenceInWords(plugin) !== '') return <span class="chip tone-busy">Waiting for a host</span>
  return <StateChip state={plugin.state} />
}
