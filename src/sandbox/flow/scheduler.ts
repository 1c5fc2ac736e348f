/**
 * Milliseconds of the host's thread for all plugins together in one turn of the event loop, with what follows from it in
 * the next one. In between every socket is served, so this is what an HTTP request waits for at each of its turns.
 */
const turnLimit = 2
/** Milliseconds at a stretch for one plugin while others wait. */
const quantum = 0.5
/** Milliseconds that are left for work in a turn, however much follows from it. */
const leastWork = 0.25
/** How much the last turn counts in the estimate of what follows from a millisecond of work, 0 to 1. */
const smoothing = 0.2

/** Does one step, and never throws; true when that was the last one. */
export type Task = () => boolean

/** What one isolate has asked for, done in order. */
export interface TaskQueue {
  add(task: Task): void
  /** Resolves when all of it has been done. */
  idle(): Promise<void>
}

/**
 * Shares the host's thread among isolates, each with a queue: fair queueing by the time that each has used. Who is alone gets all
 * there is; when several wait, the one that has had least is next. Between two turns the event loop serves sockets and timers.
 */
export type CreateTaskQueue = () => TaskQueue

interface Line {
  tasks: Task[]
  /** Milliseconds that it has used, of the time that all share. */
  used: number
  /** Of those, since the last turn. */
  inTurn: number
  readonly waiting: (() => void)[]
}

/** `monotonic`: milliseconds that never go backwards. */
export function createScheduler(monotonic: () => number): CreateTaskQueue {
  /** Those with something to do. */
  const active = new Set<Line>()
  /** Those that have worked since the last turn. */
  const worked = new Set<Line>()
  /** What the line that was served last had used before: whoever comes back does not catch up on its absence. */
  let servedAt = 0
  /** Milliseconds of work since the last turn. */
  let spent = 0
  /** When the callbacks began to run that followed from the work before this turn; set before each turn that has some. */
  let followedFrom = 0
  /** Milliseconds that follow from one of work: the broker writes to each subscriber in a callback of its own. */
  let aftermath = 0
  let next: NodeJS.Immediate | undefined
  let working = false

  const room = (): number => Math.max(leastWork, turnLimit / (1 + aftermath)) - spent

  function leastUsed(): Line | undefined {
    let found: Line | undefined
    for (const line of active) if (found === undefined || line.used < found.used) found = line
    return found
  }

  function serve(line: Line, end: number): void {
    let done = 0
    try {
      for (let task = line.tasks[done]; task !== undefined; task = line.tasks[done]) {
        while (!task()) if (monotonic() >= end) return
        done += 1
        if (monotonic() >= end) return
      }
    } finally {
      line.tasks = line.tasks.slice(done)
      if (line.tasks.length === 0) {
        active.delete(line)
        for (const resolve of line.waiting.splice(0)) resolve()
      }
    }
  }

  function work(): void {
    if (next === undefined) {
      // The first callback of the next round; what the broker does with messages comes between it and the turn.
      setImmediate(() => (followedFrom = monotonic()))
    }
    working = true
    let now = monotonic()
    const end = now + room()
    try {
      for (let line = leastUsed(); line !== undefined && now < end; line = leastUsed()) {
        servedAt = line.used
        const begun = now
        try {
          serve(line, Math.min(end, begun + quantum))
        } finally {
          now = monotonic()
          line.used += now - begun
          line.inTurn += now - begun
          spent += now - begun
          worked.add(line)
        }
      }
    } finally {
      working = false
      clearImmediate(next)
      // Behind everything that has just been caused.
      next = setImmediate(turn)
    }
  }

  /** Puts what followed from the last turn's work on the accounts of those who did it. */
  function settle(): void {
    if (spent > 0) {
      const followed = monotonic() - followedFrom
      aftermath += (followed / spent - aftermath) * smoothing
      for (const line of worked) line.used += (followed * line.inTurn) / spent
    }
    for (const line of worked) line.inTurn = 0
    worked.clear()
    spent = 0
  }

  function turn(): void {
    next = undefined
    settle()
    if (active.size > 0) work()
  }

  return () => {
    const line: Line = { tasks: [], used: 0, inTurn: 0, waiting: [] }
    return {
      add(task) {
        line.tasks.push(task)
        if (!active.has(line)) {
          active.add(line)
          line.used = Math.max(line.used, servedAt)
        }
        // At once, as long as there is room in this turn: nobody waits who need not.
        if (!working && room() > 0) work()
      },
      idle() {
        if (line.tasks.length === 0) return Promise.resolve()
        return new Promise((resolve) => line.waiting.push(resolve))
      },
    }
  }
}
