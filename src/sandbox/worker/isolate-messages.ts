import { dispatchByKind } from '../../base/dispatch-by-kind.ts'
import type { Redactor } from '../../base/log/redaction.ts'
import type { HostMessage, WorkerMessage } from '../../schema/worker/worker-protocol.ts'
import type { Inbox } from './inbox.ts'
import type { ReceivedCall } from './calls/local-calls.ts'
import type { Steps } from './lua/steps.ts'
import type { Outbox } from './outbox.ts'
import type { OutsideCalls } from './limits/outside-calls.ts'
import type { Peers } from './peers/peers.ts'
import type { PluginApi } from './plugin-api/plugin-api.ts'
import type { SetOutcome } from './plugin-api/values/points.ts'
import type { PeerMessage, QuestionChannel } from './questions/question-channel.ts'
import type { Tasks } from './scheduling/tasks.ts'

/** What the host says to one isolate after its load. */
export type DeliveredMessage = Exclude<Extract<HostMessage, { isolate: number }>, { kind: 'load' }>

/** What one isolate is told once it has been loaded, by the host and by other plugins: each kind goes to who does it. */
export interface IsolateMessages {
  receive(message: DeliveredMessage): void
  /** Does what another plugin wants. */
  serve(message: PeerMessage): void
}

export interface IsolateMessagesSettings {
  isolate: number
  post(message: WorkerMessage): void
  questions: QuestionChannel
  outbox: Outbox
  inbox: Inbox
  tasks: Tasks
  /** Does it as a delivery. */
  later(task: () => void): void
  calls: OutsideCalls
  peers: Peers
  redactor: Redactor
  part: PluginApi['part']
  /** What delivers one frame of a batch each time, and answers whether that was the last one. */
  deliveryOf(frames: Uint8Array): () => boolean
  /** The last task of the isolate. */
  unload(): Steps<void>
  /** Lets go of everything at once, whatever is under way. */
  leave(): void
}

export function createIsolateMessages(settings: IsolateMessagesSettings): IsolateMessages {
  const { isolate, post, questions, outbox, inbox, tasks, later, calls, peers, redactor } = settings
  const { part, deliveryOf, unload, leave } = settings
  let isUnloading = false

  function* answer(request: number, steps: Steps<SetOutcome>): Steps<void> {
    const outcome = yield* steps
    outbox.flush()
    post({
      kind: 'controlAnswered',
      isolate,
      request,
      outcome: outcome.ok
        ? { ok: true, ...(outcome.value === undefined ? {} : { value: outcome.value }) }
        : { ...outcome, message: redactor.redactMessage(outcome.message) },
    })
  }

  function* serve(call: ReceivedCall): Steps<void> {
    const outcome = yield* peers.serve(call)
    // It has failed for want of time or of an answer: that the plugin has ended is what the caller is told.
    if (isUnloading && !outcome.ok) return
    // What the call has done has happened when the caller goes on.
    questions.answerCall(call, outcome, outbox.flush())
  }

  return {
    serve(message) {
      if (message.kind === 'drop') peers.drop(message.handle, message.sent)
      else if (message.kind === 'peerEnded') {
        peers.ended(message.ended)
        outbox.schedule()
      } else {
        tasks.serve({
          number: message.call,
          steps: serve(message),
          cancelled: () => questions.refuseCall(message, 'cancelled'),
        })
      }
    },
    receive: dispatchByKind<DeliveredMessage>({
      deliver({ frames }) {
        inbox.add(deliveryOf(frames))
        tasks.schedule()
      },
      setControl: ({ request, id, value }) =>
        tasks.start(answer(request, part('points').setControl(id, value))),
      setExposed: ({ request, id, feature, value }) =>
        tasks.start(answer(request, part('exposures').set(id, feature, value))),
      hook({ request, handler, hook }) {
        part('httpHandlers').begin(request)
        tasks.start(part('httpHandlers').take(request, handler, hook))
      },
      hookEnded: ({ request }) => part('httpHandlers').giveUp(request),
      result: ({ number, answer: given }) => later(() => calls.receive(number, given)),
      unload() {
        isUnloading = true
        inbox.close()
        calls.giveUp()
        tasks.startLast(unload())
      },
      abandon() {
        // Nobody takes what is still to be sent.
        outbox.close()
        leave()
      },
      credit: () => outbox.schedule(),
    }),
  }
}
