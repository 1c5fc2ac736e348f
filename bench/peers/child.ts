import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

export interface Child {
  /** Resolves with the next message that has this field. */
  says<T>(field: string): Promise<T>
  send(message: object): void
  end(): void
  readonly process: ChildProcess
}

/** Runs a file of this folder in a process of its own. */
export function startChild(file: string, ...args: string[]): Child {
  const process = fork(join(import.meta.dirname, file), args, { execArgv: ['--import', 'tsx'] })
  const heard: Record<string, unknown>[] = []
  let listener: (() => void) | undefined
  process.on('message', (message) => {
    heard.push(message as Record<string, unknown>)
    listener?.()
  })
  return {
    process,
    says: (field) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const index = heard.findIndex((message) => field in message || 'closed' in message)
          const [found] = index === -1 ? [] : heard.splice(index, 1)
          if (found === undefined) return
          listener = undefined
          if (field in found) resolve(found as never)
          else
            reject(new Error(`${file}: the connection was closed after ${String(found.received)} messages`))
        }
        listener = look
        look()
      }),
    send: (message) => void process.send(message),
    end: () => void process.disconnect(),
  }
}
