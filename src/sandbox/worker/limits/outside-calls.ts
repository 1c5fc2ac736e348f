import type { Operation } from '../../../schema/worker/operation.ts'
import type { OutsideAnswer, OutsideCall, OutsideService } from '../../../schema/outside/outside.ts'
import { failedAnswer } from '../../../schema/outside/failed-answer.ts'
import { countLimitFor, type ForeignCaller } from './foreign-callers.ts'

/** Hears of the answer, later and once. */
export type Settle = (answer: OutsideAnswer) => void

/** Calls of the plugin to services of the host that take their time. */
export interface OutsideCalls {
  /** `foreignCaller`: the plugin that has asked this one to. */
  start(call: OutsideCall, settle: Settle, foreignCaller?: ForeignCaller): void
  /**
   * Settles with a failure, later, without asking the host. Throws when the plugin has not heard of too many of them yet, as
   * a callback does not that goes on asking; so does `start`.
   */
  refuse(service: OutsideService, message: string, settle: Settle, foreignCaller?: ForeignCaller): void
  receive(number: number, answer: OutsideAnswer): void
  /** Calls to this service whose answer is still to come. */
  count(service: OutsideService): number
  /**
   * Nobody waits for an answer any more: what is under way is given up. What is started from now on goes out
   * all the same, as a last word.
   */
  giveUp(): void
}

/** Modbus requests that are with the host at one time: their answers can be waiting for a busy plugin. */
const modbusInFlight = 500
/** Calls that wait here, and bytes of their bodies: a plugin with more has lost count of them. */
const waitingLimit = 1_000
const waitingBytes = 16 * 1024 * 1024
/** Refusals of which the plugin has not heard. */
const unheardLimit = 1_000
/** Calls that can be started while nobody waits any more. */
const lastWordsLimit = 100

interface Pending {
  /** Until it is sent: its body can be large. */
  call: OutsideCall | undefined
  foreignCaller?: ForeignCaller
  settle: Settle
  sent: boolean
}

export function createOutsideCalls(
  send: (operation: Operation) => void,
  touch: () => void,
  /** Does it when the plugin has its turn, as it does what the host answers. */
  later: (task: () => void) => void,
  /** HTTP requests that are with the host at one time. */
  httpInFlight: number,
  /** One of the plugin's own was refused. To wait for its turn is nothing that anybody has to be told of. */
  refused: (service: OutsideService) => void,
): OutsideCalls {
  const inFlightLimits: Readonly<Record<OutsideService, number>> = {
    http: httpInFlight,
    modbus: modbusInFlight,
    serialPorts: 1,
  }
  const pending = new Map<number, Pending>()
  /** Numbers of those that wait for their turn, in order. */
  const waiting: Record<OutsideService, number[]> = { http: [], modbus: [], serialPorts: [] }
  const inFlight: Record<OutsideService, number> = { http: 0, modbus: 0, serialPorts: 0 }
  /** Of those in flight, other plugins'. */
  const forForeignCallers: Record<OutsideService, number> = { http: 0, modbus: 0, serialPorts: 0 }
  let bytes = 0
  let lastNumber = 0
  let unheard = 0
  let lastWords: number | undefined

  function hasPlace(service: OutsideService, foreignCaller: ForeignCaller): boolean {
    if (foreignCaller === undefined) return true
    const room = countLimitFor(foreignCaller, inFlightLimits[service])
    if (room > 0) return forForeignCallers[service] < room
    // Half of one place is none: it is theirs when the plugin itself does not want it.
    return waiting[service].every((waits) => pending.get(waits)?.foreignCaller !== undefined)
  }

  function sendWaiting(service: OutsideService): void {
    while (inFlight[service] < inFlightLimits[service]) {
      // Those of other plugins wait longer, so that they leave places for the plugin's own.
      const position = waiting[service].findIndex((waits) =>
        hasPlace(service, pending.get(waits)?.foreignCaller),
      )
      const [number] = position < 0 ? [] : waiting[service].splice(position, 1)
      const next = number === undefined ? undefined : pending.get(number)
      if (number === undefined || next?.call === undefined) return
      inFlight[service] += 1
      if (next.foreignCaller !== undefined) forForeignCallers[service] += 1
      const { call } = next
      bytes -= bodySize(call)
      next.sent = true
      next.call = undefined
      send(operationOf(number, call, next.foreignCaller))
    }
  }

  function refuse(
    service: OutsideService,
    message: string,
    settle: Settle,
    foreignCaller?: ForeignCaller,
  ): void {
    if (unheard >= countLimitFor(foreignCaller, unheardLimit))
      throw new Error(`${message}; ${unheard} were refused before, of which the plugin has not heard yet`)
    unheard += 1
    lastNumber += 1
    const number = lastNumber
    pending.set(number, { call: undefined, settle, sent: false })
    later(() => {
      unheard -= 1
      receive(number, failedAnswer(service, message))
    })
  }

  function receive(number: number, answer: OutsideAnswer): void {
    const found = pending.get(number)
    if (found === undefined) return
    pending.delete(number)
    touch()
    if (found.sent) {
      inFlight[answer.service] -= 1
      if (found.foreignCaller !== undefined) forForeignCallers[answer.service] -= 1
      sendWaiting(answer.service)
    }
    found.settle(answer)
  }

  return {
    refuse,
    receive,
    start(call, settle, foreignCaller) {
      const { service } = call
      if (lastWords !== undefined) {
        lastWords += 1
        lastNumber += 1
        if (lastWords <= lastWordsLimit) send(operationOf(lastNumber, call, foreignCaller))
        return
      }
      const size = bodySize(call)
      if (
        waiting[service].length >= countLimitFor(foreignCaller, waitingLimit) ||
        bytes + size > countLimitFor(foreignCaller, waitingBytes)
      ) {
        if (foreignCaller === undefined) refused(service)
        refuse(service, 'too many requests are waiting for their turn', settle, foreignCaller)
        return
      }
      lastNumber += 1
      pending.set(lastNumber, { call, foreignCaller, settle, sent: false })
      bytes += size
      waiting[service].push(lastNumber)
      sendWaiting(service)
    },
    count: (service) => (lastWords === undefined ? inFlight[service] + waiting[service].length : 0),
    giveUp() {
      lastWords ??= 0
      for (const [number, { sent }] of pending) if (sent) send({ kind: 'cancel', number })
      pending.clear()
    },
  }
}

function operationOf(number: number, call: OutsideCall, foreignCaller: ForeignCaller): Operation {
  return { kind: 'call', number, call, ...(foreignCaller === undefined ? {} : { foreignCaller }) }
}

function bodySize(call: OutsideCall): number {
  return call.service === 'http' ? (call.request.body?.byteLength ?? 0) : 0
}
