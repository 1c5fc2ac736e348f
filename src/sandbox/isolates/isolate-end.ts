import { withDeadline } from '../../base/time/clock.ts'
import { messageOf } from '../../base/problem.ts'
import { noResources, type Resources } from '../../schema/plugin/plugin.ts'
import type { IsolateMessage } from '../../schema/worker/worker-protocol.ts'
import type { Peer } from '../calls/plugin-calls.ts'
import type { Backpressure } from '../flow/backpressure.ts'
import type { Deliveries } from '../flow/deliveries.ts'
import type { TaskQueue } from '../flow/scheduler.ts'
import { IsolateError } from '../isolate.ts'
import type { OperationDispatcher } from '../operations/operation-dispatcher.ts'
import type { ControlRequests } from './control-requests.ts'
import { createDeferred, type Deferred } from '../../base/time/deferred.ts'
import { notRunning, tooManyStrings, tooMuchTogether } from './failures.ts'
import type { HookRequests } from './hook-requests.ts'
import type { IsolateHostSettings } from './isolate-host.ts'

/** How far an isolate has come. An object that is read: it is looked at for each message. */
export interface IsolateLife {
  running: boolean
  /** Nobody waits for what it is at any more: of its worker only is heard that it has let go of it. */
  abandoned: boolean
  /** Its worker is not heard any more. */
  ending: boolean
  /** What it had is taken back, and nothing is handed to it any more. */
  over: boolean
  /** The plugin has said its last word, and its worker has nothing of it any more. */
  released: boolean
}

export interface IsolateEndSettings {
  host: IsolateHostSettings
  life: IsolateLife
  /** Rejected when it ends before it has loaded. */
  loaded: Deferred<undefined>
  dispatcher: OperationDispatcher
  tasks: TaskQueue
  deliveries: Deliveries
  controlRequests: ControlRequests
  hookRequests: HookRequests
  backpressure: Backpressure
}

/** The end of one isolate: asked for, or by force, and whose doing it was. It ends once, whoever asks how often. */
export interface IsolateEnd {
  /** As in `Isolate`. */
  readonly ended: Promise<IsolateError | undefined>
  unload(): Promise<void>
  /** Unloads it, or ends it at once when it is still being loaded. */
  close(): Promise<void>
  /** What is being loaded is to end at once, and those that share its worker are to notice nothing of it. */
  abandon(error: IsolateError): Promise<void>
  /** At once. */
  end(error: IsolateError | undefined): Promise<void>
  /** Its worker says so. */
  unloaded(resources: Resources): void
  overran(message: Extract<IsolateMessage, { kind: 'overran' }>): void
  died(error: IsolateError): void
}

/**
 * Milliseconds that a worker, which may just be starting, has to let go of a plugin at once; then it ends, also for those that
 * share it.
 */
const abandonTime = 2_000

export function createIsolateEnd(settings: IsolateEndSettings): IsolateEnd {
  const { life, loaded, dispatcher, tasks, deliveries, controlRequests, hookRequests, backpressure } =
    settings
  const { clock, logger, limits, slot, number, source, services, pluginCalls } = settings.host
  const unloaded = createDeferred<undefined>()
  const ended = createDeferred<IsolateError | undefined>()
  let unloading: Promise<void> | undefined
  let abandoning: Promise<void> | undefined

  /** The one way out: takes back what is left, ends the worker, and says so. */
  async function end(error: IsolateError | undefined): Promise<void> {
    if (life.ending) return
    life.ending = true
    life.running = false
    backpressure.close()
    await takeBack()
    life.over = true
    deliveries.close()
    dispatcher.resources = noResources
    slot.detach(number)
    pluginCalls.leave(number)
    controlRequests.rejectAll(notRunning(source.id))
    hookRequests.endAll()
    // What onCleanup asked for last is still done; everything else has been cancelled.
    if (life.released && error === undefined)
      await Promise.all([slot.leave(true), dispatcher.finishOutside(limits.lastWordsDeadline)])
    else {
      dispatcher.abortOutside()
      await slot.leave(life.released)
    }
    const failure = error ?? new IsolateError('worker_died', 'the plugin was unloaded before it had loaded')
    loaded.reject(failure)
    unloaded.resolve(undefined)
    ended.resolve(error)
  }

  /** Takes back what the plugin has with the host. In slices: it may have ten thousand of each kind of thing. */
  async function takeBack(): Promise<void> {
    await tasks.idle()
    const left = dispatcher.release()
    if (left.length === 0) return
    let taken = 0
    tasks.add(() => {
      const operation = left[taken]
      taken += 1
      if (operation !== undefined) dispatcher.serve(operation)
      return taken >= left.length
    })
    await tasks.idle()
  }

  function unload(): Promise<void> {
    if (!life.ending) unloading ??= cleanUp()
    return unloading ?? ended.promise.then(() => undefined)
  }

  /** The plugin takes too much of a worker that it shares. */
  function makeWay({ excess, serving }: Extract<IsolateMessage, { kind: 'overran' }>): void {
    if (unloading !== undefined || life.ending) return
    // The machine's want is nobody's doing.
    const foreignCaller = excess === 'memory' ? pluginCalls.servedBy(number, serving) : undefined
    if (foreignCaller !== undefined) {
      charge(foreignCaller, tooMuchTogether(limits), (error) => void (unloading ??= cleanUp(error)))
      return
    }
    const why =
      excess === 'machine memory'
        ? 'hardly any memory was left, and it has most of a worker that it shares'
        : `it takes too much ${excess} of a worker that it shares`
    const reason = `${why}, and gets ${slot.moveAway(excess)}`
    dispatcher.log('warn', reason)
    services.moveAway(reason)
  }

  /** What a call does to the plugin that serves it is the caller's doing. */
  function charge(caller: Peer, cause: IsolateError, leave: (error: IsolateError) => void): void {
    leave(new IsolateError('neighbour_ended', `a call of ${caller.id} ended it: ${cause.message}`))
    caller.charged(source.id, cause)
  }

  /** Before an end by force: those that share its worker are to notice nothing of it. */
  async function letGo(): Promise<void> {
    if (slot.isolation !== 'shared' || life.ending) return
    life.abandoned = true
    dispatcher.abortOutside()
    slot.post({ kind: 'abandon', isolate: number })
    const late = (): Error => new Error('it does not let go')
    await withDeadline(clock, abandonTime, unloaded.promise, late).catch(() => undefined)
  }

  const abandon = (error: IsolateError): Promise<void> => (abandoning ??= letGo().then(() => end(error)))

  async function cleanUp(error?: IsolateError): Promise<void> {
    life.running = false
    backpressure.stopThrottling()
    pluginCalls.publish(number, false)
    slot.watch(false)
    slot.post({ kind: 'unload', isolate: number })
    const late = (): Error => new Error(`onCleanup did not end within ${limits.cleanupTime / 1000} s`)
    try {
      await withDeadline(clock, limits.unloadDeadline, unloaded.promise, late)
    } catch (late) {
      dispatcher.log('error', `${messageOf(late)}; the plugin was ended by force`)
      await letGo()
    }
    await end(error)
  }

  function reportLeftovers(resources: Resources): void {
    dispatcher.resources = resources
    if (Object.values(resources).some((count) => count > 0)) {
      logger.error('A plugin still held something after its clean-up', { plugin: source.id, resources })
    }
  }

  return {
    ended: ended.promise,
    unload,
    close() {
      if (life.running || unloading !== undefined || life.ending) return unload()
      return abandon(new IsolateError('worker_died', 'the load was ended'))
    },
    abandon,
    end,
    unloaded(resources) {
      life.released = true
      reportLeftovers(resources)
      unloaded.resolve(undefined)
    },
    overran(message) {
      if (slot.isolation === 'shared') makeWay(message)
      else if (message.excess === 'memory') slot.fail(tooManyStrings(limits, slot.heapMegabytes))
    },
    died(error) {
      // A neighbour's end, or the machine's want, is not the doing of who wants what this one did just then.
      const isOfOthers = error.code === 'neighbour_ended' || error.code === 'machine_out_of_memory'
      const mayBeBlamed = unloading === undefined && !isOfOthers
      const foreignCaller = mayBeBlamed ? pluginCalls.servedBy(number) : undefined
      if (foreignCaller !== undefined) {
        charge(foreignCaller, error, (reason) => void end(reason))
        return
      }
      if (error.code === 'out_of_memory') dispatcher.limitReached('memory', slot.heapMegabytes)
      if (unloading !== undefined) dispatcher.log('error', `onCleanup: ${error.message}`)
      void end(unloading === undefined ? error : undefined)
    },
  }
}
