import { type TurnRules, turnCells } from '../../../schema/worker/shared-cells.ts'
import { createMemoryAccounts, type Grower } from './memory-accounts.ts'
import type { Excess } from '../../../schema/worker/worker-protocol.ts'

/** Bytes: of the worker's heap, and of what it keeps outside of it, such as strings of Lua. */
export interface MemoryInUse {
  heap: number
  outside: number
}

/**
 * Whose turn it is in a worker that several isolates share, and whether one keeps it for too long, or takes too much of
 * it. Who can be set aside never has it for long (`run-queue.ts`); what cannot be, such as a long library function, is
 * counted in the host's beats, for the isolate on top: one that waits on the stack for another's method in the same
 * worker does not pay for it. Memory is what the worker's has grown by in an isolate's turns (`memory-accounts.ts`).
 */
export interface Turns {
  /** Runs `task` as this isolate's. Within a turn of another one it has its own account. */
  run<T>(isolate: number, task: () => T): T
  /** What this isolate has had too much of. Once it has, the answer stays until `renew`. */
  excess(isolate: number): Excess | undefined
  /** It has been loaded: from now on its stretches are short ones. */
  loaded(isolate: number): void
  /** A new stretch for an isolate that has had too much: for its clean-up. */
  renew(isolate: number): void
  /** Between two turns. */
  collectGarbage(): void
  /** Has whoever has most go if the machine is short of memory, between two turns as well as in one. */
  makeRoom(): void
  /** Within the turn of another one, which waits on the spot. */
  readonly isNested: boolean
  /** It has ended. Answers by how many bytes the worker's memory has grown for it. */
  forget(isolate: number): number
}

export interface TurnsSettings {
  rules: TurnRules
  memory(): MemoryInUse
  /** Before anybody has to go for memory that nobody uses any more. */
  collectGarbage(): void
  /** Calls once this turn of the event loop, and all that is due in it, has ended. */
  afterTurn(callback: () => void): void
  /** Told once of each isolate that takes too much. */
  exceeded(isolate: number, excess: Excess): void
  /** The host does not beat, and is to. */
  resumeBeats(): void
}

interface Account {
  /** Beats since the event loop has turned, when it has turned so often. */
  stretch: number
  turn: number
  /** Beats of the present window that it had at a stretch, when it could not be set aside. */
  kept: number
  /** Beats that it may have at a stretch. */
  allowed: number
}

/** Share of the room by which a worker may grow between two collections for the sake of a look. */
const doubtfulShare = 0.25

export function createTurns(settings: TurnsSettings): Turns {
  const { rules, memory, collectGarbage, afterTurn, exceeded, resumeBeats } = settings
  const cells = new Int32Array(rules.cells)
  const accounts = new Map<number, Account>()
  const excesses = new Map<number, Excess>()
  const told = new Set<number>()
  /** Isolates whose code is on the stack, the one that runs now last. */
  const stack: number[] = []
  const beat = (): number => Atomics.load(cells, turnCells.beat)
  /** In beats as well, with those for which nobody had a turn. */
  const time = (): number => beat() + Atomics.load(cells, turnCells.skipped)
  let since = beat()
  let windowBegun = time()
  let bytes = total(memory())
  let awaitingTurn = false
  /** Turns of the event loop after somebody's turn. */
  let turn = 0
  const memoryAccounts = createMemoryAccounts()
  /** Who has to go for its memory, and since when; without it, since when it has gone. */
  let evicted: { isolate?: number; at: number } | undefined
  /** Bytes at which it is found out how many of them are garbage: not again for each byte more. */
  const room: MemoryInUse = { heap: rules.heapBytes, outside: rules.outsideBytes }
  let doubtful = room

  function accountOf(isolate: number): Account {
    let account = accounts.get(isolate)
    if (account === undefined) {
      account = { stretch: 0, turn, kept: 0, allowed: rules.loadBeats }
      accounts.set(isolate, account)
    }
    return account
  }

  /** Not set back for all of them at each turn of the event loop: there may be hundreds. */
  function stretchOf(account: Account): number {
    return account.turn === turn ? account.stretch : 0
  }

  function setStretch(account: Account, beats: number): void {
    account.stretch = beats
    account.turn = turn
  }

  /** Writes down what has passed since the last time for the isolate on top. Answers the memory in use. */
  function settle(): MemoryInUse {
    const now = beat()
    const used = memory()
    const top = stack.at(-1)
    const more = total(used) - bytes
    // One that has just ended has no account any more.
    const account = top === undefined ? undefined : accounts.get(top)
    if (top !== undefined && account !== undefined) {
      // The beats wrap around at 32 bits.
      setStretch(account, stretchOf(account) + ((now - since) | 0))
      if (more > 0) memoryAccounts.grow(top, more)
    }
    if (more < 0) memoryAccounts.shrink(-more)
    since = now
    bytes = total(used)
    return used
  }

  function show(isolate: number): void {
    Atomics.store(cells, turnCells.running, isolate)
    Atomics.add(cells, turnCells.progress, 1)
    if (isolate === 0) return
    Atomics.store(cells, turnCells.last, isolate)
    // After it stands who runs, as the host looks for that after it has paused.
    if (Atomics.load(cells, turnCells.paused) !== 0 && Atomics.exchange(cells, turnCells.paused, 0) !== 0)
      resumeBeats()
  }

  function blame(isolate: number, excess: Excess): void {
    excesses.set(isolate, excess)
    if (told.has(isolate)) return
    told.add(isolate)
    exceeded(isolate, excess)
  }

  const showLargest = (): void => showAsLargest(memoryAccounts.largest())

  function showAsLargest(found: Grower | undefined): void {
    Atomics.store(cells, turnCells.largest, found?.isolate ?? 0)
    Atomics.store(cells, turnCells.largestGrown, (found?.grown ?? 0) / 1024)
  }

  /** Bytes that go with those that have been told to. */
  function leaving(): number {
    let sum = 0
    for (const isolate of told) sum += memoryAccounts.grownOf(isolate)
    return sum
  }

  function judge({ heap, outside }: MemoryInUse): void {
    const top = stack.at(-1)
    const account = top === undefined ? undefined : accounts.get(top)
    if (top !== undefined && account !== undefined && stretchOf(account) >= account.allowed)
      blame(top, 'time')
    if (((time() - windowBegun) | 0) >= rules.windowBeats) closeWindow()
    const isShort = Atomics.exchange(cells, turnCells.short, 0) > 0
    if (!isShort && heap < doubtful.heap && outside < doubtful.outside) return
    // Time to leave, and to be collected: nobody else is to go for what it still keeps.
    const isRecent = evicted !== undefined && ((time() - evicted.at) | 0) < rules.windowBeats
    if (isRecent && !(isShort && evicted?.isolate === undefined)) return
    collect()
    const kept = settle()
    memoryAccounts.collected()
    doubtful = {
      heap: Math.max(room.heap, kept.heap + room.heap * doubtfulShare),
      outside: Math.max(room.outside, kept.outside + room.outside * doubtfulShare),
    }
    const less = leaving()
    const hasRoom = kept.heap - less < room.heap && kept.outside - less < room.outside
    if (hasRoom && !isShort) return
    const grower = memoryAccounts.largestOf((isolate) => !told.has(isolate))
    if (grower === undefined || (hasRoom && grower.grown <= rules.sparedBytes)) return
    evicted = { isolate: grower.isolate, at: time() }
    Atomics.store(cells, turnCells.evicted, grower.isolate)
    blame(grower.isolate, hasRoom ? 'machine memory' : 'memory')
  }

  /** Nobody pays for the time: it is long where much is kept, whoever keeps it. */
  function collect(): void {
    Atomics.store(cells, turnCells.collecting, 1)
    collectGarbage()
    Atomics.store(cells, turnCells.collecting, 0)
    since = beat()
  }

  function closeWindow(): void {
    const length = (time() - windowBegun) | 0
    for (const [isolate, account] of accounts) {
      if (account.kept > length * rules.windowShare) blame(isolate, 'time')
      account.kept = 0
    }
    memoryAccounts.endWindow()
    windowBegun = time()
  }

  function beginStretch(): void {
    awaitingTurn = false
    settle()
    turn += 1
    showLargest()
  }

  return {
    run(isolate, task) {
      if (stack.at(-1) === isolate) return task()
      if (!awaitingTurn) {
        awaitingTurn = true
        afterTurn(beginStretch)
      }
      settle()
      const account = accountOf(isolate)
      const begun = stretchOf(account)
      stack.push(isolate)
      show(isolate)
      try {
        return task()
      } finally {
        const used = settle()
        const beats = stretchOf(account) - begun
        // A slice may well begin before a beat and end after it.
        if (beats > 1) account.kept += beats
        judge(used)
        stack.pop()
        show(stack.at(-1) ?? 0)
      }
    },
    excess(isolate) {
      if (stack.at(-1) === isolate) {
        Atomics.add(cells, turnCells.progress, 1)
        judge(settle())
        showLargest()
      }
      return excesses.get(isolate)
    },
    loaded(isolate) {
      const account = accountOf(isolate)
      account.allowed = rules.stretchBeats
      // What it has had counts as its load, which was allowed.
      setStretch(account, 0)
      account.kept = 0
    },
    renew(isolate) {
      excesses.delete(isolate)
      told.add(isolate)
      const account = accountOf(isolate)
      setStretch(account, 0)
      account.kept = 0
    },
    get isNested() {
      return stack.length > 1
    },
    collectGarbage() {
      collect()
      settle()
      showLargest()
    },
    makeRoom() {
      judge(settle())
      showLargest()
    },
    forget(isolate) {
      const grown = memoryAccounts.grownOf(isolate)
      memoryAccounts.forget(isolate)
      accounts.delete(isolate)
      excesses.delete(isolate)
      told.delete(isolate)
      if (evicted?.isolate === isolate) {
        evicted = { at: time() }
        Atomics.store(cells, turnCells.evicted, 0)
        doubtful = room
      }
      if (Atomics.load(cells, turnCells.largest) === isolate) showAsLargest(undefined)
      if (Atomics.load(cells, turnCells.last) === isolate) Atomics.store(cells, turnCells.last, 0)
      return grown
    },
  }
}

function total({ heap, outside }: MemoryInUse): number {
  return heap + outside
}
