import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import createMulticastDns, { type QueryPacket } from 'multicast-dns'
import type { Answer } from 'dns-packet'
import type { TestContext } from 'node:test'
import type { FindersSettings } from '../../src/outside/outside.ts'

/** What can be found on the network, on loopback alone: programs beside the tests are to see nothing of it. */

type Networks = ReturnType<typeof networkInterfaces>

/** The loopback network, of IPv4. */
export function loopback(): Networks {
  return { lo: (networkInterfaces().lo ?? []).filter(({ family }) => family === 'IPv4') }
}

/** Where a test looks: ports of its own. */
export async function testNetwork(): Promise<
  FindersSettings & { ports: { discovery: number; ssdp: number } }
> {
  const [discovery, ssdp] = await Promise.all([freePort(), freePort()])
  return { ports: { discovery, ssdp }, networks: loopback }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

export interface Advertised {
  /** Such as `_http._tcp`. */
  type: string
  name: string
  host?: string
  port?: number
  address?: string
  txt?: (string | Buffer)[]
  /** Seconds. */
  ttl?: number
}

export interface MdnsResponder {
  /** Says it unasked, and answers questions for it from now on. */
  announce(service: Advertised): void
  /** Says that it goes. */
  withdraw(service: Advertised): void
  /** Answers nothing any more. */
  silence(): void
  /** As it is. */
  send(message: Buffer): void
  /** Names and types that were asked for. */
  readonly asked: string[]
  /** Resolves when this was asked for, from now on. */
  askedFor(question: string): Promise<void>
}

/** A responder of multicast DNS. `apart`: it answers with what was asked for alone. */
export async function startMdnsResponder(
  t: Pick<TestContext, 'after'>,
  port: number,
  { apart = false } = {},
): Promise<MdnsResponder> {
  const dns = createMulticastDns({ port, bind: '0.0.0.0', interface: '127.0.0.1' })
  await once(dns, 'ready')
  t.after(() => dns.destroy())
  const services = new Map<string, Advertised>()
  const asked: string[] = []
  const waiting = new Set<() => void>()

  function pointer({ type, name, ttl = 4_500 }: Advertised): Answer {
    return { type: 'PTR', name: `${type}.local`, ttl, data: `${name}.${type}.local` }
  }

  function details(service: Advertised): Answer[] {
    const {
      type,
      name,
      host = 'device.local',
      port: at = 80,
      address = '192.0.2.7',
      ttl = 120,
      txt = [],
    } = service
    const full = `${name}.${type}.local`
    return [
      { type: 'SRV', name: full, ttl, flush: true, data: { target: host, port: at, priority: 0, weight: 0 } },
      { type: 'TXT', name: full, ttl, flush: true, data: txt },
      { type: address.includes(':') ? 'AAAA' : 'A', name: host, ttl, flush: true, data: address },
    ]
  }

  dns.on('query', ({ questions }: QueryPacket) => {
    for (const { name, type } of questions ?? []) {
      asked.push(`${type} ${name}`)
      for (const service of services.values()) {
        const all = [pointer(service), ...details(service)]
        const answers = all.filter(
          (one) => one.name.toLowerCase() === name.toLowerCase() && one.type === type,
        )
        if (answers.length === 0) continue
        const additionals = apart ? [] : all.filter((one) => !answers.includes(one))
        dns.respond({ answers, additionals })
      }
    }
    for (const look of waiting) look()
  })

  return {
    asked,
    announce(service) {
      services.set(service.name, service)
      dns.respond({ answers: apart ? [pointer(service)] : [pointer(service), ...details(service)] })
    },
    withdraw(service) {
      services.delete(service.name)
      dns.respond({ answers: [pointer({ ...service, ttl: 0 })] })
    },
    silence: () => services.clear(),
    send(message) {
      const socket = createSocket('udp4')
      socket.bind(0, '127.0.0.1', () => {
        socket.setMulticastInterface('127.0.0.1')
        socket.send(message, port, '224.0.0.251', () => socket.close())
      })
    },
    askedFor(question) {
      const before = asked.length
      return new Promise((resolve) => {
        const look = (): void => {
          if (!asked.slice(before).includes(question)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
      })
    },
  }
}

export interface SsdpDevice {
  target: string
  usn: string
  location?: string
  server?: string
  maxAge?: number
}

export interface SsdpResponder {
  announce(device: SsdpDevice): void
  withdraw(device: SsdpDevice): void
  silence(): void
  /** Targets that were searched for. */
  readonly searches: string[]
}

/** A responder of SSDP: answers searches, and announces. */
export async function startSsdpResponder(
  t: Pick<TestContext, 'after'>,
  port: number,
): Promise<SsdpResponder> {
  const group = '239.255.255.250'
  const listener = createSocket({ type: 'udp4', reuseAddr: true })
  listener.bind(port)
  await once(listener, 'listening')
  listener.addMembership(group, '127.0.0.1')
  listener.setMulticastInterface('127.0.0.1')
  t.after(() => listener.close())
  const devices = new Map<string, SsdpDevice>()
  const searches: string[] = []

  const details = ({ usn, location, server = 'Test/1.0 UPnP/1.0', maxAge = 1_800 }: SsdpDevice): string[] => [
    `USN: ${usn}`,
    `CACHE-CONTROL: max-age=${maxAge}`,
    ...(location === undefined ? [] : [`LOCATION: ${location}`]),
    `SERVER: ${server}`,
    ...['', ''],
  ]

  listener.on('message', (message: Buffer, from: RemoteInfo) => {
    const text = message.toString()
    const target = /^ST: *(\S+)/im.exec(text)?.[1] ?? ''
    if (!text.startsWith('M-SEARCH * HTTP/1.1\r\n') || !/^MAN: *"ssdp:discover"/im.test(text)) return
    searches.push(target)
    for (const device of devices.values()) {
      if (target !== 'ssdp:all' && target !== device.target) continue
      const lines = ['HTTP/1.1 200 OK', 'EXT:', `ST: ${device.target}`, ...details(device)]
      listener.send(lines.join('\r\n'), from.port, from.address)
    }
  })
  const notify = (device: SsdpDevice, subject: string): void => {
    const lines = ['NOTIFY * HTTP/1.1', `HOST: ${group}:${port}`, `NT: ${device.target}`, `NTS: ${subject}`]
    listener.send([...lines, ...details(device)].join('\r\n'), port, group)
  }

  return {
    searches,
    announce(device) {
      devices.set(device.usn, device)
      notify(device, 'ssdp:alive')
    },
    withdraw(device) {
      devices.delete(device.usn)
      notify(device, 'ssdp:byebye')
    },
    silence: () => devices.clear(),
  }
}
