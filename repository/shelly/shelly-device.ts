import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'

/** A Shelly of the second generation, as its RPC over WebSocket is published. */
export interface ShellyDevice {
  /** `127.0.0.1:<port>` */
  host: string
  /** Calls that were let in, but for those that only read. */
  calls: { method: string; params: Record<string, unknown> }[]
  status: Record<string, Record<string, unknown>>
  notify(method: 'NotifyStatus' | 'NotifyEvent', params: object): void
  /** Cuts all connections. */
  cut(): void
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export async function startShelly(
  t: TestContext,
  { password, id = 'shellyplus2pm-a8032ab12345' }: { password?: string; id?: string } = {},
): Promise<ShellyDevice> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/rpc' })
  await once(server, 'listening')
  const sockets = new Set<WebSocket>()
  /** Those who have called are told. */
  const listening = new Set<WebSocket>()
  t.after(() => {
    for (const socket of sockets) socket.terminate()
    server.close()
  })
  const calls: ShellyDevice['calls'] = []
  const status: ShellyDevice['status'] = {
    'switch:0': {
      ...{
        id: 0,
        output: false,
        apower: 0,
        voltage: 230.1,
        current: 0,
        aenergy: { total: 12.5, by_minute: [1, 2, 3] },
      },
      temperature: { tC: 41.2, tF: 106.2 },
    },
    'light:0': { id: 0, output: true, brightness: 40 },
    'cover:0': { id: 0, state: 'open', current_pos: 100 },
    'input:0': { id: 0, state: false },
    'input:1': { id: 1, state: null },
    sys: { uptime: 1 },
  }
  const info = {
    id,
    name: 'Kitchen',
    mac: 'A8032AB12345',
    model: 'SNSW-102P16EU',
    gen: 2,
    ver: '1.4.4',
    app: 'Plus2PM',
  }
  const nonce = 1_625_038_762
  const realm = id

  function isKnown(auth: Record<string, string> | undefined): boolean {
    if (password === undefined) return true
    if (
      auth === undefined ||
      auth.username !== 'admin' ||
      auth.realm !== realm ||
      auth.algorithm !== 'SHA-256'
    )
      return false
    const own = sha256(`admin:${realm}:${password}`)
    const expected = sha256(`${own}:${nonce}:1:${auth.cnonce}:auth:${sha256('dummy_method:dummy_uri')}`)
    return Number(auth.nonce) === nonce && auth.response === expected
  }

  function answer(method: string, params: Record<string, unknown>): unknown {
    if (method === 'Shelly.GetDeviceInfo') return info
    if (method === 'Shelly.GetConfig')
      return { 'switch:0': { id: 0, name: 'Ceiling' }, 'light:0': { id: 0, name: null } }
    if (method === 'Shelly.GetStatus') return status
    calls.push({ method, params })
    return { was_on: false }
  }

  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      listening.delete(socket)
    })
    socket.on('message', (data: Buffer) => {
      const {
        id: number,
        src,
        method,
        params = {},
        auth,
      } = JSON.parse(data.toString()) as Record<string, unknown>
      const frame = { id: number as number, src: id, dst: src as string }
      listening.add(socket)
      if (method !== 'Shelly.GetDeviceInfo' && !isKnown(auth as Record<string, string>)) {
        const message = JSON.stringify({ auth_type: 'digest', nonce, nc: 1, realm, algorithm: 'SHA-256' })
        socket.send(JSON.stringify({ ...frame, error: { code: 401, message } }))
      } else
        socket.send(
          JSON.stringify({ ...frame, result: answer(method as string, params as Record<string, unknown>) }),
        )
    })
  })

  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    status,
    notify(method, params) {
      for (const socket of listening)
        socket.send(JSON.stringify({ src: id, dst: 'lupine', method, params: { ts: 1, ...params } }))
    },
    cut() {
      for (const socket of sockets) socket.terminate()
    },
  }
}
