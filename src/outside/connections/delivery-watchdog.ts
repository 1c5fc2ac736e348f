import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'

/** Milliseconds between two looks at what is under way. */
const lookEvery = 10_000
/**
 * How often the system may have sent the same bytes again, without a sign of the other side. It waits twice as long each
 * time: 25 seconds in all on a local network, and as much longer as the way is slow. Left alone it does so 15 times, which
 * takes a quarter of an hour.
 */
const repetitionLimit = 7
/**
 * Milliseconds in which the other side may take nothing of what it was sent. It is there, and perhaps busy: a printer that
 * heats up takes minutes.
 */
const untakenLimit = 120_000

/**
 * Finds connections that do not get rid of what was written to them. From now on, until it is closed, `failed` is called with what
 * is wrong with it, in a sentence that goes on after the name of the other side. What is under way in the system is known on
 * Linux alone; elsewhere it is never called.
 */
export type DeliveryWatchdog = (socket: Socket, failed: (what: string) => void) => void

export interface DeliveryWatchdogSettings {
  clock: Clock
  repetitionLimit?: number
  /** The connections of the system, as Linux lists them; rejects where that is not known. */
  readTables?: () => Promise<string[]>
}

/** What the system says of a connection. */
interface UnderWay {
  /** Bytes that the other side has not acknowledged. */
  bytes: number
  /** How often the first of them have been sent again. */
  repetitions: number
}

interface Watched {
  failed(what: string): void
  /** Bytes that had been written when nothing was under way any more; undefined: something is. */
  clearAt: number | undefined
  /** Grows when the other side takes something. */
  taken: number
  takenAt: number
}

export function createDeliveryWatchdog({ clock, ...settings }: DeliveryWatchdogSettings): DeliveryWatchdog {
  const { readTables = systemTables } = settings
  const limit = settings.repetitionLimit ?? repetitionLimit
  const sockets = new Map<Socket, Watched>()
  let timer: ScheduledCall | undefined

  /** The next look, while there is anything to look at. */
  function plan(): void {
    const mine = clock.schedule(lookEvery, () => {
      const isWorthIt = [...sockets].some(([socket, { clearAt }]) => socket.bytesWritten !== clearAt)
      const done = isWorthIt ? readTables().then(judgeAll, () => undefined) : Promise.resolve()
      void done.then(() => {
        if (timer === mine) plan()
      })
    })
    timer = mine
  }

  function judgeAll(tables: string[]): void {
    const underWay = readUnderWay(tables)
    for (const [socket, watched] of [...sockets]) {
      const found = underWay.get(`${socket.localPort}:${socket.remotePort}`)
      const what = found && judge(socket, watched, found)
      if (what !== undefined) watched.failed(what)
    }
  }

  function judge(socket: Socket, watched: Watched, { bytes, repetitions }: UnderWay): string | undefined {
    if (repetitions >= limit) return 'does not answer what was written to it'
    const isClear = bytes === 0 && socket.writableLength === 0
    // What is written at once counts as waiting as a whole until all of it has gone, but for what the handle still has.
    // Only that this changes says something.
    const taken = socket.bytesWritten - socket.writableLength - queuedBytes(socket) - bytes
    if (isClear || watched.clearAt !== undefined || taken !== watched.taken)
      watched.takenAt = clock.monotonic()
    watched.taken = taken
    watched.clearAt = isClear ? socket.bytesWritten : undefined
    return clock.monotonic() - watched.takenAt < untakenLimit
      ? undefined
      : `has taken nothing of what was written to it for ${untakenLimit / 60_000} minutes`
  }

  return (socket, failed) => {
    sockets.set(socket, { failed, clearAt: 0, taken: 0, takenAt: clock.monotonic() })
    if (timer === undefined) plan()
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      timer?.cancel()
      timer = undefined
    })
  }
}

/** Of what was given to the system, what it has no room for yet. As it takes more, as much may be under way as before. */
export function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

/** Of this process's network. What has no IPv6 lacks the second one. */
export async function systemTables(): Promise<string[]> {
  return [
    await readFile('/proc/self/net/tcp', 'utf8'),
    await readFile('/proc/self/net/tcp6', 'utf8').catch(() => ''),
  ]
}

const established = '01'
/** What the system waits for with a connection: an acknowledgement. */
const repeating = '01'

/**
 * By the ports of both sides, in lines as `proc_net_tcp.rst` of Linux has them. Where two connections have the same ones, what
 * can be said of both.
 */
export function readUnderWay(tables: string[]): Map<string, UnderWay> {
  const found = new Map<string, UnderWay>()
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    const [, local = '', remote = '', state, queues = '', wait = '', repeated = ''] = line.trim().split(/\s+/)
    if (state !== established) continue
    const key = `${portOf(local)}:${portOf(remote)}`
    const other = found.get(key) ?? { bytes: Infinity, repetitions: Infinity }
    const [bytes = ''] = queues.split(':')
    found.set(key, {
      bytes: Math.min(other.bytes, Number.parseInt(bytes, 16)),
      repetitions: Math.min(
        other.repetitions,
        wait.startsWith(repeating) ? Number.parseInt(repeated, 16) : 0,
      ),
    })
  }
  return found
}

const portOf = (address: string): number => Number.parseInt(address.split(':')[1] ?? '', 16)
