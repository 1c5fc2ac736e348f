import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait until no more are read from it; what has been read by then waits, too. */
const waitingLimit = 32

/** The requests of one connection, whose client may send more of them without waiting for answers. */
export interface PipelinedRequests {
  /** Answers that are under way or wait for their turn, in the order of their requests. */
  readonly answers: ReadonlySet<ServerResponse>
  /** Handles the request of this answer when all before it are answered. `done` is called when it has left. */
  add(response: ServerResponse, done: () => void): void
}

/**
 * One after the other: answers leave in this order anyway, and a command does not overtake the one before it. Each in
 * a turn of the event loop of its own, so that thousands sent at once hold nobody else up.
 */
export function createPipelinedRequests(socket: Socket, handle: RequestListener): PipelinedRequests {
  const answers = new Set<ServerResponse>()
  let isPaused = false
  // Node goes on to read whenever a request is done with.
  socket.on('resume', () => {
    if (isPaused) socket.pause()
  })

  function begin(response: ServerResponse): void {
    // After the last answer of a connection nothing more can be answered, so nothing more is done.
    if (socket.writable) handle(response.req, response)
  }

  function beginNext(): void {
    const [next] = answers
    if (next !== undefined) setImmediate(begin, next)
    if (!isPaused || answers.size > waitingLimit) return
    isPaused = false
    socket.resume()
  }

  return {
    answers,
    add(response, done) {
      answers.add(response)
      response.on('close', () => {
        answers.delete(response)
        beginNext()
        done()
      })
      if (answers.size === 1) begin(response)
      if (answers.size <= waitingLimit) return
      isPaused = true
      socket.pause()
    },
  }
}
