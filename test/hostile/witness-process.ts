import { Agent, get } from 'node:http'
import { Socket } from 'node:net'
import mqtt from 'mqtt'
import { type Measured, percentiles, samplesWanted } from './measure.ts'

/**
 * A client of the host in a process of its own: what it measures is what somebody outside gets. It asks on a
 * schedule, not after the answer before, so a host that stands still for a second is seen a hundred times.
 * Told to `begin` and to `end` a window; says when it has seen `enough` of it, and at its end what it measured.
 */

/** Milliseconds from one request, and one message, to the next, at least and at most. */
const leastSpacing = 8
const mostSpacing = 40
/** How many times as long as an answer takes: the witness is not to be what a slow machine has no room for. */
const spacingShare = 4
let spacing = leastSpacing
let calibrated = false
/** ms for the last answers of a window to come in; what comes later counts as lost. */
const patience = 30_000

export type WitnessCommand = 'begin' | 'end'
export type WitnessAnswer = 'ready' | 'enough' | Measured

const [, , base = '', mqttUrl = ''] = process.argv
const agent = new Agent({ keepAlive: true })
const url = new URL('/api/plugins/@fixtures/peaceful', base)

interface Window {
  http: number[]
  mqtt: number[]
  requests: number
  messages: number
  open: number
  faults: Map<string, number>
  pause: number
  beats: number
  restarts: number
  begun: number
  lastBeat: number
  saidEnough: boolean
}

let current: Window | undefined
const now = (): number => performance.now()

function fault(window: Window, what: string): void {
  window.faults.set(what, (window.faults.get(what) ?? 0) + 1)
}

function ask(window: Window): void {
  const begun = now()
  window.requests += 1
  window.open += 1
  const settle = (what?: string): void => {
    window.open -= 1
    window.http.push(now() - begun)
    if (what !== undefined) fault(window, what)
  }
  exchange(settle)
}

function exchange(settle: (what?: string) => void): void {
  const request = get(url, { agent }, (answer) => {
    answer.on('end', () => {
      settle(answer.statusCode === 200 ? undefined : `HTTP status ${answer.statusCode}`)
    })
    answer.on('error', (error) => {
      settle(`HTTP ${error.message}`)
    })
    answer.resume()
  })
  request.on('error', (error) => {
    // A server may close a connection that has been idle at the very moment at which it is used again.
    if (request.reusedSocket && 'code' in error && error.code === 'ECONNRESET') exchange(settle)
    else settle(`HTTP ${error.message}`)
  })
}

const sender = await mqtt.connectAsync(mqttUrl, { reconnectPeriod: 0 })
const receiver = await mqtt.connectAsync(mqttUrl, { reconnectPeriod: 0 })
for (const client of [sender, receiver]) {
  // Else what is measured is the client's own wait for a fuller packet.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true)
  client.on('error', () => undefined)
  client.on('close', () => {
    if (current !== undefined) fault(current, 'a client of the broker was cut off')
  })
}

/** Messages under way by topic, in the order in which they were sent. */
const sent = new Map<string, { text: string; at: number; window: Window }[]>([
  ['witness/0', []],
  ['witness/1', []],
])
let lastMessage = 0

function send(window: Window): void {
  lastMessage += 1
  window.messages += 1
  window.open += 1
  const qos = lastMessage % 2 === 0 ? 0 : 1
  const topic = `witness/${qos}`
  const text = String(lastMessage)
  sent.get(topic)?.push({ text, at: now(), window })
  sender.publish(topic, text, { qos })
}

function received(topic: string, text: string): void {
  const waiting = sent.get(topic) ?? []
  const index = waiting.findIndex((message) => message.text === text)
  if (index < 0) {
    if (current !== undefined) fault(current, 'an MQTT message came twice')
    return
  }
  for (const { window } of waiting.slice(0, index)) {
    window.open -= 1
    fault(window, 'an MQTT message was lost or out of order')
  }
  const [message] = waiting.splice(0, index + 1).slice(-1)
  if (message === undefined) return
  message.window.open -= 1
  message.window.mqtt.push(now() - message.at)
}

/** Counts of the peaceful plugin; they begin anew when it does. */
let beat = 0
let after = 0

function heard(text: string): void {
  const count = Number(text)
  if (current !== undefined) {
    current.beats += 1
    current.pause = Math.max(current.pause, now() - current.lastBeat)
    current.lastBeat = now()
    if (count !== 1 && beat !== 0 && count !== beat + 1) fault(current, `beat ${count} came after ${beat}`)
  }
  if (count === 1) {
    after = 0
    if (current !== undefined) current.restarts += 1
  }
  beat = count
}

receiver.on('message', (topic, payload) => {
  const text = payload.toString()
  if (topic === 'peaceful/beat') heard(text)
  else if (topic === 'peaceful/after') {
    const count = Number(text)
    if (current !== undefined && after !== 0 && count !== after + 1)
      fault(current, `the timer of beat ${count} came after that of beat ${after}`)
    after = count
  } else received(topic, text)
})
await receiver.subscribeAsync('witness/#', { qos: 1 })
await receiver.subscribeAsync('peaceful/#', { qos: 1 })

function tick(): void {
  setTimeout(tick, spacing)
  if (current === undefined) return
  ask(current)
  send(current)
  if (current.saidEnough || !hasEnough(current)) return
  current.saidEnough = true
  say('enough')
}
tick()

/** A plugin that has lost its beat altogether is waited for no longer than for an answer. */
function hasEnough({ requests, beats, begun }: Window): boolean {
  return requests >= samplesWanted && (beats > 0 || now() - begun > patience)
}

function say(answer: WitnessAnswer): void {
  process.send?.(answer)
}

async function until(probe: () => boolean, milliseconds: number): Promise<void> {
  const end = now() + milliseconds
  while (!probe() && now() < end) await new Promise((resolve) => setTimeout(resolve, leastSpacing))
}

async function end(window: Window): Promise<Measured> {
  window.pause = Math.max(window.pause, now() - window.lastBeat)
  current = undefined
  await until(() => window.open === 0, patience)
  if (window.open > 0) fault(window, `${window.open} answers or messages never came`)
  const { requests, messages, pause, beats, restarts } = window
  const faults = [...window.faults].map(([what, times]) => (times === 1 ? what : `${what} (${times} times)`))
  const http = percentiles(window.http)
  // By the first window, when nothing has been attacked yet.
  if (!calibrated) spacing = Math.min(mostSpacing, Math.max(leastSpacing, http.p50 * spacingShare))
  calibrated = true
  const measured = { requests, messages, pause, beats, restarts, faults }
  return { ...measured, http, mqtt: percentiles(window.mqtt) }
}

let window: Window | undefined
process.on('message', (command: WitnessCommand) => {
  if (command === 'begin') {
    window = {
      ...{ http: [], mqtt: [], requests: 0, messages: 0, open: 0, pause: 0, beats: 0, restarts: 0 },
      faults: new Map(),
      begun: now(),
      lastBeat: now(),
      saidEnough: false,
    }
    current = window
  } else if (window !== undefined) void end(window).then(say)
})
process.on('disconnect', () => process.exit())
say('ready')
