import { messageOf } from '../../../../base/problem.ts'
import type {
  ConnectionEvent,
  ConnectionTarget,
  OverlongPart,
} from '../../../../schema/outside/connection.ts'
import {
  connectionMessageLimit,
  messageOverhead,
  takenReportBytes,
  unsentLimit,
} from '../../../../schema/outside/connection-limits.ts'
import type { Frame } from '../../../../schema/worker/message-frames.ts'
import { isSteps, type LuaFunction, type LuaTable, type LuaValue, type Results } from '../../lua/lua-value.ts'
import type { Steps } from '../../lua/steps.ts'
import type { CallerAwareFunction, ForeignCaller } from '../../limits/foreign-callers.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { optionalFunction, withoutSelf } from '../../lua/arguments.ts'
import { toBytes, toUnicode } from '../../lua/text/bytes.ts'
import { createConnectionHandlers } from './connection-handlers.ts'
import type { StreamPosition } from './event-stream-reader.ts'

/** What a connection is counted as. */
export type ConnectionResource = 'sockets' | 'serialPorts' | 'discoveries'

/** An object of Lua's that stays connected to something elsewhere. */
export interface ConnectionObject {
  readonly table: LuaTable
  readonly isOpen: boolean
  /** Has `run` called with what `tell` has. */
  handle(name: string, run: LuaFunction): void
  /** Adds `object:name(fn)`: `fn` is called with what `tell` has, and takes the place of the one before. */
  addHandler(name: string, first?: LuaFunction): void
  /** What answers nothing answers the object. */
  addMethod(name: string, implementation: CallerAwareFunction): void
  tell(handler: string, ...args: LuaValue[]): void
  /** Answers why it is not sent, as Lua gets it; undefined: it is. `name`: of the frame; else the present session. */
  send(
    kind: 'data' | 'text',
    payload: Uint8Array,
    foreignCaller: ForeignCaller,
    name?: string,
  ): readonly [false, Uint8Array] | undefined
  /** Nothing is called back any more. */
  close(): void
}

type OpenedEvent = Extract<ConnectionEvent, { event: 'opened' }>

export interface ConnectionPlan {
  /** Of the plugin, for log lines and errors. */
  method: string
  resource: ConnectionResource
  foreignCaller: ForeignCaller
  /** What is sent before there is a connection waits for it. */
  early?: boolean
  /** What to connect to. What it throws is told as a refusal. */
  target(): ConnectionTarget
  /** Takes the bytes of a session apart; undefined: they are messages as they come. */
  stream?(event: OpenedEvent): ReceivedStream | undefined
  /** Hears of what comes; the connection is lost after `closed`, and for good if that is final. No reason: in order. */
  opened?(event: OpenedEvent): void
  closed(reason: Uint8Array | undefined, code: number | undefined): void
  message?(payload: Uint8Array, isText: boolean, peer: string): void
  /** Where a stream goes on: the host waits for it before the next attempt. */
  position?: StreamPosition
}

/** What comes over one session, taken apart: pure computing on a stranger's bytes. */
export interface ReceivedStream {
  add(bytes: Uint8Array): void
  /** Nothing has come for as long as the framing wants. */
  fellSilent(): void
  /** It is over; `reason` null: in order. */
  ended(reason: string | null): void
  /** Tells the plugin of the next thing that is whole; false: none is. */
  tellNext(): boolean
  /** What has more bytes than it may; nothing more comes of it then. */
  readonly overlong: OverlongPart | undefined
}

/** Tells the plugin of one thing; true when that was the last one. */
export type Delivery = () => boolean
export const nothingMore: Delivery = () => true

/** A connection, as those who have all of them see it. */
export interface ConnectionEntry {
  receive(frame: Frame): Delivery
  end(): void
}

/** Connects, and makes the object of it. `number`: by which the host knows the connection. */
export function createConnectionObject(
  context: PluginContext,
  number: number,
  plan: ConnectionPlan,
  entries: Map<number, ConnectionEntry>,
): ConnectionObject {
  const { runtime, entry, log } = context
  const { method, foreignCaller } = plan
  const table = runtime.newTable()
  const handlers = createConnectionHandlers(context, method)
  /** 0: not connected. */
  let session = 0
  /** Bytes that have not gone yet, as the host counts them. */
  let unsent = 0
  /** Bytes that Lua has got, and the host does not know of. */
  let taken = 0
  /** Takes the bytes of this session apart. */
  let stream: ReceivedStream | undefined
  let isOverlong = false
  /** What waits for a connection. */
  let waiting: (() => void)[] = []
  /** Why it was lost, as the log has it. */
  let logged: string | undefined
  let closed = false

  function end(): void {
    closed = true
    session = 0
    stream = undefined
    waiting = []
    entries.delete(number)
    handlers.close()
    context.touch()
  }

  function lost(reason: string | null, code?: number): void {
    session = 0
    stream = undefined
    waiting = []
    unsent = 0
    if (!handlers.has('onClose') && reason !== null && reason !== logged) {
      logged = reason
      log.write('warn', `${method}: ${reason}`)
    }
    plan.closed(reason === null ? undefined : toBytes(reason), code)
  }

  /** The last thing that is heard of it. */
  function endWith(reason: string | null, code?: number): void {
    lost(reason, code)
    entry.start(
      (function* () {
        end()
      })(),
    )
  }

  /** All that is whole in the stream, and `after` that. */
  function drain(after: () => void): Delivery {
    return () => {
      if (stream?.tellNext() === true) return false
      if (closed) return true
      const what = stream?.overlong
      if (what !== undefined && !isOverlong) {
        isOverlong = true
        context.send({ kind: 'connectionOverlong', connection: number, session, what })
      }
      after()
      return true
    }
  }

  function heard(event: ConnectionEvent): Delivery {
    switch (event.event) {
      case 'opened':
        session = event.session
        unsent = 0
        logged = undefined
        for (const send of waiting.splice(0)) send()
        stream = plan.stream?.(event)
        isOverlong = false
        plan.opened?.(event)
        return nothingMore
      case 'written':
        unsent = Math.max(0, unsent - event.bytes)
        return nothingMore
      case 'silence':
        stream?.fellSilent()
        return drain(() => undefined)
      case 'closed':
        stream?.ended(event.reason)
        return drain(() => {
          if (event.final) endWith(event.reason, event.code)
          else {
            lost(event.reason, event.code)
            const { position } = plan
            if (position !== undefined)
              context.send({ kind: 'connectionContinues', connection: number, ...position })
          }
        })
    }
  }

  function receive({ kind, name, payload }: Frame): Delivery {
    if (kind === 'connection') return heard(JSON.parse(toUnicode(payload)) as ConnectionEvent)
    stream?.add(payload)
    // A copy: Lua keeps what it is given, and this is a part of all that has come.
    if (stream === undefined) plan.message?.(new Uint8Array(payload), kind === 'text', name)
    return drain(() => {
      taken += payload.length + messageOverhead
      if (taken < takenReportBytes) return
      context.send({ kind: 'connectionTaken', connection: number, bytes: taken })
      taken = 0
    })
  }

  function* orObject(steps: Steps<Results>): Steps<Results> {
    return (yield* steps) ?? table
  }

  const object: ConnectionObject = {
    table,
    get isOpen() {
      return session > 0
    },
    addMethod(name, implementation) {
      const call: CallerAwareFunction = (caller, ...args) => {
        const answer = implementation(caller, ...withoutSelf(table, args))
        return isSteps(answer) ? orObject(answer) : (answer ?? table)
      }
      table.set(name, context.foreignCallers.method(`${method}:${name}`, call))
    },
    handle: handlers.set,
    addHandler(name, first) {
      handlers.set(name, first)
      object.addMethod(name, (_foreignCaller, run) => {
        handlers.set(name, optionalFunction(name, 1, run))
      })
    },
    tell: handlers.tell,
    send(kind, payload, caller, name = String(session)) {
      if (closed || (session === 0 && plan.early !== true)) return refused('not connected')
      const bytes = payload.byteLength + messageOverhead
      if (payload.byteLength > connectionMessageLimit)
        return refused(`${payload.byteLength} of at most ${connectionMessageLimit} bytes`)
      if (unsent > 0 && unsent + bytes > unsentLimit)
        return refused(`too much is waiting to be sent: ${unsentLimit} bytes at most`)
      const send = (): void => {
        unsent += bytes
        context.sendFrame(kind, name, payload, { subscription: number, foreignCaller: caller })
      }
      if (session > 0) send()
      else {
        unsent += bytes
        waiting.push(send)
      }
      return undefined
    },
    close() {
      if (closed) return
      end()
      context.send({ kind: 'closeConnection', connection: number })
    },
  }
  object.addMethod('close', () => {
    object.close()
  })
  entries.set(number, { receive, end: object.close })
  context.touch()
  try {
    const target = plan.target()
    const caller = foreignCaller === undefined ? {} : { foreignCaller }
    context.send({ kind: 'openConnection', connection: number, target, ...caller })
  } catch (error) {
    const reason = messageOf(error)
    context.later(() => {
      if (!closed) endWith(reason)
    })
  }
  return object
}

/** As Lua gets it. */
export function refused(reason: string): readonly [false, Uint8Array] {
  return [false, toBytes(reason)]
}
