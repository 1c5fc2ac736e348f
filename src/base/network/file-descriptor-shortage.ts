import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { lazily } from '../lazily.ts'

/**
 * How many files the process may have open; undefined where the system does not say (it is no Linux). Node has raised the soft limit to
 * the hard one.
 */
const filesLimit = lazily((): number | undefined => {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
})

/** So few more may be opened that the next clients take the last ones. */
const fewFiles = 16

/**
 * What to tell when a connection has taken one of the last files that the process may open: then the system cuts off whoever
 * comes, and the host hears nothing of it. The number of a file is the lowest that is free, so it tells how many are open.
 */
export function fileDescriptorShortage(socket: Socket): string | undefined {
  const limit = filesLimit()
  const { _handle: handle } = socket as Socket & { _handle?: { fd?: number } | null }
  if (limit === undefined || handle?.fd === undefined || handle.fd < limit - fewFiles) return undefined
  return (
    `Clients have taken nearly all of the ${limit} files that this host may have open: connections are cut off, and no plugin can ` +
    'be loaded, until some are closed; raise the limit (ulimit -n) or let fewer connect'
  )
}
