import { pluginPath } from '../base/router.ts'
import type { PluginStateAt } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { useInfiniteScroll } from '../parts/lists/infinite-scroll.tsx'
import { StateChip } from '../parts/state-chip.tsx'
import { Link } from '../parts/link.tsx'

interface EveryPluginProps {
  title: string
  /** Undefined: not known yet. */
  states: readonly PluginStateAt[] | undefined
  /** The plugin of the event that is looked at. */
  changed: string | null
}

export function EveryPlugin({ title, states, changed }: EveryPluginProps) {
  const { shown, end } = useInfiniteScroll(states?.length ?? 0)
  return (
    <section class="panel list-panel">
      <h2>{title}</h2>
      {states?.length === 0 ? <p class="hint">There was none yet.</p> : null}
      <ul class="states" aria-label="State of every plugin">
        {states?.slice(0, shown).map(({ id, state, version }) => (
          <li key={id} class={id === changed ? 'changed' : ''}>
            <Link to={pluginPath(id)} class="id">
              {breakable(id)}
            </Link>
            <span class="hint">{version ?? ''}</span>
            <StateChip state={state} />
          </li>
        ))}
        {end === null ? null : <li>{end}</li>}
      </ul>
    </section>
  )
}
