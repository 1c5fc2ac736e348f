import { spawn } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { testNetwork } from '../helpers/multicast-responders.ts'
import { slowdownWhileCollecting } from './measure.ts'
import { startStage } from './stage.ts'

/**
 * Sends to the group from a process of its own, as fast as it can. `message`: JavaScript that makes one of `round`, which
 * goes up.
 */
function flood(t: TestContext, port: number, message: string): void {
  const program = `
    const { encode } = require('dns-packet')
    const socket = require('node:dgram').createSocket('udp4')
    let round = 0
    const next = () => { round += 1; socket.send(${message}, ${port}, '224.0.0.251', () => setImmediate(next)) }
    socket.bind(0, '127.0.0.1', () => { socket.setMulticastInterface('127.0.0.1'); for (let at = 0; at < 4; at += 1) next() })`
  const sender = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(() => sender.kill())
}

/** A service with a new name, and with texts as large as they may be, in each message. */
const inventions = `encode({ type: 'response', flags: 1024, answers: [
  { type: 'PTR', name: '_a._tcp.local', ttl: 1, data: 'n' + round + '._a._tcp.local' },
  { type: 'SRV', name: 'n' + round + '._a._tcp.local', ttl: 1, flush: true, data: { target: 'h' + round + '.local', port: 1 } },
  { type: 'TXT', name: 'n' + round + '._a._tcp.local', ttl: 1, flush: true, data: Array.from({ length: 30 }, (_, at) => at + '=' + 'x'.repeat(200)) },
  { type: 'A', name: 'h' + round + '.local', ttl: 1, flush: true, data: '192.0.2.' + (round % 250) } ] })`

/** A service that changes with each message, and goes each second time. */
const flapping = `encode({ type: 'response', flags: 1024, answers: [
  { type: 'PTR', name: '_a._tcp.local', ttl: round % 2 ? 120 : 0, data: 'n' + (round % 50) + '._a._tcp.local' },
  { type: 'SRV', name: 'n' + (round % 50) + '._a._tcp.local', ttl: 120, flush: true, data: { target: 'h.local', port: round % 65536 } },
  { type: 'TXT', name: 'n' + (round % 50) + '._a._tcp.local', ttl: 120, flush: true, data: 'a=' + round },
  { type: 'A', name: 'h.local', ttl: 120, flush: true, data: '192.0.2.' + (round % 250) } ] })`

/** As many names as a message may have, each as long as a name may be. */
const longNames = `(() => {
  const name = Buffer.concat([...Array.from({ length: 126 }, () => Buffer.from([1, 97])), Buffer.from([0])])
  const header = Buffer.from([0, 0, 132, 0, 0, 0, 1, 44, 0, 0, 0, 0])
  const record = Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12])
  return Buffer.concat([header, name, record.subarray(2), ...Array.from({ length: 299 }, () => record)])
})()`

for (const [what, message] of [
  ['a network full of inventions', inventions],
  ['a network on which everything changes all the time', flapping],
  ['a network full of names that take long to read', longNames],
] as const)
  test(`${what} holds up nobody, and takes no more memory than it may`, async (t) => {
    const discovery = await testNetwork()
    const stage = await startStage(
      t,
      [
        {
          id: 'finder',
          lua: `local count = 0
            plugin:onInit(function()
              plugin:discover("_a._tcp", function() count = count + 1 end)
              plugin:setInterval(100, function() if count > 20 then print("found") count = 0 end end)
            end)`,
        },
      ],
      {},
      'dedicated',
      discovery,
    )
    flood(t, discovery.ports.discovery, message)
    await stage.witness(async (enough) => {
      await stage.enable('finder')
      await stage.logged('finder', message === longNames ? 'more is said on the network' : 'found')
      await enough
      await stage.disable('finder')
    }, slowdownWhileCollecting)
  })
