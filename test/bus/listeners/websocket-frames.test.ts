import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { packetBytesLimit } from '../../../src/bus/broker-limits.ts'
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

/** The connection as it is, where these protocols are asked for as a client writes them. */
async function upgrade(context: TestContext, protocols: string) {
  const url = await startUpgradeServer(context, await startBus(context))
  const request = get(url.replace(/^ws/, 'http'), {
    headers: {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': protocols },
      ...{ 'sec-websocket-version': '13', 'sec-websocket-key': Buffer.alloc(16).toString('base64') },
    },
  })
  request.once('response', ({ statusCode }) => request.destroy(new Error(`it is refused: ${statusCode}`)))
  const [{ headers }, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket]
  context.after(() => socket.destroy())
  socket.on('error', () => undefined)
  return { protocol: headers['sec-websocket-protocol'], socket }
}

test('Who asks for other protocols, too, as browsers write it, gets that of MQTT', async (context) => {
  assert.equal((await upgrade(context, 'mqttv3.1, mqtt')).protocol, 'mqtt')
})

test('A frame that is larger than a packet may be is refused before it is there', async (context) => {
  const { socket } = await upgrade(context, 'mqtt')
  // A whole frame, binary, of eight bytes of length, with a mask that changes nothing.
  const head = Buffer.from([0x82, 0xff, ...Array<number>(12).fill(0)])
  head.writeBigUInt64BE(BigInt(packetBytesLimit + 1), 2)
  const answer = once(socket, 'data')
  socket.write(Buffer.concat([head, packet, Buffer.alloc(packetBytesLimit + 1 - packet.length)]))
  const [bytes] = (await answer) as [Buffer]
  const [closed, tooBig] = [0x88, 1_009]
  assert.deepEqual([bytes[0], bytes.readUInt16BE(2)], [closed, tooBig])
})
