import type { SerialPort } from 'serialport'

/**
 * Has what waits for the port go on as soon as the port can be read or written. The library tells its poller's events to
 * JavaScript without `MakeCallback`, so that Node from 26.4 on runs nothing that awaited them until something else wakes the
 * event loop, which may be seconds later (serialport/bindings-cpp, pull request 239).
 */
export function wakeForPoller({ port }: SerialPort): void {
  if (port === undefined || !('poller' in port)) return
  const { poller } = port
  for (const event of ['readable', 'writable']) poller.on(event, () => setImmediate(() => undefined))
}
