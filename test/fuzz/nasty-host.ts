import { connect } from 'node:net'
import { type LogFields, type Logger, writtenFields } from '../../src/base/log/log.ts'

/** A log of which the errors alone are kept, with their fields: a host that is told anything makes no mistake. */
export function logOfMistakes(): { logger: Logger; mistakes: string[] } {
  const mistakes: string[] = []
  const error = (message: string, fields: LogFields = {}): void =>
    void mistakes.push(`${message} ${JSON.stringify(writtenFields(fields))}`)
  const quiet = (): void => undefined
  return { logger: { debug: quiet, info: quiet, warn: quiet, error }, mistakes }
}

/** Sends bytes, and answers what came back until the connection ended, or the host had nothing to say. */
export function exchange(url: string, chunks: readonly Buffer[]): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(answer))
    for (const chunk of chunks) socket.write(chunk)
    socket.end()
  })
}
