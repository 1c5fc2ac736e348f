import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../base/time/clock.ts'
import { every } from '../../../base/time/every.ts'
import { type KeyRing, SecretKeyError } from '../../../base/keys/key-ring.ts'
import type { Logger } from '../../../base/log/log.ts'
import { createWarner } from '../../../base/log/warning.ts'
import { messageOf, Problem, receivedProblem, type SentProblem, sentProblem } from '../../../base/problem.ts'
import type { StoreConnection } from '../../../fleet/store/connect-store.ts'
import { isConnected } from '../../../fleet/store/keep-nothing.ts'
import { createAnswerCache } from './answer-cache.ts'
import { createPieces, pieceBytes } from './pieces.ts'

/**
 * Questions of one host of a fleet to another, over the fleet's store. What is said is sealed with the key that all hosts have:
 * nobody else can ask or answer, and no secret leaves a host in plain text.
 */
export interface HostCalls {
  /**
   * Resolves with the answer, and rejects with the `Problem` of the other host. `fleet_unreachable`: it is not known whether
   * it was done. `plugin_moving`: there is no such host any more, so it was not. While the store is away nothing is sent; it
   * is when the store is back within that time.
   */
  call(host: string, method: string, given: readonly unknown[], options: CallOptions): Promise<unknown>
  /** Answers others from now on: before, another host of this name may be the one that they ask. */
  listen(): void
  close(): void
}

export interface CallOptions {
  /** Milliseconds until it is given up. */
  timeout: number
  /** Whether there still is somebody to ask: that host, and a store over which it is asked. Looked at now and then. */
  stillAsked?: () => boolean
}

export interface HostCallsSettings {
  connection: StoreConnection
  fleet: string
  host: string
  ring: KeyRing
  clock: Clock
  logger: Logger
  /** Answers what another host asks. Throws `Problem`s. */
  answer(method: string, given: readonly unknown[]): Promise<unknown>
}

/** Milliseconds between two looks whether the other host can still be asked. */
const lookEvery = 250
/**
 * Milliseconds until a host that has not answered is asked for its answer again: what is under way when a server of the store
 * dies, or a connection is lost, never arrives.
 */
const reminderEvery = 3_000
const context = 'fleet call'
/** What NATS answers in the place of a subscriber. */
const nobodyListens = 503
/** An answer in the clear: the question was sealed with a key that is not known there. */
const otherKey = 'other key'

/** What goes from host to host, before it is sealed. */
interface Question {
  id: string
  reply: string
  method: string
  given: readonly unknown[]
}

/** To a host that has been asked: it says its answer once more, if it has one. It is not asked to do anything. */
interface Reminder {
  id: string
  reply: string
}

interface Reply {
  id: string
  value?: unknown
  problem?: SentProblem
}

export function createHostCalls(settings: HostCallsSettings): HostCalls {
  const { connection, fleet, host, ring, clock, logger } = settings
  const questions = `lupine.${fleet}.calls.${host}`
  // Of their own: a host of an older version takes everything there for a question.
  const reminders = `lupine.${fleet}.reminders.${host}`
  const answers = `lupine.${fleet}.answers.${host}.${randomUUID()}`
  const waiting = new Map<string, (reply: Reply) => void>()
  const warn = createWarner(logger, clock)
  const pieces = createPieces<string>(clock)
  const answerCache = createAnswerCache()
  let isClosed = false

  /** `noticeTo`: where the store says that nobody listens there. */
  function send(subject: string, message: Question | Reminder | Reply, noticeTo?: string): void {
    sendText(subject, JSON.stringify(message), noticeTo)
  }

  function sendText(subject: string, plain: string, noticeTo?: string): void {
    const sealed = ring.seal(context, plain)
    const size = pieceBytes(connection)
    const count = Math.max(1, Math.ceil(sealed.length / size))
    const id = randomUUID()
    for (let index = 0; index < count; index += 1) {
      const piece = sealed.slice(index * size, (index + 1) * size)
      const text = `${id} ${index} ${count} ${piece}`
      if (noticeTo === undefined || index > 0) connection.publish(subject, text)
      else connection.publish(subject, text, { reply: noticeTo })
    }
  }

  /** The whole text, once all its pieces are there. */
  function collected(text: string): string | undefined {
    const [, id = '', index = '', count = '', piece = ''] =
      /^([0-9a-f-]{36}) (\d+) (\d+) ([^]*)$/.exec(text) ?? []
    return pieces.add(id, Number(index), Number(count), piece)?.join('')
  }

  function hear(subject: string, take: (message: unknown) => void): () => void {
    const subscription = connection.subscribe(subject, {
      callback(error, message) {
        if (error !== null || isClosed) return
        const id = message.subject.split('.').at(-1) ?? ''
        if (message.headers?.code === nobodyListens) {
          absent(id)
          return
        }
        if (message.string() === otherKey) {
          unreadable(id)
          return
        }
        try {
          const sealed = collected(message.string())
          // Whoever sealed it has the key of the fleet: it is a host.
          if (sealed !== undefined) take(JSON.parse(ring.open(context, sealed)))
        } catch (failure) {
          warn('A message between hosts of the fleet was not understood', { error: messageOf(failure) })
          if (!(failure instanceof SecretKeyError)) return
          // Whoever waits for an answer does so no longer: here, and where a question came from.
          unreadable(id)
          message.respond(otherKey)
        }
      },
    })
    return () => subscription.unsubscribe()
  }

  const stopListening = [
    hear(`${answers}.*`, (message) => {
      const reply = message as Reply
      waiting.get(reply.id)?.(reply)
    }),
  ]

  async function answer({ id, reply, method, given }: Question): Promise<void> {
    let answered: Reply
    answerCache.begin(id)
    try {
      answered = { id, value: await settings.answer(method, given) }
    } catch (error) {
      if (!(error instanceof Problem))
        logger.error('A question of another host failed', { method, error: messageOf(error) })
      answered = { id, problem: sentProblem(error) }
    }
    const text = JSON.stringify(answered)
    answerCache.set(id, text)
    if (!isClosed) sendText(reply, text)
  }

  function answerAgain({ id, reply }: Reminder): void {
    const found = answerCache.get(id)
    if (found === undefined) return
    if (found !== 'lost') sendText(reply, found.text)
    // The question was lost, or it is long ago.
    else send(reply, { id, problem: sentProblem(unknown(host)) })
  }

  function absent(id: string): void {
    const message =
      'The host that has this plugin does not answer; another one takes it over. Try again in some seconds.'
    waiting.get(id)?.({ id, problem: { code: 'plugin_moving', message } })
  }

  function unreadable(id: string): void {
    const message =
      'The host that has this plugin has another key file than this one, so they cannot read what the other says, and it is not ' +
      'known whether this was done. All hosts of a fleet need the same keys.'
    waiting.get(id)?.({ id, problem: { code: 'fleet_unreachable', message } })
  }

  function unknown(other: string): Problem {
    return new Problem(
      'fleet_unreachable',
      `The host ${other} has not answered, so it is not known whether this was done; look, or repeat it with the same Idempotency-Key.`,
    )
  }

  return {
    listen() {
      stopListening.push(
        hear(questions, (message) => void answer(message as Question)),
        hear(reminders, (message) => answerAgain(message as Reminder)),
      )
    },
    call(other, method, given, { timeout, stillAsked }) {
      if (isClosed || connection.isClosed())
        return Promise.reject(new Problem('shutting_down', 'The host is shutting down.'))
      const id = randomUUID()
      const until = clock.monotonic() + timeout
      return new Promise((resolve, reject) => {
        function end(settle: () => void): void {
          if (!waiting.delete(id)) return
          timer.cancel()
          settle()
        }
        /** When something of it was sent last, on the monotonic clock. */
        let sentAt: number | undefined
        function sendWhatIsDue(): void {
          if (!isConnected(connection)) return
          const now = clock.monotonic()
          const reply = `${answers}.${id}`
          if (sentAt === undefined)
            send(`lupine.${fleet}.calls.${other}`, { id, reply, method, given }, reply)
          else if (now - sentAt >= reminderEvery) send(`lupine.${fleet}.reminders.${other}`, { id, reply })
          else return
          sentAt = now
        }
        function look(): void {
          if (clock.monotonic() >= until || stillAsked?.() === false) {
            end(() => reject(unknown(other)))
            return
          }
          sendWhatIsDue()
        }
        const timer = every(clock, lookEvery, look)
        waiting.set(id, ({ value, problem }) =>
          end(() => {
            if (problem === undefined) resolve(value)
            else reject(receivedProblem(problem))
          }),
        )
        sendWhatIsDue()
      })
    },
    close() {
      isClosed = true
      for (const stop of stopListening) stop()
      for (const [id, settle] of waiting)
        settle({ id, problem: { code: 'shutting_down', message: 'The host is shutting down.' } })
      pieces.clear()
    },
  }
}
