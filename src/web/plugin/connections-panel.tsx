import type { ConnectionView } from '../../schema/outside/connection.ts'
import { pluginApi } from '../base/api.ts'
import { limitText } from '../base/limit-words.ts'
import type { Plugin } from '../base/types.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty, ReadState } from '../parts/feedback.tsx'
import { useRemote } from '../store/remote.ts'

/** Milliseconds between two looks. */
const lookInterval = 2_000

const stateWords: Readonly<Record<ConnectionView['state'], string>> = {
  connecting: 'connecting',
  open: 'open',
  waiting: 'lost, waits for its next attempt',
  closing: 'being closed',
}

/** What a plugin keeps open to machines elsewhere. */
export function ConnectionsPanel({ plugin: { id, name } }: { plugin: Plugin }) {
  const remote = useRemote<Plugin>(pluginApi(id), { interval: lookInterval })
  const connections = remote.value?.connections ?? []
  return (
    <section class="panel">
      <h2>Connections</h2>
      <ReadState remote={remote} what="the connections" />
      {remote.value !== undefined && connections.length === 0 ? <Empty>{name} keeps none open.</Empty> : null}
      <ul class="connections" aria-label="Connections">
        {connections.map((connection, index) => (
          <Connection key={index} connection={connection} />
        ))}
      </ul>
    </section>
  )
}

function Connection({ connection }: { connection: ConnectionView }) {
  const { target, state, lastError, bytesIn, bytesOut } = connection
  return (
    <li>
      <code>{breakable(target)}</code> {stateWords[state]}
      <small class="hint">
        {' '}
        {limitText(bytesIn, 'bytes')} in, {limitText(bytesOut, 'bytes')} out
        {lastError === null ? '' : `; last error: ${lastError}`}
      </small>
    </li>
  )
}
