import assert from 'node:assert/strict'
import { createSocket, type Socket } from 'node:dgram'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import type { LinkEnd } from '../../../src/outside/connections/link.ts'
import { openUdp } from '../../../src/outside/connections/udp-link.ts'
import { networksOf } from '../../../src/outside/networks.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import type { UdpTarget } from '../../../src/schema/outside/connection.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** A socket of a plugin's that is open, and a device that speaks to it. */
async function stage(t: TestContext, more: Partial<UdpTarget> = {}) {
  const device = createSocket('udp4')
  device.bind(0, '127.0.0.1')
  t.after(() => device.close())
  await once(device, 'listening')
  const opened: Socket[] = []
  const note = (message: unknown): void => void opened.push((message as { socket: Socket }).socket)
  subscribe('udp.socket', note)
  const clock = createManualClock()
  const heard: string[] = []
  const warnings: string[] = []
  const ends: LinkEnd[] = []
  const link = openUdp(
    { kind: 'udp', groups: [], broadcast: false, ...more },
    {
      opened: () => undefined,
      message: (payload) => heard.push(Buffer.from(payload).toString()),
      silence: () => undefined,
      ended: (end) => ends.push(end),
      warn: (message) => warnings.push(message),
    },
    { clock, own: createOwnListeners({ ports: () => [] }) },
  )
  unsubscribe('udp.socket', note)
  t.after(() => link.destroy())
  const [socket] = opened
  assert.ok(socket)
  await once(socket, 'listening')
  return {
    ...{ clock, link, device, socket, heard, warnings, ends },
    /** The device says it, and it has come. */
    async say(text: string): Promise<void> {
      const come = once(socket, 'message')
      device.send(text, socket.address().port, '127.0.0.1')
      await come
    },
  }
}

test('of datagrams that are dropped the log is told once a minute, however often the plugin falls behind', async (t) => {
  const { clock, link, say, heard, warnings } = await stage(t)
  const line = (count: number): string =>
    `${count} datagrams were dropped: the plugin takes them more slowly than they come`
  async function fallBehind(): Promise<void> {
    link.pause()
    await say('dropped')
    await say('dropped')
    link.resume()
    await say('taken')
  }
  await fallBehind()
  assert.deepEqual(warnings.splice(0), [line(2)])
  for (let time = 0; time < 3; time += 1) await fallBehind()
  clock.advance(59_999)
  assert.deepEqual(warnings, [])
  clock.advance(1)
  assert.deepEqual(warnings.splice(0), [line(6)])
  clock.advance(60_000)
  assert.equal(clock.waiting, 0)
  await fallBehind()
  assert.deepEqual(warnings, [line(2)])
  assert.deepEqual([...new Set(heard)], ['taken'])
  link.destroy()
  assert.equal(clock.waiting, 0)
})

function isBound(socket: Socket): boolean {
  try {
    return socket.address().port !== 0
  } catch {
    return false
  }
}

test('a socket that nobody wants any more leaves neither its port nor a timer, and says nothing', async (t) => {
  const { clock, link, socket, ends, heard, say } = await stage(t, { groups: ['239.255.77.9'] })
  assert.equal(clock.waiting, 1)
  await say('taken')
  const { port } = socket.address()
  link.destroy()
  link.destroy()
  assert.deepEqual([isBound(socket), clock.waiting, ends, heard], [false, 0, [], ['taken']])
  const next = createSocket('udp4')
  t.after(() => next.close())
  next.bind({ port, exclusive: true })
  await once(next, 'listening')
})

test('a socket that is closed sends first what was written to it, and tells its end once', async (t) => {
  const { clock, link, device, socket, ends, warnings } = await stage(t)
  const peer = { host: 'localhost', port: device.address().port }
  let written = 0
  for (const text of ['one', 'two'])
    link.write(Buffer.from(text), { text: false, peer }, () => {
      written += 1
    })
  const heard = once(device, 'message')
  link.close()
  assert.deepEqual([ends, isBound(socket)], [[], true])
  await once(socket, 'close')
  assert.deepEqual((await heard)[0], Buffer.from('one'))
  link.close()
  link.write(Buffer.from('late'), { text: false, peer }, () => assert.fail('nothing is written'))
  assert.deepEqual([written, ends, clock.waiting, warnings], [2, [{ reason: null }], 0, []])
  const idle = await stage(t)
  idle.link.close()
  assert.deepEqual([isBound(idle.socket), idle.ends], [false, [{ reason: null }]])
})

test('a socket with the option sends to a broadcast address', async (t) => {
  const { link, warnings } = await stage(t, { broadcast: true })
  const peer = { host: '127.255.255.255', port: 9 }
  await new Promise<void>((resolve) => link.write(Buffer.from('x'), { text: false, peer }, resolve))
  assert.deepEqual(warnings, [])
})

test('a socket that cannot join its group says so, and does not keep its port', async (t) => {
  const { clock, socket, ends } = await stage(t, { groups: ['192.0.2.1'] })
  assert.deepEqual([isBound(socket), clock.waiting, ends.length], [false, 0, 1])
  assert.match(ends[0]?.reason ?? '', /^cannot join 192\.0\.2\.1: .*EINVAL/)
})

test('of datagrams that cannot be sent each place is told once, and twenty in all; none of them waits', async (t) => {
  const { link, warnings } = await stage(t)
  // None of them is an address that a socket of IPv4 can send to.
  const hosts = Array.from({ length: 25 }, (_, index) => `2001:db8::${index + 1}`)
  for (const host of [...hosts, ...hosts])
    await new Promise<void>((resolve) =>
      link.write(Buffer.from('x'), { text: false, peer: { host, port: 9 } }, resolve),
    )
  assert.deepEqual(
    warnings.map((line) => line.split(': ')[0]),
    hosts.slice(0, 20).map((host) => `a datagram was not sent to ${host}`),
  )
})

const withoutIPv6 = networksOf('IPv6').length === 0 && 'this machine has no network of IPv6'
for (const [family, groups, host, why] of [
  [
    'IPv4',
    [],
    '2001:db8::1',
    'it is an address of IPv6, and the socket is of IPv4, as none of its groups is of IPv6 (EINVAL)',
  ],
  [
    'IPv6',
    ['ff02::1:78'],
    '127.0.0.1',
    'it is an address of IPv4, and the socket is of IPv6, as one of its groups is (EINVAL)',
  ],
] as const)
  test(
    `what a socket of ${family} cannot send to the other family is told as that`,
    { skip: withoutIPv6 },
    async (t) => {
      const { link, warnings } = await stage(t, { groups: [...groups] })
      await new Promise<void>((resolve) =>
        link.write(Buffer.from('x'), { text: false, peer: { host, port: 9 } }, resolve),
      )
      assert.deepEqual(warnings, [`a datagram was not sent to ${host}: ${why}`])
    },
  )
