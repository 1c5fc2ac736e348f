import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { get } from '../base/api.ts'
import { go, place, pluginPath, setQuery } from '../base/router.ts'
import type { JournalEvent, MachineDefinition, PluginStateAt } from '../base/types.ts'
import { detailOf, eventInWords, originInWords } from '../base/words.ts'
import { Chart, type LastTransition } from '../machine/chart.tsx'
import { PossibleEvents } from '../machine/possible-events.tsx'
import { Scrubber } from '../machine/scrubber.tsx'
import { Sequence } from '../machine/sequence.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { tellFailure } from '../parts/notices.tsx'
import { Page } from '../parts/page.tsx'
import { StateChip } from '../parts/state-chip.tsx'
import { journal, reachBack } from '../store/journal.ts'
import { plugins } from '../store/plugins.ts'
import { useRemote } from '../store/remote.ts'

/** How many events the sequence shows around a moment. */
const sequenceLength = 80

export function MachinesPage({ name }: { name: string }) {
  const { query } = place.value
  const plugin = query.get('plugin') ?? ''
  const seq = query.has('seq') ? Number(query.get('seq')) : undefined
  const machine = useRemote<MachineDefinition>(`/api/machines/${encodeURIComponent(name)}`)
  const names = useRemote<{ machines: string[] }>('/api/machines')
  const isHost = name === 'host'
  const { events, lastSeq } = journal.value
  const states = useStatesAt(seq, lastSeq)

  useEffect(() => {
    if (seq !== undefined) reachBack(Math.max(1, seq - sequenceLength)).catch(tellFailure)
  }, [seq])

  const own = useMemo(
    () =>
      events.filter((event) =>
        isHost ? event.plugin === null : plugin === '' ? event.plugin !== null : event.plugin === plugin,
      ),
    [events, plugin, isHost],
  )
  const until = own.filter((event) => event.seq <= (seq ?? lastSeq))
  const latest = until.at(-1)
  const selected = states?.find(({ id }) => id === plugin)
  const current = isHost
    ? hostState(until)
    : plugin === ''
      ? undefined
      : (selected?.state ?? latest?.state ?? 'notInstalled')
  const atSeq = events.find((event) => event.seq === (seq ?? lastSeq))
  const move = useCallback(
    (next: number | undefined) => setQuery({ seq: next === undefined ? '' : String(next) }),
    [],
  )

  return (
    <Page title="Machines">
      <div class="toolbar">
        <select
          aria-label="Machine"
          value={name}
          onChange={({ currentTarget }) => go(`/machines/${currentTarget.value}`)}
        >
          {(names.value?.machines ?? [name]).map((machineName) => (
            <option key={machineName} value={machineName}>
              {machineName}
            </option>
          ))}
        </select>
        {isHost ? null : (
          <select
            aria-label="Plugin"
            value={plugin}
            onChange={({ currentTarget }) => setQuery({ plugin: currentTarget.value })}
          >
            <option value="">All plugins</option>
            {pluginIds(plugin, states).map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        )}
      </div>
      <Scrubber
        lastSeq={lastSeq}
        seq={seq}
        event={atSeq}
        steps={useMemo(() => own.map((event) => event.seq), [own])}
        onMove={move}
      />
      {machine.error === '' ? null : <Failure text={machine.error} onRetry={machine.reload} />}
      <div class={isHost ? 'machine-parts without-list' : 'machine-parts'}>
        <section class="panel moment-panel">
          <h2>{seq === undefined ? 'Now' : `At event ${seq}`}</h2>
          <div class="moment-words" role="status">
            {atSeq === undefined || seq === undefined ? null : <Why event={atSeq} />}
            {current === undefined ? null : (
              <p>
                {isHost ? 'The host' : plugin}: <StateChip state={current} />
              </p>
            )}
            {selected?.error == null ? null : <p class="row-error">{selected.error.message}</p>}
            {plugin !== '' && latest !== undefined && latest.seq !== seq ? (
              <Why event={latest} latest />
            ) : null}
          </div>
          {isHost || plugin !== '' ? null : <p class="hint">Choose a plugin to see what it may do.</p>}
          {isHost || plugin === '' ? null : (
            <Now plugin={plugin} past={seq !== undefined} onNow={() => move(undefined)} />
          )}
        </section>
        <section class="panel chart-panel">
          {machine.value === undefined ? (
            machine.error === '' ? (
              <Loading what="the machine" />
            ) : null
          ) : (
            <Chart
              machine={machine.value}
              current={current}
              last={latest === undefined ? undefined : lastTransition(until, latest)}
              {...(plugin === '' && !isHost ? { counts: countsOf(states ?? []) } : {})}
            />
          )}
        </section>
        {isHost ? null : (
          <EveryPlugin
            title={seq === undefined ? 'Every plugin now' : 'Every plugin then'}
            states={states ?? []}
            changed={seq === undefined ? null : (atSeq?.plugin ?? null)}
          />
        )}
      </div>
      <section class="panel">
        <h2>Sequence</h2>
        <Sequence events={windowAround(own, seq ?? lastSeq)} seq={seq ?? latest?.seq ?? 0} onChoose={move} />
      </section>
    </Page>
  )
}

/** What may be done; in the past nothing can be. */
function Now({ plugin, past, onNow }: { plugin: string; past: boolean; onNow(): void }) {
  const present = plugins.value?.get(plugin)
  if (past) {
    return (
      <p class="hint">
        You are looking at the past; nothing on the host changes.{' '}
        <button type="button" class="quiet" onClick={onNow}>
          Back to now
        </button>
      </p>
    )
  }
  return present === undefined ? (
    <p class="hint">It is not installed now.</p>
  ) : (
    <PossibleEvents plugin={present} />
  )
}

function Why({ event, latest = false }: { event: JournalEvent; latest?: boolean }) {
  const detail = detailOf(event)
  return (
    <p class="why">
      {latest ? 'Last: ' : ''}
      <strong>{eventInWords(event.type)}</strong> {event.plugin ?? ''} <code>{event.type}</code>
      {detail === '' ? '' : `, ${detail}`}. Asked for {originInWords(event.by)}.
    </p>
  )
}

interface EveryPluginProps {
  title: string
  states: readonly PluginStateAt[]
  /** The plugin of the event that is looked at. */
  changed: string | null
}

function EveryPlugin({ title, states, changed }: EveryPluginProps) {
  return (
    <section class="panel list-panel">
      <h2>{title}</h2>
      {states.length === 0 ? <p class="hint">There was none yet.</p> : null}
      <ul class="states" aria-label="State of every plugin">
        {states.map(({ id, state, version }) => (
          <li key={id} class={id === changed ? 'changed' : ''}>
            <a href={pluginPath(id)} class="id">
              {id}
            </a>
            <span class="hint">{version ?? ''}</span>
            <StateChip state={state} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** How things stood after an event; the answers are kept, as the past does not change. */
function useStatesAt(seq: number | undefined, lastSeq: number): readonly PluginStateAt[] | undefined {
  const wanted = seq ?? lastSeq
  const [answer, setAnswer] = useState<readonly PluginStateAt[] | undefined>(undefined)
  useEffect(() => {
    if (wanted < 1) return undefined
    const known = statesKnown.get(wanted)
    if (known !== undefined) {
      setAnswer(known)
      return undefined
    }
    const abort = new AbortController()
    const timer = setTimeout(() => {
      get<{ plugins: PluginStateAt[] }>(`/api/history/${wanted}/state`, abort.signal).then(
        (answered) => {
          if (statesKnown.size > statesLimit) statesKnown.clear()
          statesKnown.set(wanted, answered.plugins)
          setAnswer(answered.plugins)
        },
        (error: unknown) => {
          if (!abort.signal.aborted) tellFailure(error)
        },
      )
    }, scrubPause)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [wanted])
  return answer
}

const statesKnown = new Map<number, readonly PluginStateAt[]>()
/** Most moments that are kept. */
const statesLimit = 500
/** Rest of the hand on the scrubber after which the host is asked, in milliseconds. */
const scrubPause = 40

function hostState(events: readonly JournalEvent[]): string | undefined {
  return events.findLast(({ type }) => type.startsWith('Host'))?.state
}

function lastTransition(until: readonly JournalEvent[], latest: JournalEvent): LastTransition {
  const before = until.findLast((event) => event.seq < latest.seq && event.plugin === latest.plugin)
  return {
    seq: latest.seq,
    event: latest.type,
    before: before?.state ?? (latest.revision === 1 ? 'notInstalled' : undefined),
    after: latest.state,
  }
}

function countsOf(states: readonly PluginStateAt[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { state } of states) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}

function pluginIds(selected: string, states: readonly PluginStateAt[] | undefined): string[] {
  const ids = new Set([...(plugins.value?.keys() ?? []), ...(states ?? []).map(({ id }) => id)])
  if (selected !== '') ids.add(selected)
  return [...ids].sort()
}

function windowAround(events: readonly JournalEvent[], seq: number): readonly JournalEvent[] {
  const index = events.findLastIndex((event) => event.seq <= seq)
  const end = Math.min(events.length, Math.max(index + sequenceLength / 2, sequenceLength))
  return events.slice(Math.max(0, end - sequenceLength), end)
}
