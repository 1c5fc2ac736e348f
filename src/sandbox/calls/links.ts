import { getOrInsert } from '../../base/get-or-insert.ts'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { createCells, linkCells } from '../../schema/worker/shared-cells.ts'
import type { Peer } from './plugin-calls.ts'

/** Links of one isolate to those that it calls, and likewise from those that call it. */
const linkLimit = 64

/**
 * Ways from one plugin to another one in another worker, on which it calls what the other one's instance can do, and gets
 * plain values back, without the host. The host makes them, for who holds that instance, and ends them.
 */
export interface Links {
  /** The caller has called the instance of the callee by way of the host; who does so again is worth a link. */
  called(caller: Peer, callee: Peer): void
  has(caller: number, callee: number): boolean
  /** The isolate has ended: the other end of each of its links is told. */
  leave(isolate: number): void
}

interface LinksOf {
  /** Those that it has called once, or to which there is a link. */
  callees: Map<number, Peer | 'called once'>
  /** Those that have a link to it. */
  callers: Map<number, Peer>
}

export function createLinks(): Links {
  const all = new Map<number, LinksOf>()

  function linksOf(isolate: number): LinksOf {
    return getOrInsert(all, isolate, () => ({ callees: new Map(), callers: new Map() }))
  }

  function make(caller: Peer, callee: Peer): void {
    const { port1, port2 } = new MessageChannel()
    const cells = createCells(linkCells)
    const post = (of: Peer, { isolate: peer, id: plugin, signal }: Peer, port: MessagePort): void =>
      of.post(
        { kind: 'link', isolate: of.isolate, peer, plugin, isCaller: of === caller, port, signal, cells },
        [port],
      )
    post(callee, caller, port1)
    post(caller, callee, port2)
  }

  return {
    called(caller, callee) {
      // What an owner has limited is counted by the host, and in one worker there is a shorter way.
      if (caller.isLimited || callee.isLimited || caller.worker === callee.worker) return
      const { callees } = linksOf(caller.isolate)
      const known = callees.get(callee.isolate)
      if (known === undefined) callees.set(callee.isolate, 'called once')
      if (known !== 'called once') return
      const { callers } = linksOf(callee.isolate)
      const linked = [...callees.values()].filter((peer) => peer !== 'called once')
      if (callers.size >= linkLimit || linked.length >= linkLimit) return
      callees.set(callee.isolate, callee)
      callers.set(caller.isolate, caller)
      make(caller, callee)
    },
    has: (caller, callee) => all.get(callee)?.callers.has(caller) ?? false,
    leave(isolate) {
      const ended = all.get(isolate)
      all.delete(isolate)
      for (const [number, callee] of ended?.callees ?? []) {
        if (callee === 'called once') continue
        all.get(number)?.callers.delete(isolate)
        callee.post({ kind: 'unlink', isolate: number, peer: isolate })
      }
      for (const [number, caller] of ended?.callers ?? [])
        caller.post({ kind: 'unlink', isolate: number, peer: isolate })
      for (const { callees } of all.values()) callees.delete(isolate)
    },
  }
}
