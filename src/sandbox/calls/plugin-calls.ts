import type { MessagePort } from 'node:worker_threads'
import {
  instanceHandle,
  type PluginCall,
  type PluginCallOutcome,
  type Reference,
  type Release,
} from '../../schema/worker/plugin-call.ts'
import type { UrgentMessage } from '../../schema/worker/worker-protocol.ts'
import type { IsolateError } from '../isolate.ts'
import type { Reply } from './pending-requests.ts'
import { createLinks } from './links.ts'
import { createReferenceLedger } from './reference-ledger.ts'

const lastCallNumber = 0x7fff_ffff

/** Carries calls from one isolate to another, and knows who may use what. */
export interface PluginCalls {
  /** From now on the isolate may call, and be called with what it hands over. */
  join(peer: Peer): void
  /** Whether `Plugin.get` finds it. */
  publish(isolate: number, findable: boolean): void
  /** The isolate has ended: whoever waits for it, or holds something of it, is told at once. */
  leave(isolate: number): void
  /** `id`: a full one. */
  find(caller: number, id: string, reply: Reply): void
  call(caller: number, call: PluginCall, reply: Reply): void
  answered(isolate: number, call: number, outcome: PluginCallOutcome): void
  /** One isolate has answered a call of another one on a link; the number is the caller's. */
  answeredOnLink(from: number, to: number, number: number, outcome: PluginCallOutcome): void
  /** One isolate has answered a call of another one in its worker with these. */
  handOver(from: number, to: number, references: readonly Reference[], reply: Reply): void
  release(isolate: number, releases: readonly Release[]): void
  /**
   * Whose call the isolate serves now, or served when its worker died; undefined: nobody's. `served`: the call, when it
   * may be another by now, as in `flowCells.serving`.
   */
  servedBy(isolate: number, served?: number): Peer | undefined
  /** Functions and tables that are in the hands of other plugins now. */
  readonly references: number
}

export interface Peer {
  isolate: number
  id: string
  /** Number of its worker. */
  worker: number
  post(message: UrgentMessage, transfer?: MessagePort[]): void
  /** What its worker sleeps on (`signalCells`). */
  signal: SharedArrayBuffer
  /** Its owner has limited what it may ask of the host, which counts it. */
  isLimited: boolean
  /** The call that it serves now, also when it is dead, as in `flowCells.serving`; 0: none. */
  serving(): number
  /** It has ended another plugin, which served its call. */
  charged(victim: string, error: IsolateError): void
  /** Why it may not get hold of another plugin; undefined: it may. */
  refuseUse(plugin: string): string | undefined
}

interface Pending {
  caller: Peer | undefined
  callee: Peer
  reply: Reply
  /** Nobody waits any more; it may be under way all the same, and is somebody's doing. */
  cancelled: boolean
}

export function createPluginCalls(): PluginCalls {
  const peers = new Map<number, Peer>()
  const findable = new Map<number, Peer>()
  const pending = new Map<number, Pending>()
  const ledger = createReferenceLedger((owner, handle, sent) => {
    if (handle !== instanceHandle) peers.get(owner)?.post({ kind: 'drop', isolate: owner, handle, sent })
  })
  const links = createLinks()
  let lastCall = 0

  function cancel(call: number): void {
    const waiting = pending.get(call)
    if (waiting === undefined || waiting.cancelled) return
    waiting.cancelled = true
    const { callee } = waiting
    callee.post({ kind: 'cancelCall', isolate: callee.isolate, call })
  }

  const idOf = (isolate: number): string => peers.get(isolate)?.id ?? ''

  /** Writes down that these are handed over. Undefined, or why they reach nobody: one of them is not there to be. */
  function handOver(from: number, to: number, references: readonly Reference[]): string | undefined {
    if (peers.has(to) && ledger.transfer(from, to, references)) return undefined
    ledger.discard(from, references)
    return `${idOf(from)} handed over what it has not got`
  }

  /** What the caller hears of it. */
  function outcomeFor(caller: number, callee: number, outcome: PluginCallOutcome): PluginCallOutcome {
    const failure = outcome.ok
      ? handOver(callee, caller, outcome.serialized.references)
      : `${idOf(callee)}: ${outcome.message}`
    return failure === undefined ? outcome : { ok: false, message: failure }
  }

  return {
    join(peer) {
      peers.set(peer.isolate, peer)
      ledger.join(peer.isolate)
    },
    publish(isolate, shown) {
      const peer = peers.get(isolate)
      if (shown && peer !== undefined) findable.set(isolate, peer)
      else findable.delete(isolate)
    },
    leave(isolate) {
      if (!peers.delete(isolate)) return
      findable.delete(isolate)
      links.leave(isolate)
      for (const [call, { caller, callee, reply }] of pending) {
        if (callee.isolate === isolate) {
          pending.delete(call)
          reply.fail(`plugin not running: ${callee.id}`, isolate)
        } else if (caller?.isolate === isolate) cancel(call)
      }
      for (const holder of ledger.leave(isolate))
        peers.get(holder)?.post({ kind: 'peerEnded', isolate: holder, ended: isolate })
    },
    find(caller, id, reply) {
      if (!reply.isWanted()) return
      const own = peers.get(caller)
      // Itself it finds at any time, also while it is being loaded.
      const peer = own?.id === id ? own : [...findable.values()].find((candidate) => candidate.id === id)
      if (peer === undefined) {
        reply.succeed(undefined)
        return
      }
      const { isolate: owner, id: plugin } = peer
      // What a plugin is handed by another one, it may use: only the way to get it by itself is guarded.
      const refusal = owner === caller ? undefined : own?.refuseUse(plugin)
      if (refusal !== undefined) {
        reply.fail(refusal)
        return
      }
      const reference: Reference = { owner, handle: instanceHandle, type: 'table', plugin }
      ledger.transfer(owner, caller, [reference])
      reply.succeed(reference)
    },
    call(caller, { owner, handle, operation, depth, serialized }, reply) {
      const callee = peers.get(owner)
      // The question may have had to wait on its way here; then nobody hears the reply.
      if (callee === undefined || !reply.isWanted()) {
        ledger.discard(caller, serialized.references)
        reply.fail('plugin not running', owner)
        return
      }
      if (!ledger.holds(caller, owner, handle) || !ledger.transfer(caller, owner, serialized.references)) {
        ledger.discard(caller, serialized.references)
        reply.fail(`${callee.id} has not handed this over`)
        return
      }
      // It is shown in a cell of 32 bits.
      lastCall = (lastCall % lastCallNumber) + 1
      const call = lastCall
      const from = peers.get(caller)
      pending.set(call, { caller: from, callee, reply, cancelled: false })
      reply.whenAbandoned(() => cancel(call))
      callee.post({
        kind: 'call',
        isolate: owner,
        call,
        caller: idOf(caller),
        handle,
        operation,
        depth,
        serialized,
      })
      if (from !== undefined && handle === instanceHandle) links.called(from, callee)
    },
    answered(isolate, call, outcome) {
      const waiting = pending.get(call)
      const isExpected = waiting?.callee.isolate === isolate
      if (isExpected) pending.delete(call)
      if (!isExpected || waiting.cancelled || waiting.caller === undefined) {
        if (outcome.ok) ledger.discard(isolate, outcome.serialized.references)
        return
      }
      const given = outcomeFor(waiting.caller.isolate, isolate, outcome)
      if (given.ok) waiting.reply.succeed(given.serialized)
      else waiting.reply.fail(given.message)
    },
    answeredOnLink(from, to, number, outcome) {
      const caller = peers.get(to)
      if (caller === undefined || !links.has(to, from)) {
        if (outcome.ok) ledger.discard(from, outcome.serialized.references)
        return
      }
      const given = outcomeFor(to, from, outcome)
      caller.post({ kind: 'linkedAnswer', isolate: to, peer: from, number, outcome: given })
    },
    handOver(from, to, references, reply) {
      const failure = handOver(from, to, references)
      if (failure === undefined) reply.succeed(undefined)
      else reply.fail(failure)
    },
    servedBy(isolate, served = peers.get(isolate)?.serving() ?? 0) {
      const peer = peers.get(isolate)
      if (served < 0) {
        const caller = peers.get(-served)
        return caller?.worker === peer?.worker || links.has(-served, isolate) ? caller : undefined
      }
      const { caller, callee } = pending.get(served) ?? {}
      return callee?.isolate === isolate && caller?.isolate !== isolate ? caller : undefined
    },
    release: (isolate, releases) => ledger.release(isolate, releases),
    get references() {
      return ledger.size
    },
  }
}
