import { useCallback, useEffect, useMemo } from 'preact/hooks'
import { go, place, setQuery } from '../base/router.ts'
import type { JournalEvent, MachineDefinition, PluginStateAt } from '../base/types.ts'
import { Chart } from '../machine/chart.tsx'
import { EveryPlugin } from '../machine/every-plugin.tsx'
import { MomentPanel } from '../machine/moment-panel.tsx'
import {
  countsOf,
  hostState,
  isQuiet,
  lastTransition,
  sequenceLength,
  windowAround,
} from '../machine/moment.ts'
import { Scrubber } from '../machine/scrubber.tsx'
import { Sequence } from '../machine/sequence.tsx'
import { Failure, Note, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { Select } from '../parts/inputs/select.tsx'
import { isInFleet } from '../store/host.ts'
import { journal, reachHost } from '../store/journal.ts'
import { tellFailure } from '../store/notices.ts'
import { useEventsAround, useStatesAt } from '../store/journal-at.ts'
import { pluginHistoryLimit, usePluginHistory } from '../store/plugin-history.ts'
import { asShownNow, plugins } from '../store/plugins.ts'
import { useSettingChanges } from '../store/setting-changes.ts'
import { useRemote } from '../store/remote.ts'

/** Events before a moment among which a start or stop of the host is looked for: its plugins have many in between. */
const hostReach = 2_000

export function MachinesPage({ name }: { name: string }) {
  const { query } = place.value
  const plugin = query.get('plugin') ?? ''
  const machine = useRemote<MachineDefinition>(`/api/machines/${encodeURIComponent(name)}`)
  const names = useRemote<{ machines: string[] }>('/api/machines')
  const isHost = name === 'host'
  const { firstSeq, lastSeq } = journal.value
  const asked = seqOf(query.get('seq'))
  const isAhead = asked !== undefined && lastSeq > 0 && asked > lastSeq
  const seq = isAhead ? undefined : asked
  const moment = seq ?? lastSeq
  const isHere = moment >= firstSeq
  // Until the journal is known nobody can say whether there is such an event.
  const told = useStatesAt(lastSeq > 0 && isHere ? moment : 0)
  const { at } = told
  const states = seq === undefined && told.states !== undefined ? asShownNow(told.states) : told.states
  const events = useEventsAround(seq, isHost ? hostReach : sequenceLength)

  useEffect(() => {
    if (isHost && seq === undefined && lastSeq > 0) reachHost(lastSeq).catch(tellFailure)
  }, [isHost, seq, lastSeq > 0])

  const history = usePluginHistory(isHost ? '' : plugin)
  const own = useMemo(
    () =>
      reaches(history.value, moment)
        ? history.value
        : events.filter((event) =>
            isHost ? event.plugin === null : plugin === '' ? event.plugin !== null : event.plugin === plugin,
          ),
    [history.value, events, moment, plugin, isHost],
  )
  const changes = useSettingChanges(own)
  const until = own.filter((event) => event.seq <= moment)
  const latest = until.at(-1)
  // Until those of the moment are there, those before hold where nothing has happened to it in between; else its last event says it.
  const holds = at === moment || (reaches(history.value, Math.min(at, moment)) && isQuiet(own, at, moment))
  const then = holds ? states : undefined
  const selected = then?.find(({ id }) => id === plugin)
  // The journal of a fleet does not tell of each start and stop of its hosts.
  const ofHost = isInFleet.value ? undefined : hostState(until)
  const current = isHost
    ? ofHost
    : plugin === ''
      ? undefined
      : (selected?.state ?? latest?.state ?? (then === undefined ? undefined : 'notInstalled'))
  const atSeq = events.find((event) => event.seq === moment)
  const move = useCallback(
    (next: number | undefined) => setQuery({ seq: next === undefined ? '' : String(next) }),
    [],
  )

  return (
    <Page title="Machines">
      <div class="toolbar">
        <Select
          label="Machine"
          value={name}
          options={(names.value?.machines ?? [name]).map((each) => [each, each] as const)}
          onChange={(next) => go(`/machines/${next}`)}
        />
        {isHost ? null : (
          <Select
            label="Plugin"
            value={plugin}
            options={[['', 'All plugins'], ...pluginIds(plugin, states).map((id) => [id, id] as const)]}
            onChange={(id) => setQuery({ plugin: id })}
          />
        )}
      </div>
      <Scrubber
        firstSeq={firstSeq}
        lastSeq={lastSeq}
        seq={seq}
        event={atSeq}
        steps={useMemo(() => own.map((event) => event.seq), [own])}
        onMove={move}
      />
      {isAhead ? (
        <Note>
          There is no event {asked}: the last one is event {lastSeq}. This is how things stand now.
        </Note>
      ) : null}
      {isHere ? null : (
        <Note>
          Event {moment} is not here any more: old files of the journal have been moved away, and it begins
          with event {firstSeq}.
        </Note>
      )}
      <div class={isHost ? 'machine-parts without-list' : 'machine-parts'}>
        <MomentPanel
          subject={isHost ? 'host' : plugin}
          seq={seq}
          event={atSeq}
          latest={latest}
          changes={changes}
          state={current}
          error={selected?.error?.message ?? ''}
          onNow={() => move(undefined)}
        />
        <section class="panel chart-panel">
          <ReadState remote={machine} what="the machine" />
          {machine.value === undefined ? null : (
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
            isNow={seq === undefined}
            states={states}
            changed={seq === undefined ? null : (atSeq?.plugin ?? null)}
          />
        )}
      </div>
      <section class="panel">
        <h2>Sequence</h2>
        {history.error === '' ? null : <Failure text={history.error} onRetry={history.reload} />}
        <Sequence events={windowAround(own, moment)} seq={seq ?? latest?.seq ?? 0} onChoose={move} />
      </section>
    </Page>
  )
}

/** Whether it goes back as far as a moment: of very many events it has the newest. */
function reaches(
  history: readonly JournalEvent[] | undefined,
  moment: number,
): history is readonly JournalEvent[] {
  const first = history?.[0]?.seq
  return first !== undefined && (first <= moment || (history?.length ?? 0) < pluginHistoryLimit)
}

/** The number of an event in an address that somebody may have typed; undefined: now. */
function seqOf(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

function pluginIds(selected: string, states: readonly PluginStateAt[] | undefined): string[] {
  const ids = new Set([...(plugins.value?.keys() ?? []), ...(states ?? []).map(({ id }) => id)])
  if (selected !== '') ids.add(selected)
  return [...ids].sort()
}
