import { createConnection } from 'node:net'
import { connectPacket, createFrameCounter, subscribePacket } from './mqtt-frames.ts'

/**
 * Subscribes in a process of its own: `subscriber.ts PORT FILTER`. Says `{ subscribed: true }`; after each
 * `{ expect: N }` how many milliseconds passed from the first of the next N messages to the last.
 */
const [port, filter = '#'] = process.argv.slice(2)
const counter = createFrameCounter()
const socket = createConnection({ port: Number(port), host: '127.0.0.1', noDelay: true })
let told = false
let expected = Number.POSITIVE_INFINITY
let from = 0
let first: number | undefined

socket.write(connectPacket(`subscriber-${process.pid}`))
socket.write(subscribePacket(filter))
socket.on('data', (chunk) => {
  counter.read(chunk)
  if (!told && counter.subscribed) {
    told = true
    process.send?.({ subscribed: true })
  }
  const now = performance.now()
  if (counter.published > from) first ??= now
  if (counter.published - from < expected) return
  process.send?.({ received: counter.published - from, milliseconds: now - (first ?? now) })
  expected = Number.POSITIVE_INFINITY
})
socket.on('close', () => process.send?.({ closed: true, received: counter.published - from }))
process.on('message', (message: { expect: number }) => {
  from = counter.published
  first = undefined
  expected = message.expect
  process.send?.({ ready: true })
})
process.on('disconnect', () => process.exit())
