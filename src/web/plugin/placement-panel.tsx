import { useId } from 'preact/hooks'
import { placementInWords } from '../base/fleet-words.ts'
import type { FleetHost, Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { Fact } from '../parts/fact.tsx'
import { Failure, ReadState } from '../parts/feedback.tsx'
import { useSubmit } from '../parts/inputs/use-submit.ts'
import { changePlacement } from '../store/commands.ts'
import { useKeptState } from '../store/kept-state.ts'
import { useRemote } from '../store/remote.ts'
import { Link } from '../parts/link.tsx'
import { literalText } from '../parts/inputs/literal-text.ts'

/** How often the hosts are read again, in milliseconds: one may come while somebody looks. */
const readInterval = 5_000

/** Where in the fleet the plugin runs, and where it may. */
export function PlacementPanel({ plugin }: { plugin: Plugin }) {
  const { host, epoch, placement } = plugin
  const hosts = useRemote<{ hosts: FleetHost[] }>('/api/hosts', { interval: readInterval })
  // Undefined: as it is stored.
  const [typedHost, setHost] = useKeptState<string | undefined>(`host of ${plugin.id}`, undefined)
  const [typedLabels, setLabels] = useKeptState<string | undefined>(`labels of ${plugin.id}`, undefined)
  const { submit, sending, failure } = useSubmit(save)
  const id = useId()
  const live = (hosts.value?.hosts ?? []).map((one) => one.id).sort()
  const stored = placement.host ?? ''
  const chosen = typedHost ?? stored
  const storedLabels = (placement.labels ?? []).join(', ')
  const labels = (typedLabels ?? storedLabels).split(/[\s,]+/).filter((label) => label !== '')
  const changed = chosen !== stored || labels.join(', ') !== storedLabels

  async function save(): Promise<void> {
    if (!changed) return
    const host = chosen === '' ? {} : { host: chosen }
    await changePlacement(plugin.id, { ...host, ...(labels.length === 0 ? {} : { labels }) })
    // What has been typed meanwhile stays.
    setHost((now) => (now === typedHost ? undefined : now))
    setLabels((now) => (now === typedLabels ? undefined : now))
  }

  return (
    <form class="panel" onSubmit={submit}>
      <h2>Where it runs</h2>
      <dl class="facts">
        <Fact name="Host">
          {host === null ? 'none at present' : <Link to="/hosts">{breakable(host)}</Link>}
        </Fact>
        <Fact name="Epoch" as="number">
          {epoch ?? '–'}
        </Fact>
        <Fact name="May run">{placementInWords(placement)}</Fact>
      </dl>
      <ReadState remote={hosts} what="the hosts" />
      <div class="field">
        <label class="label" for={`${id}-host`}>
          Host
        </label>
        <select
          id={`${id}-host`}
          value={chosen}
          onChange={({ currentTarget: { value } }) => setHost(() => value)}
        >
          <option value="">Any</option>
          {live.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          {[...new Set([stored, chosen])]
            .filter((name) => name !== '' && !live.includes(name))
            .map((name) => (
              <option key={name} value={name}>
                {live.length === 0 ? name : `${name} (not there now)`}
              </option>
            ))}
        </select>
      </div>
      <div class="field">
        <label class="label" for={`${id}-labels`}>
          Labels that it must have, with commas
        </label>
        <input
          id={`${id}-labels`}
          value={typedLabels ?? storedLabels}
          {...literalText}
          aria-describedby={`${id}-hint`}
          onInput={({ currentTarget: { value } }) => setLabels(() => value)}
        />
      </div>
      <p class="hint" id={`${id}-hint`}>
        {hosts.value === undefined ? '' : labelsInWords(hosts.value.hosts)} If it may not stay where it is, it
        moves at once.
      </p>
      {failure === '' ? null : <Failure text={failure} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={sending || !changed}>
          {sending ? 'Saving…' : 'Save where it may run'}
        </button>
      </div>
    </form>
  )
}

/** Without the store of the fleet not even this host is known to be live. */
function labelsInWords(live: readonly FleetHost[]): string {
  if (live.length === 0) return 'Which hosts are live, and what they have, cannot be told just now.'
  const known = [...new Set(live.flatMap(({ labels }) => labels))].sort()
  return known.length === 0 ? 'No live host has a label.' : `Live hosts have: ${known.join(', ')}.`
}
