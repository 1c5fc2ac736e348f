import type { Outside } from '../../../src/outside/outside.ts'
import type { ConnectionEvent, ConnectionTarget } from '../../../src/schema/outside/connection.ts'

/** A connection of a plugin that nothing is forbidden to; only its events are heard. */
export function openConnection(
  outside: Outside,
  target: ConnectionTarget,
  event: (event: ConnectionEvent) => void,
): ReturnType<Outside['connect']> {
  return outside.connect(
    '@test/plugin',
    target,
    { event, message: () => undefined, warn: () => undefined, later: setImmediate },
    { connect: () => undefined, serial: () => undefined, discover: () => undefined },
  )
}
