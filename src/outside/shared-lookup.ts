import type { LookupFunction } from 'node:net'

type Callback = Parameters<LookupFunction>[2]

/**
 * Looks each name up once at a time, however many ask for it meanwhile. The system looks up a few names at once, cannot be
 * stopped, and takes long for one whose name server is silent: each further request for it would have the names of all others
 * wait as long again.
 */
export function createSharedLookup(lookup: LookupFunction): LookupFunction {
  const waiting = new Map<string, Callback[]>()
  return (hostname, options, callback) => {
    const { family = 0, hints = 0, all = false, verbatim, order } = options
    const key = JSON.stringify([hostname, family, hints, all, verbatim, order])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(key, callbacks)
    try {
      lookup(hostname, options, (...found) => {
        waiting.delete(key)
        for (const tell of callbacks) tell(...found)
      })
    } catch (error) {
      // It will never be answered: nobody is to wait for it.
      waiting.delete(key)
      throw error
    }
  }
}
