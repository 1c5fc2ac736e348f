import type { Socket } from 'node:net'
import { getOrInsert } from '../../base/get-or-insert.ts'
import { lazyImport } from '../../base/lazy-import.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { ModbusAnswer, ModbusRequest } from '../../schema/outside/outside.ts'
import { createLateAnswers, type LateAnswers } from './modbus-late-answers.ts'
import { createModbusLink, ModbusDisconnect, type ModbusLink, ModbusTimeout } from './modbus-link.ts'
import { createRtuLink } from './modbus-rtu-link.ts'
import { ModbusError } from './modbus-telegram.ts'
import { networkFailure } from '../network-error.ts'
import { addressTimeoutWithin, type OwnListeners } from '../own-listeners.ts'

const serialPorts = lazyImport(() => import('../serial/open-serial-port.ts'))

/** Milliseconds for one attempt, when the plugin names none: a slow serial line behind a gateway needs two. */
export const modbusTimeout = 5_000
/** Attempts when no answer comes. */
const attempts = 2
/** Milliseconds after which an unused connection is closed: many gateways take only a handful. */
export const idleTimeout = 300_000
/** Requests of one plugin that wait for one gateway; a plugin that has more asks faster than it is answered. */
export const waitingRequestsLimit = 500
/** Connections at the same time; no home has that many gateways. */
export const gatewayLimit = 256
/** Those of them that may be busy with requests of one plugin, so that it cannot take them all. */
export const pluginGatewayLimit = 64

/** Milliseconds of rest between two telegrams on a line, at least (Modbus over serial line 1.02, section 2.5.1.1). */
const leastRest = 2
/** Three and a half characters of 11 bits, in bits times milliseconds. */
const restCharacters = 38_500

export interface ModbusGatewaysSettings {
  clock: Clock
  /** What nothing is sent to. */
  own: OwnListeners
}

export interface ModbusGateways {
  /** Always answers. When `signal` comes first, a request that waits is never sent. */
  request(plugin: string, request: ModbusRequest, signal: AbortSignal): Promise<ModbusAnswer>
  /** A plugin has been unloaded: connections that only it has used are closed, as a device may take a single one. */
  forget(plugin: string): void
  /** Ends every connection. */
  close(): Promise<void>
}

interface Job {
  request: ModbusRequest
  signal: AbortSignal
  answer(answer: ModbusAnswer): void
}

interface Gateway {
  key: string
  /** Of its serial port, if it is one. */
  path: string | undefined
  link: ModbusLink
  /** What waits, by plugin; plugins take turns. */
  waiting: Map<string, Job[]>
  /** Whose request is under way. */
  serves: string | undefined
  /** Plugins that are loaded and have used it. */
  users: Set<string>
  idle: ScheduledCall | undefined
}

/** Keeps one connection to each gateway, on which one request at a time goes out, whichever plugin it is from. */
export function createModbusGateways({ clock, own }: ModbusGatewaysSettings): ModbusGateways {
  const gateways = new Map<string, Gateway>()
  /** Of lines, by gateway: a device answers also when the gateway is gone, and a plugin that is loaded again asks at once. */
  const lateAnswers = new Map<string, LateAnswers>()
  let closed = false

  function drop(gateway: Gateway): void {
    gateway.idle?.cancel()
    gateway.link.drop()
    gateways.delete(gateway.key)
  }

  function gatewayFor(request: ModbusRequest): Gateway | undefined {
    const key = keyOf(request)
    const known = gateways.get(key)
    if (known !== undefined) return known
    if (gateways.size >= gatewayLimit) {
      const unused = [...gateways.values()].find(({ serves }) => serves === undefined)
      if (unused === undefined) return undefined
      drop(unused)
    }
    const link = linkFor(request)
    const gateway: Gateway = {
      ...{ key, path: request.serial?.path, link, serves: undefined, idle: undefined },
      waiting: new Map(),
      users: new Set(),
    }
    gateways.set(key, gateway)
    return gateway
  }

  function lateAnswersOf(key: string): LateAnswers {
    for (const [other, late] of lateAnswers)
      if (!gateways.has(other) && late.isEmpty) lateAnswers.delete(other)
    return getOrInsert(lateAnswers, key, () => createLateAnswers(clock.monotonic))
  }

  function linkFor(request: ModbusRequest): ModbusLink {
    const { host, port, rtu, serial } = request
    const late = (): LateAnswers => lateAnswersOf(keyOf(request))
    if (serial !== undefined)
      return createRtuLink({
        ...{ clock, late: late() },
        rest: Math.max(leastRest, restCharacters / serial.baudRate),
        async open() {
          return (await serialPorts()).openSerialPort(serial)
        },
        shut(opened) {
          if (opened.isOpen) opened.close()
        },
      })
    if (rtu !== true) return createModbusLink({ host, port, clock, own })
    return createRtuLink({
      ...{ clock, rest: leastRest, late: late() },
      open(signal, milliseconds) {
        const autoSelectFamilyAttemptTimeout = addressTimeoutWithin(milliseconds)
        return connected(own.connect({ host, port, autoSelectFamilyAttemptTimeout }), signal)
      },
      shut: (stream) => stream.destroy(),
    })
  }

  const isBusyFor = ({ waiting, serves }: Gateway, plugin: string): boolean =>
    serves === plugin || waiting.has(plugin)

  /** Whether it keeps as many gateways busy as it may, this one not among them. */
  function hasItsShare(plugin: string, request: ModbusRequest): boolean {
    const wanted = gateways.get(keyOf(request))
    if (wanted !== undefined && isBusyFor(wanted, plugin)) return false
    return [...gateways.values()].filter((gateway) => isBusyFor(gateway, plugin)).length >= pluginGatewayLimit
  }

  /**
   * The same serial port with other settings, for another plugin. It is closed after each timeout, so both would have it in turns,
   * and each would be told that it is in use when the other one has it.
   */
  function withOtherSettings(plugin: string, request: ModbusRequest): Gateway | undefined {
    const path = request.serial?.path
    if (path === undefined) return undefined
    const others = [...gateways.values()].filter((one) => one.path === path && one.key !== keyOf(request))
    return others.find(({ users }) => [...users].some((user) => user !== plugin))
  }

  function nextJob(gateway: Gateway): Job | undefined {
    const [first] = gateway.waiting
    if (first === undefined) return undefined
    const [plugin, jobs] = first
    const job = jobs.shift()
    gateway.serves = plugin
    gateway.waiting.delete(plugin)
    if (jobs.length > 0) gateway.waiting.set(plugin, jobs)
    return job
  }

  async function work(gateway: Gateway): Promise<void> {
    gateway.idle?.cancel()
    for (let job = nextJob(gateway); job !== undefined; job = nextJob(gateway)) {
      job.answer(await perform(gateway, job))
    }
    gateway.serves = undefined
    if (closed || gateway.users.size === 0) drop(gateway)
    else gateway.idle = clock.schedule(idleTimeout, () => drop(gateway))
  }

  async function perform(gateway: Gateway, { request, signal }: Job): Promise<ModbusAnswer> {
    const milliseconds = request.timeout ?? modbusTimeout
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted || closed) return { ok: false, message: 'the request was cancelled' }
      try {
        return { ok: true, values: await gateway.link.ask(request, milliseconds) }
      } catch (error) {
        const worthAnother =
          error instanceof ModbusTimeout || (error instanceof ModbusDisconnect && error.proven)
        if (worthAnother && attempt < attempts) continue
        // Perhaps it is the connection that is dead, and not the device.
        if (error instanceof ModbusTimeout) gateway.link.drop()
        return { ok: false, message: wordsFor(error, gateway.key) }
      }
    }
  }

  return {
    request(plugin, request, signal) {
      return new Promise((answer) => {
        const refuse = (message: string): void => answer({ ok: false, message })
        if (closed) {
          refuse('the request was cancelled')
          return
        }
        if (hasItsShare(plugin, request)) {
          refuse(`too many gateways: a plugin may keep ${pluginGatewayLimit} busy at one time`)
          return
        }
        const rival = withOtherSettings(plugin, request)
        if (rival !== undefined) {
          refuse(`another plugin uses this port with other settings, as ${rival.key}`)
          return
        }
        const gateway = gatewayFor(request)
        if (gateway === undefined) {
          refuse(`too many gateways: at most ${gatewayLimit} at one time`)
          return
        }
        const waiting = gateway.waiting.get(plugin) ?? []
        if (waiting.length >= waitingRequestsLimit) {
          refuse(`too many requests are waiting for ${gateway.key}: at most ${waitingRequestsLimit}`)
          return
        }
        gateway.users.add(plugin)
        waiting.push({ request, signal, answer })
        gateway.waiting.set(plugin, waiting)
        if (gateway.serves === undefined) void work(gateway)
      })
    },
    forget(plugin) {
      for (const gateway of [...gateways.values()]) {
        const isLast = gateway.users.delete(plugin) && gateway.users.size === 0
        if (!isLast) continue
        if (gateway.serves === undefined) drop(gateway)
        // Nobody waits for what is under way, which may take a minute: whoever works on it drops the gateway then.
        else gateway.link.drop()
      }
    },
    async close() {
      closed = true
      for (const gateway of [...gateways.values()]) drop(gateway)
    },
  }
}

/** A serial port that is wanted with other settings is another one, and in use. */
function keyOf({ host, port, rtu, serial }: ModbusRequest): string {
  const place = host.includes(':') ? `[${host}]` : host
  if (serial === undefined) return `${place.toLowerCase()}:${port}${rtu === true ? ' (RTU)' : ''}`
  const { path, baudRate, dataBits, parity, stopBits } = serial
  return `${path} (${baudRate} ${dataBits}${parity.charAt(0).toUpperCase()}${stopBits})`
}

/** Rejects with the error that it ends with before. What nobody wants any more does not go on trying, for minutes perhaps. */
function connected(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const end = (): void => void socket.destroy(new Error('the connection is not wanted any more'))
    signal.addEventListener('abort', end, { once: true })
    socket.once('connect', () => {
      signal.removeEventListener('abort', end)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

function wordsFor(error: unknown, place: string): string {
  if (error instanceof ModbusError) return error.message
  if (error instanceof ModbusTimeout || error instanceof ModbusDisconnect)
    return `${error.message} (${place})`
  return networkFailure(error, place).message
}
