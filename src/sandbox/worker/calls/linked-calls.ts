import { cutText } from '../../../base/text/cut-text.ts'
import { linkCells } from '../../../schema/worker/shared-cells.ts'
import type { LinkMessage } from '../../../schema/worker/call-frames.ts'
import type { PluginCallOutcome, Reference, SerializedValues } from '../../../schema/worker/plugin-call.ts'
import { callDepthLimit, instanceHandle } from '../../../schema/worker/plugin-call-limits.ts'
import type { Question } from '../../../schema/worker/question.ts'
import type { AnswerMessage, UrgentMessage, WorkerMessage } from '../../../schema/worker/worker-protocol.ts'
import { createLinkEndpoint, type LinkEndpoint } from './link-endpoint.ts'
import { toBytes, toUnicode } from '../lua/text/bytes.ts'
import type { ReceivedCall } from './local-calls.ts'

/** What the host says of links. */
export type LinkNotice = Extract<UrgentMessage, { kind: 'link' | 'unlink' | 'linkedAnswer' }>

/**
 * Calls from one plugin to another in another worker, on links that the host has made: so they take a fraction of the time.
 * Only what the instance can do is called, with plain values, and only plain values are answered: all that the host has
 * to count goes by way of the host. The order is that of calls through the host, too: who has something on its way there
 * calls through the host, and so does the answer come. The other worker is not trusted: it can call nothing but the
 * instance, in nobody's name but that of the plugin that the host has named, and answer nothing but what it was asked.
 */
export interface LinkedCalls {
  notice(message: LinkNotice): void
  /** Takes all that has come. */
  drain(): void
  /** Sends it on its way; false when it has to go through the host. */
  send(isolate: number, number: number, question: Question): boolean
  /** Nobody waits for it any more; false when it is no such call. */
  abandon(number: number): boolean
  /** `settled`: the host has taken all that the callee has sent. False when it is no such call. */
  answer(call: ReceivedCall, outcome: PluginCallOutcome, settled: boolean): boolean
  /** The isolate has ended, and calls and answers no more. */
  ended(isolate: number): void
}

export interface LinkedCallsSettings {
  post(message: WorkerMessage): void
  /** One that no other call or question of this worker has. */
  nextNumber(): number
  /** Does what the call asks for when it is its turn. */
  receive(call: ReceivedCall): void
  /** After a message that came while nobody asked for one. */
  received(): void
  /** Leaves it out if it has not begun. */
  cancel(isolate: number, call: number): void
  answered(answer: AnswerMessage): void
  /** These were received with something that nobody waits for any more. */
  refuse(isolate: number, references: readonly Reference[]): void
}

/** To a plugin that one of this worker calls, or from one that calls it. */
export interface Link {
  isolate: number
  /** The isolate at the other end, and its plugin. */
  peer: number
  plugin: string
  end: LinkEndpoint
  /** Calls whose answer is still to come, or to be given: the caller's numbers, and those in this worker. */
  calls: Map<number, number>
}

export function createLinkedCalls(settings: LinkedCallsSettings): LinkedCalls {
  const { post, answered, cancel } = settings
  const outgoing = new Map<string, Link>()
  const incoming = new Map<string, Link>()

  function succeed({ isolate, calls }: Link, number: number, value: SerializedValues): boolean {
    if (!calls.delete(number)) return false
    answered({ kind: 'answer', isolate, number, ok: true, value })
    return true
  }

  function fail({ isolate, calls }: Link, number: number, message: string, gone?: number): void {
    if (calls.delete(number)) answered({ kind: 'answer', isolate, number, ok: false, message, gone })
  }

  function takeAnswer(link: Link, message: LinkMessage): void {
    const { kind, number, serialized } = message
    if (kind === 'failure') fail(link, number, `${link.plugin}: ${cutText(toUnicode(serialized.body))}`)
    // What is handed over is counted by the host, so it does not come this way.
    else if (kind === 'answer' && serialized.references.length === 0) succeed(link, number, serialized)
  }

  function takeCall(link: Link, message: LinkMessage): void {
    const { isolate, peer: callerIsolate, plugin: caller, calls } = link
    const { kind, number, operation, depth = 0, serialized } = message
    const known = calls.get(number)
    if (kind === 'cancel' && known !== undefined) cancel(isolate, known)
    if (kind !== 'call' || known !== undefined || operation === undefined) return
    if (depth < 1 || depth > callDepthLimit || !isOfInstance(serialized.references, isolate)) return
    const call = -settings.nextNumber()
    calls.set(number, call)
    // Each member by its name: spreading an object takes longer than all the rest.
    settings.receive({
      kind: 'call',
      isolate,
      call,
      caller,
      callerIsolate,
      link,
      number,
      handle: instanceHandle,
      operation,
      depth,
      serialized,
    })
  }

  /** `gone`: the callee has ended, and not the caller. */
  function closeOutgoing(link: Link, gone: boolean): void {
    const { isolate, peer, plugin, end, calls } = link
    outgoing.delete(keyOf(isolate, peer))
    if (gone) end.drain()
    end.close()
    if (gone) for (const number of calls.keys()) fail(link, number, `plugin not running: ${plugin}`, peer)
  }

  function closeIncoming({ isolate, peer, end, calls }: Link): void {
    incoming.delete(keyOf(isolate, peer))
    end.close()
    for (const [number, call] of calls) {
      calls.delete(number)
      cancel(isolate, call)
    }
  }

  function open({ isolate, peer, plugin, isCaller, ...setup }: Extract<LinkNotice, { kind: 'link' }>): void {
    const { fromCaller, fromCallee } = linkCells
    const end = createLinkEndpoint({
      ...setup,
      sends: isCaller ? fromCaller : fromCallee,
      receives: isCaller ? fromCallee : fromCaller,
      take: (message) => (isCaller ? takeAnswer : takeCall)(link, message),
      taken: settings.received,
    })
    const link: Link = { isolate, peer, plugin, end, calls: new Map() }
    ;(isCaller ? outgoing : incoming).set(keyOf(isolate, peer), link)
  }

  return {
    notice(message) {
      if (message.kind === 'link') {
        open(message)
        return
      }
      const { isolate, peer } = message
      const to = outgoing.get(keyOf(isolate, peer))
      if (message.kind === 'linkedAnswer') {
        const { number, outcome } = message
        if (!outcome.ok) {
          if (to !== undefined) fail(to, number, outcome.message)
        } else if (to === undefined || !succeed(to, number, outcome.serialized))
          settings.refuse(isolate, outcome.serialized.references)
        return
      }
      const from = incoming.get(keyOf(isolate, peer))
      if (to !== undefined) closeOutgoing(to, true)
      if (from !== undefined) closeIncoming(from)
    },
    drain() {
      for (const { end } of outgoing.values()) end.drain()
      for (const { end } of incoming.values()) end.drain()
    },
    send(isolate, number, question) {
      if (question.kind !== 'callPlugin' || question.background !== undefined) return false
      const { owner, handle, operation, depth, serialized } = question
      if (handle !== instanceHandle || !isOfInstance(serialized.references, owner)) return false
      const link = outgoing.get(keyOf(isolate, owner))
      if (link === undefined) return false
      link.calls.set(number, number)
      link.end.post({ kind: 'call', number, operation, depth, serialized })
      return true
    },
    abandon(number) {
      for (const { calls, end } of outgoing.values()) {
        if (!calls.delete(number)) continue
        end.post({ kind: 'cancel', number, serialized: nothing })
        return true
      }
      return false
    },
    answer({ link, number, isolate }, outcome, settled) {
      if (link === undefined || number === undefined) return false
      const isWanted = link.calls.delete(number)
      const { ok } = outcome
      const serialized = ok ? outcome.serialized : { body: toBytes(outcome.message), references: [] }
      if (isWanted && settled && serialized.references.length === 0)
        link.end.post({ kind: ok ? 'answer' : 'failure', number, serialized })
      else if (isWanted || ok) post({ kind: 'linkedAnswer', isolate, caller: link.peer, number, outcome })
      return true
    },
    ended(isolate) {
      for (const link of outgoing.values()) if (link.isolate === isolate) closeOutgoing(link, false)
      for (const link of incoming.values()) if (link.isolate === isolate) closeIncoming(link)
    },
  }
}

const nothing: SerializedValues = { body: new Uint8Array(), references: [] }
const keyOf = (isolate: number, peer: number): string => `${isolate} ${peer}`

/** Whether nothing is handed over: a method gets the instance itself. */
function isOfInstance(references: readonly Reference[], owner: number): boolean {
  return references.every((reference) => reference.owner === owner && reference.handle === instanceHandle)
}
