import type { System } from '../../schema/api/system.ts'
import { countOf, dateTimeOf, megabytes, stateInWords } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Fact } from '../parts/fact.tsx'
import { Note, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/frame/page.tsx'
import { useRemote } from '../store/remote.ts'
import { isOpen } from '../store/session.ts'
import { IsolatesPanel } from '../system/isolates-panel.tsx'
import { Link } from '../parts/link.tsx'

/** How often the numbers are read again, in milliseconds. */
const readInterval = 3_000

export function SystemPage() {
  const remote = useRemote<System>('/api/system', { interval: readInterval })
  return (
    <Page title="System">
      {isOpen.value ? (
        <Note>
          This host has no token: every program on its machine may command it. <code>lupine token</code> makes
          one and says how to use it.
        </Note>
      ) : null}
      <ReadState remote={remote} what="the system" />
      {remote.value === undefined ? null : <Details system={remote.value} />}
    </Page>
  )
}

function Details({ system }: { system: System }) {
  const { host, fleet, versions, process, broker, http, certificate, journal, isolates, health } = system
  return (
    <>
      <div class="columns">
        <section class="panel">
          <h2>Health</h2>
          <p>
            <span class={`chip tone-${health.ready ? 'good' : 'bad'}`}>
              {health.ready ? 'All is well' : 'Not ready'}
            </span>
          </p>
          {health.reasons.length === 0 ? null : (
            <ul class="reasons">
              {health.reasons.map((reason) => (
                <li key={reason}>{breakable(reason)}</li>
              ))}
            </ul>
          )}
          <dl class="facts">
            <Fact name="Host">{breakable(host.id ?? 'starting')}</Fact>
            {fleet === null ? null : (
              <Fact name="Fleet">
                <Link to="/hosts">{breakable(fleet.name)}</Link>
              </Fact>
            )}
            <Fact name="Started">
              {dateTimeOf(host.startedAt)}, {duration(host.uptime)} ago
            </Fact>
            <Fact name="Plugins">
              {Object.entries(system.plugins)
                .map(([state, count]) => `${count} ${stateInWords(state).toLowerCase()}`)
                .join(' · ') || 'none'}
            </Fact>
            <Fact name="Journal">
              <Link to="/history">{countOf(journal.seq, 'event')}</Link>
            </Fact>
            {certificate === null ? null : (
              <Fact name="Certificate">valid until {dateTimeOf(certificate.validUntil)}</Fact>
            )}
          </dl>
          {certificate === null || certificate.fault === null ? null : <Note>{certificate.fault}</Note>}
        </section>
        <section class="panel">
          <h2>Versions</h2>
          <dl class="facts">
            <Fact name="Lupine">{versions.host}</Fact>
            <Fact name="Node">{versions.node}</Fact>
            <Fact name="V8">{versions.v8}</Fact>
            <Fact name="Platform">
              {versions.platform}, {versions.architecture}
            </Fact>
          </dl>
        </section>
        <section class="panel">
          <h2>Broker</h2>
          <p>
            <span class={`chip tone-${broker.connected ? 'good' : 'bad'}`}>
              {broker.connected ? 'Connected' : 'Not connected'}
            </span>
          </p>
          <dl class="facts">
            <Fact name="Kind">{broker.kind === 'embedded' ? 'built in' : 'external'}</Fact>
            <Fact name="Address">{breakable(broker.url)}</Fact>
            <Fact name="Clients">{broker.clients ?? 'it does not say'}</Fact>
            <Fact name="Messages received">{broker.messages.received}</Fact>
            <Fact name="Messages published">{broker.messages.published}</Fact>
          </dl>
        </section>
        <section class="panel">
          <h2>Process</h2>
          <dl class="facts">
            <Fact name="Memory">{megabytes(process.memory)}</Fact>
            <Fact name="Own heap">{megabytes(process.heap)}</Fact>
            <Fact name="Processor time">{process.cpuSeconds.toFixed(1)} s</Fact>
            <Fact name="Delay of the event loop">{(process.eventLoopDelay * 1000).toFixed(1)} ms</Fact>
            <Fact name="Address">{breakable(http.url)}</Fact>
            <Fact name="Open pages">
              {http.eventStreams}, {countOf(http.inspectors, 'inspector')}
            </Fact>
          </dl>
        </section>
      </div>
      <IsolatesPanel isolates={isolates} />
    </>
  )
}

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return countOf(Math.floor(seconds), 'second')
  if (minutes < 120) return countOf(minutes, 'minute')
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? countOf(hours, 'hour') : countOf(Math.floor(hours / 24), 'day')
}
