import { useId, useState } from 'preact/hooks'
import { send } from '../base/api.ts'
import { pluginPath } from '../base/router.ts'
import type { FleetHost, Plugin } from '../base/types.ts'
import { countOf, dateTimeOf, timeOf } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { AddressLink, Fact } from '../parts/fact.tsx'
import { Failure } from '../parts/feedback.tsx'
import { PluginChip } from '../parts/state-chip.tsx'
import { useSubmit } from '../parts/inputs/use-submit.ts'
import { tell } from '../store/notices.ts'
import { Link } from '../parts/link.tsx'

interface HostPanelProps {
  host: FleetHost
  /** The one that this page comes from. */
  isSelf: boolean
  /** Those that it runs; undefined: they are not known yet. */
  plugins: readonly Plugin[] | undefined
  /** It has been drained, or that has ended, or was refused. */
  onChanged(): void
}

/** So many plugins are shown without being asked for. */
const shownPlugins = 20

/** A live host of the fleet: what it is, what it runs, and whether it is to give that away. */
export function HostPanel({ host, isSelf, plugins, onChanged }: HostPanelProps) {
  // The list is told of each move at once, and the hosts are read now and then.
  const count = plugins?.length ?? host.plugins
  const { id, address, labels, version, since, seen, draining } = host
  const heading = useId()
  const [doing, setDoing] = useState('')
  const { submit, sending, failure, forgetFailure } = useSubmit(async () => {
    setDoing(draining ? 'Ending its drain…' : 'Giving its plugins away…')
    forgetFailure()
    try {
      await send<FleetHost>(draining ? 'DELETE' : 'POST', `/api/hosts/${encodeURIComponent(id)}/drain`)
      tell(draining ? `${id} takes plugins again.` : `${id} runs no plugin any more, and takes none.`)
    } finally {
      onChanged()
    }
  })
  return (
    <section class="panel" aria-labelledby={heading}>
      <div class="host-head">
        <h2 id={heading}>{breakable(id)}</h2>
        {isSelf ? <span class="chip">This one</span> : null}
        {draining ? (
          <span class="chip tone-busy">{count === 0 ? 'Drained' : 'Draining'}</span>
        ) : (
          <span class="chip tone-good">Takes plugins</span>
        )}
      </div>
      <dl class="facts">
        <Fact name="Address">
          <AddressLink address={address} />
        </Fact>
        <Fact name="Labels" as="tag-line">
          {labels.length === 0
            ? 'none'
            : labels.map((label) => (
                <span key={label} class="tag">
                  {label}
                </span>
              ))}
        </Fact>
        <Fact name="Runs">{countOf(count, 'plugin')}</Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name="Here since">{dateTimeOf(since)}</Fact>
        <Fact name="Heard of last" as="number">
          <time dateTime={seen}>{timeOf(seen)}</time>
        </Fact>
      </dl>
      {plugins === undefined || count === 0 ? null : (
        <details open={count <= shownPlugins}>
          <summary>Its plugins</summary>
          <PluginLinks label={`Plugins of ${id}`} plugins={plugins} />
        </details>
      )}
      {failure === '' ? null : <Failure text={failure} />}
      <div class="actions">
        <button
          type="button"
          disabled={sending}
          aria-label={draining ? `End drain of ${id}` : `Drain ${id}`}
          onClick={submit}
        >
          {draining ? 'End drain' : 'Drain'}
        </button>
        <span class="hint" role="status">
          {sending ? doing : ''}
        </span>
      </div>
    </section>
  )
}

export function PluginLinks({ label, plugins }: { label: string; plugins: readonly Plugin[] }) {
  return (
    <ul class="plugin-links" aria-label={label}>
      {plugins.map((plugin) => (
        <li key={plugin.id}>
          <Link class="id" to={pluginPath(plugin.id)}>
            {breakable(plugin.id)}
          </Link>
          <PluginChip plugin={plugin} />
        </li>
      ))}
    </ul>
  )
}
