import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type LinkMessage, postToLink, readFromLink } from '../../../schema/worker/call-frames.ts'
import { signalCells } from '../../../schema/worker/shared-cells.ts'
import type { LinkSetup } from '../../../schema/worker/worker-protocol.ts'

/** This worker's end of a link to another worker. */
export interface LinkEndpoint {
  /** Sends it, and wakes the other worker when it stands still. */
  post(message: LinkMessage): void
  /** Takes all that has come. */
  drain(): void
  close(): void
}

export interface LinkEndpointSettings extends Pick<LinkSetup, 'port' | 'signal' | 'cells'> {
  /** Which of the cells counts what this end sends, and which what the other one sends. */
  sends: number
  receives: number
  /** What the other worker says, which is not trusted: only its form has been looked at. */
  take(message: LinkMessage): void
  /** After a message that came while nobody asked for one. */
  taken(): void
}

export function createLinkEndpoint(settings: LinkEndpointSettings): LinkEndpoint {
  const { sends, receives, take, taken } = settings
  const port: MessagePort = settings.port
  const signal = new Int32Array(settings.signal)
  const cells = new Int32Array(settings.cells)
  let received = 0

  function receive(value: unknown): void {
    received = (received + 1) | 0
    const message = readFromLink(value)
    if (message !== undefined) take(message)
  }

  port.on('message', (value: unknown) => {
    receive(value)
    taken()
  })

  return {
    post(message) {
      postToLink(port, message)
      // After the message is there: a worker that wakes finds it.
      Atomics.add(cells, sends, 1)
      Atomics.add(signal, signalCells.received, 1)
      Atomics.notify(signal, signalCells.received)
    },
    drain() {
      while (Atomics.load(cells, receives) !== received) {
        const next: { message: unknown } | undefined = receiveMessageOnPort(port)
        if (next === undefined) return
        receive(next.message)
      }
    },
    close: () => port.close(),
  }
}
