import { read } from 'node:fs'
import { promisify } from 'node:util'
import type { SerialPort } from 'serialport'

const readFile = promisify(read)
/** There is nothing to read yet. */
const notYet = new Set(['EAGAIN', 'EWOULDBLOCK', 'EINTR'])

/**
 * Has a port that is pulled out close, as one that fails. Linux and macOS answer who reads it then with no bytes and no error, at
 * once; the library takes that for nothing yet, and asks again without a pause and without an end.
 */
export function detectHangUp({ port }: SerialPort): void {
  if (port === undefined || !('poller' in port)) return
  const { poller } = port
  const isOpen = (): boolean => port.fd !== null
  const readable = (): Promise<void> =>
    new Promise((resolve, reject) => {
      poller.once('readable', (error: Error | null) => (error === null ? resolve() : reject(error)))
    })
  port.read = async (buffer, offset, length) => {
    while (port.fd !== null) {
      try {
        const { bytesRead } = await readFile(port.fd, buffer, offset, length, null)
        if (bytesRead > 0) return { buffer, bytesRead }
        throw new Error('it was pulled out')
      } catch (error) {
        if (!notYet.has((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
      // Closed meanwhile, its poller is gone, and to ask that for anything ends the process.
      if (isOpen()) await readable()
    }
    // The library's word for what ended because somebody has closed the port.
    throw Object.assign(new Error('the port is closed'), { canceled: true })
  }
}
