import type { System } from '../../schema/api/system.ts'
import { countOf, dateTimeOf, megabytes } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Note, ReadState } from '../parts/feedback.tsx'
import { Page } from '../parts/page.tsx'
import { useRemote } from '../store/remote.ts'
import { isOpen } from '../store/session.ts'
import { IsolatesPanel } from '../system/isolates-panel.tsx'

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
            <ul>
              {health.reasons.map((reason) => (
                <li key={reason}>{breakable(reason)}</li>
              ))}
            </ul>
          )}
          <dl class="facts">
            <dt>Host</dt>
            <dd>{breakable(host.id ?? 'starting')}</dd>
            {fleet === null ? null : (
              <>
                <dt>Fleet</dt>
                <dd>
                  <a href="/hosts">{breakable(fleet.name)}</a>
                </dd>
              </>
            )}
            <dt>Started</dt>
            <dd>
              {dateTimeOf(host.startedAt)}, {duration(host.uptime)} ago
            </dd>
            <dt>Plugins</dt>
            <dd>
              {Object.entries(system.plugins)
                .map(([state, count]) => `${count} ${state}`)
                .join(', ') || 'none'}
            </dd>
            <dt>Journal</dt>
            <dd>
              <a href="/history">{countOf(journal.seq, 'event')}</a>
            </dd>
            {certificate === null ? null : (
              <>
                <dt>Certificate</dt>
                <dd>valid until {dateTimeOf(certificate.validUntil)}</dd>
              </>
            )}
          </dl>
          {certificate === null || certificate.fault === null ? null : <Note>{certificate.fault}</Note>}
        </section>
        <section class="panel">
          <h2>Versions</h2>
          <dl class="facts">
            <dt>Lupine</dt>
            <dd>{versions.host}</dd>
            <dt>Node</dt>
            <dd>{versions.node}</dd>
            <dt>V8</dt>
            <dd>{versions.v8}</dd>
            <dt>Platform</dt>
            <dd>
              {versions.platform}, {versions.architecture}
            </dd>
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
            <dt>Kind</dt>
            <dd>{broker.kind === 'embedded' ? 'built in' : 'external'}</dd>
            <dt>Address</dt>
            <dd>{breakable(broker.url)}</dd>
            <dt>Clients</dt>
            <dd>{broker.clients ?? 'it does not say'}</dd>
            <dt>Messages received</dt>
            <dd>{broker.messages.received}</dd>
            <dt>Messages published</dt>
            <dd>{broker.messages.published}</dd>
          </dl>
        </section>
        <section class="panel">
          <h2>Process</h2>
          <dl class="facts">
            <dt>Memory</dt>
            <dd>{megabytes(process.memory)}</dd>
            <dt>Own heap</dt>
            <dd>{megabytes(process.heap)}</dd>
            <dt>Processor time</dt>
            <dd>{process.cpuSeconds.toFixed(1)} s</dd>
            <dt>Delay of the event loop</dt>
            <dd>{(process.eventLoopDelay * 1000).toFixed(1)} ms</dd>
            <dt>Address</dt>
            <dd>{breakable(http.url)}</dd>
            <dt>Open pages</dt>
            <dd>
              {http.eventStreams}, {countOf(http.inspectors, 'inspector')}
            </dd>
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
