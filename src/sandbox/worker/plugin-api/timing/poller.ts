import { type Clock, type ScheduledCall, scheduleDeadline } from '../../../../base/time/clock.ts'

export interface PollerStats<E> {
  /** Started and not stopped. */
  running: boolean
  inFlight: boolean
  /** Runs begun, whatever came of them; a run with three attempts is one. */
  tickCount: number
  /** Runs that failed. */
  errorCount: number
  /** When the last run began, in milliseconds since the epoch. */
  lastTick: number | undefined
  lastError: E | undefined
}

/** Times in milliseconds. */
export interface PollerSettings<E> {
  clock: Clock
  /** 0: no schedule. */
  interval: number
  /** Run at the start, too. */
  immediate: boolean
  /** Delay of the first run after the start; undefined: the interval, or none when `immediate`. */
  initialDelay: number | undefined
  /** For one run with its retries. */
  timeout: number
  /** At least 1. */
  maxAttempts: number
  /** Delay before the second attempt; it doubles with each further one. */
  backoff: number
  /** What a run that took too long fails with. */
  timeoutError: E
  /** One attempt; `done` counts once, without an error for success. What it throws is made an error by `thrown`. */
  tick(done: (error?: E) => void): void
  thrown(error: unknown): E
  failed(error: E, stats: PollerStats<E>): void
  succeeded(): void
  /** Something that `isActive` tells may have changed. */
  changed(): void
}

/** Repeats a task that answers later (plugin API, section 5). At most one run at a time. */
export interface Poller<E> {
  start(): void
  /** Ends the schedule and the retries; an attempt that runs may finish. */
  stop(): void
  /** Runs now, or once more when the present run has ended. */
  poll(): void
  stats(): PollerStats<E>
  /** Whether it holds a timer or waits for an attempt. */
  isActive(): boolean
  /** Ends everything, without a word. */
  close(): void
}

interface Run<E> {
  attempts: number
  /** Number of the attempt whose `done` counts; 0 between two attempts. */
  listening: number
  retry: ScheduledCall | undefined
  deadline: ScheduledCall | undefined
  mayRetry: boolean
  lastError: E | undefined
}

export function createPoller<E>(settings: PollerSettings<E>): Poller<E> {
  const { clock } = settings
  let next: ScheduledCall | undefined
  let run: Run<E> | undefined
  let queued = false
  /** The run that was queued, about to begin. */
  let queuedRun: ScheduledCall | undefined
  let running = false
  let tickCount = 0
  let errorCount = 0
  let lastTick: number | undefined
  let lastError: E | undefined

  const stats = (): PollerStats<E> => ({
    running,
    inFlight: run !== undefined,
    tickCount,
    errorCount,
    lastTick,
    lastError,
  })

  const isIdle = (): boolean => run === undefined

  function begin(): void {
    const begun: Run<E> = {
      attempts: 0,
      listening: 0,
      retry: undefined,
      deadline: undefined,
      mayRetry: true,
      lastError: undefined,
    }
    run = begun
    tickCount += 1
    lastTick = clock.now()
    begun.deadline = scheduleDeadline(clock, settings.timeout, () =>
      finish(begun, { error: settings.timeoutError }),
    )
    settings.changed()
    attempt(begun)
  }

  function attempt(current: Run<E>): void {
    current.retry = undefined
    current.attempts += 1
    const number = current.attempts
    current.listening = number
    const settle = (failure: { error: E } | undefined): void => {
      if (run !== current || current.listening !== number) return
      current.listening = 0
      if (failure === undefined) finish(current, undefined)
      else if (current.mayRetry && number < settings.maxAttempts) {
        current.lastError = failure.error
        current.retry = clock.schedule(settings.backoff * 2 ** (number - 1), () => attempt(current))
      } else finish(current, failure)
    }
    try {
      settings.tick((error) => settle(error === undefined ? undefined : { error }))
    } catch (error) {
      settle({ error: settings.thrown(error) })
    }
  }

  function finish(current: Run<E>, failure: { error: E } | undefined): void {
    if (run !== current) return
    run = undefined
    current.retry?.cancel()
    current.deadline?.cancel()
    if (failure === undefined) settings.succeeded()
    else {
      errorCount += 1
      lastError = failure.error
      settings.failed(failure.error, stats())
    }
    settings.changed()
    // What `failed` began itself goes first.
    if (queued && isIdle()) {
      queued = false
      // Not from within: a task that answers at once and polls again would never come back.
      queuedRun = clock.schedule(0, () => {
        queuedRun = undefined
        if (isIdle()) begin()
      })
    }
  }

  function scheduleNext(milliseconds: number): void {
    next = clock.schedule(milliseconds, () => {
      next = undefined
      if (settings.interval > 0) scheduleNext(settings.interval)
      // One that is due while another runs is left out.
      if (run === undefined) begin()
    })
  }

  function endSchedule(): void {
    running = false
    queued = false
    queuedRun?.cancel()
    queuedRun = undefined
    next?.cancel()
    next = undefined
  }

  function cancelRun(): void {
    run?.retry?.cancel()
    run?.deadline?.cancel()
    run = undefined
  }

  return {
    stats,
    start() {
      if (running) return
      running = true
      const first = settings.initialDelay ?? (settings.immediate ? 0 : settings.interval)
      if (settings.immediate || settings.initialDelay !== undefined || settings.interval > 0)
        scheduleNext(first)
      settings.changed()
    },
    stop() {
      endSchedule()
      if (run !== undefined) {
        run.mayRetry = false
        // Between two attempts nothing runs that could still finish it.
        if (run.retry !== undefined) {
          errorCount += 1
          lastError = run.lastError
          cancelRun()
        }
      }
      settings.changed()
    },
    poll() {
      if (run !== undefined) queued = true
      else if (queuedRun === undefined) begin()
    },
    isActive: () => running || run !== undefined || queuedRun !== undefined,
    close() {
      endSchedule()
      cancelRun()
    },
  }
}
