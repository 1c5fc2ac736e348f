import { createServer } from 'node:net'
import { Aedes } from 'aedes'

/** The broker library by itself, in a process of its own; says `{ port }`. */
const broker = await Aedes.createBroker()
const server = createServer({ noDelay: true }, (socket) => broker.handle(socket))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('disconnect', () => process.exit())
