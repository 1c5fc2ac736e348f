import { pluginPath } from '../base/router.ts'
import type { PluginStateAt } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { useInfiniteScroll } from '../parts/lists/infinite-scroll.tsx'
import { PluginChip, StateChip } from '../parts/state-chip.tsx'
import { Link } from '../parts/link.tsx'
import { withoutHost } from '../store/plugins.ts'

interface EveryPluginProps {
  /** Whether the present is looked at. */
  isNow: boolean
  /** Undefined: not known yet. */
  states: readonly PluginStateAt[] | undefined
  /** The plugin of the event that is looked at. */
  changed: string | null
}

export function EveryPlugin({ isNow, states, changed }: EveryPluginProps) {
  const { shown, end } = useInfiniteScroll(states?.length ?? 0)
  return (
    <section class="panel list-panel">
      <h2>{isNow ? 'Every plugin now' : 'Every plugin then'}</h2>
      {states?.length === 0 ? <p class="hint">There was none yet.</p> : null}
      <ul class="states" aria-label="State of every plugin">
        {states?.slice(0, shown).map(({ id, state, version }) => (
          <li key={id} class={id === changed ? 'changed' : ''}>
            <Link to={pluginPath(id)} class="id">
              {breakable(id)}
            </Link>
            <span class="hint">{version ?? ''}</span>
            <ChipOf id={id} state={state} isNow={isNow} />
          </li>
        ))}
        {end === null ? null : <li>{end}</li>}
      </ul>
    </section>
  )
}

/** Why a plugin has no host of the fleet just now is on its chip. */
function ChipOf({ id, state, isNow }: { id: string; state: string; isNow: boolean }) {
  const absent = isNow ? withoutHost(id) : undefined
  return absent === undefined ? <StateChip state={state} /> : <PluginChip plugin={absent} />
}
