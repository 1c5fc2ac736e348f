import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { silentLogger } from '../../../src/base/log/log.ts'
import { readEvents } from '../clients.ts'
import { logLine, streamOf } from './stage.ts'

/** Characters of an event of which no end's buffers hold a whole one. */
const huge = 40_000_000

/** Opens a stream of which nothing is read behind its head. */
async function openStream(url: string): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

/** The chunks of HTTP that come until one ends with the line of this message. */
async function chunksUntil(socket: Socket, message: string): Promise<string[]> {
  const end = `"message":"${message}"}\n\n\r\n`
  const parts: string[] = []
  for await (const part of socket.setEncoding('latin1')) {
    parts.push(part as string)
    if (parts.slice(-2).join('').endsWith(end)) break
  }
  const text = parts.join('')
  const chunks: string[] = []
  let at = text.indexOf('\r\n\r\n') + 4
  while (at < text.length) {
    const begin = text.indexOf('\r\n', at) + 2
    const length = Number.parseInt(text.slice(at, begin), 16)
    chunks.push(text.slice(begin, begin + length))
    at = begin + length + 2
  }
  return chunks
}

const messagesIn = (chunks: readonly string[]): string[] =>
  [...chunks.join('').matchAll(/"message":"([^"]+)"/g)].map(([, message = '']) => message)

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`)

test('what happens in one turn comes in one chunk, behind and before a lifecycle event as it happened', async (t) => {
  const { http, append, announce } = await streamOf()
  t.after(() => http.close())
  const socket = await openStream(http.url)
  const lines = numbers(600)
  const [first, ...others] = lines
  announce(logLine('@a/b', first ?? ''))
  announce({ kind: 'lifecycle', event: append() })
  for (const line of others) announce(logLine('@a/b', line))
  const chunks = await chunksUntil(socket, 'line 599')
  socket.destroy()
  assert.deepEqual(messagesIn(chunks), lines)
  assert.match(chunks.join(''), /"line 0"}\n\nid: 1\nevent: lifecycle\n/)
  assert.ok(chunks.length <= 5, `${chunks.length} chunks`)
})

test('what waits for a client that does not read is one write for Node, and comes whole when it reads again', async (t) => {
  const { http, announce } = await streamOf()
  t.after(() => http.close())
  const socket = await openStream(http.url)
  announce(logLine('@a/b', 'x'.repeat(huge)))
  const lines = numbers(2_000)
  for (const line of lines) {
    announce(logLine('@a/b', line))
    await nextTurn()
  }
  const [, , ...chunks] = await chunksUntil(socket, 'line 1999')
  socket.destroy()
  assert.deepEqual(messagesIn(chunks), lines)
  assert.ok(chunks.length < 10, `${chunks.length} chunks`)
})

test('what happened in a turn before a client came is not for it, and the last of it comes before the end', async () => {
  const { http, append, announce } = await streamOf()
  const one = await readEvents(`${http.url}/api/events`)
  await one.next()
  let asked = false
  const opening = readEvents(`${http.url}/api/events`)
  while (!asked) {
    announce(logLine('@a/b', 'before'))
    await nextTurn()
    asked = http.listeners === 2
  }
  const other = await opening
  // The first is on its way when the last one comes.
  announce({ kind: 'lifecycle', event: append() })
  announce(logLine('@a/b', 'last'))
  await http.close()
  const message = async (reader: typeof one): Promise<unknown[]> =>
    (await reader.until(({ data }) => data?.message === 'last')).map(({ data }) => data?.message as unknown)
  assert.deepEqual(await message(other), [undefined, undefined, 'last'])
  assert.equal((await message(one)).at(-1), 'last')
})

test('who has missed more than may wait for a client gets all of it, as it reads', async (t) => {
  const { http, append } = await streamOf()
  t.after(() => http.close())
  const text = 'x'.repeat(10_000)
  for (let count = 0; count < 2_000; count += 1) Object.assign(append(), { data: { text } })
  const reader = await readEvents(`${http.url}/api/events?lastEventId=0`)
  const missed = await reader.until(({ id }) => id === '2000')
  await reader.close()
  assert.equal(missed.length, 2_001)
})

test('of many clients that do not read one warning tells', async (t) => {
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const { http, announce } = await streamOf({ logger })
  t.after(() => http.close())
  const sockets = await Promise.all(Array.from({ length: 3 }, () => openStream(http.url)))
  for (let count = 0; count < 3; count += 1) announce(logLine('@a/b', 'x'.repeat(huge)))
  await Promise.all(
    sockets.map(async (socket) => {
      socket.on('error', () => undefined)
      socket.resume()
      await once(socket, 'close')
    }),
  )
  assert.deepEqual(warnings, ['A client of the event stream reads too slowly and was cut off'])
})
