import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { startBus, startUpgradeServer } from '../bus-fixture.ts'
import { connectPacket } from '../raw-client.ts'

/** MQTT over WebSocket (MQTT 3.1.1, section 6): a stream of bytes, whichever frames they come in. */

const packet = connectPacket({ id: 'client', clean: true })

for (const [frames, send] of Object.entries({
  'one frame': (socket: WebSocket) => socket.send(packet),
  'a frame for each byte': (socket: WebSocket) => {
    for (const byte of packet) socket.send(Buffer.of(byte))
  },
  'a frame in fragments, with a ping between them': (socket: WebSocket) => {
    socket.send(packet.subarray(0, 5), { fin: false })
    socket.ping()
    socket.send(packet.subarray(5), { fin: true })
  },
}))
  test(`A packet in ${frames} is one`, async (context) => {
    const socket = new WebSocket(await startUpgradeServer(context, await startBus(context)), 'mqtt')
    context.after(() => socket.terminate())
    await once(socket, 'open')
    const answer = once(socket, 'message')
    send(socket)
    const [bytes, isBinary] = (await answer) as [Buffer, boolean]
    assert.deepEqual([[...bytes], isBinary], [[0x20, 2, 0, 0], true])
  })

test('Whoever sends a packet as text is cut off, and not answered', async (context) => {
  const bus = await startBus(context)
  const socket = new WebSocket(await startUpgradeServer(context, bus), 'mqtt')
  context.after(() => socket.terminate())
  await once(socket, 'open')
  let answered = false
  socket.on('error', () => undefined)
  const over = new Promise<void>((resolve) => {
    socket.once('close', resolve)
    socket.once('message', () => {
      answered = true
      resolve()
    })
  })
  socket.send(packet.toString('latin1'))
  await over
  assert.equal(answered, false)
  assert.equal(bus.clients, 0)
})
