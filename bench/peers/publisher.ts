import { createConnection } from 'node:net'
import { connectPacket, publishPacket } from './mqtt-frames.ts'

/** Publishes in a process of its own: `publisher.ts PORT`; `{ publish: N, topic }` as fast as the broker reads. */
const [port] = process.argv.slice(2)
const socket = createConnection({ port: Number(port), host: '127.0.0.1', noDelay: true })
/** Messages in one write. */
const batch = 100

socket.write(connectPacket(`publisher-${process.pid}`))
socket.once('data', () => process.send?.({ ready: true }))

function publish(count: number, topic: string): void {
  let sent = 0
  const more = (): void => {
    while (sent < count) {
      const packets: Buffer[] = []
      for (let i = 0; i < batch && sent < count; i += 1) {
        sent += 1
        packets.push(publishPacket(topic, JSON.stringify({ n: sent, value: 21.5 })))
      }
      if (!socket.write(Buffer.concat(packets))) {
        socket.once('drain', more)
        return
      }
    }
  }
  more()
}

process.on('message', (message: { publish: number; topic: string }) =>
  publish(message.publish, message.topic),
)
process.on('disconnect', () => process.exit())
