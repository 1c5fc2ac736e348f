import { createServer } from 'node:net'

/** Ports that systems do not give to whoever asks for any: a test beside this one cannot get it in the meantime. */
const lowest = 12_000
const count = 20_000

/** A port of TCP for a program that has to be told one, and has it again after a restart. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * count)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
