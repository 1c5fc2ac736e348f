import type { HookOutcome } from '../../schema/outside/hook.ts'

/** Requests from outside that a handler has and that have not been answered, by number. */
export interface HookRequests {
  /** `send` hands it over, `giveUp` says that nobody waits for the answer any more. Resolves with what came of it. */
  ask(
    signal: AbortSignal,
    send: (request: number) => void,
    giveUp: (request: number) => void,
  ): Promise<HookOutcome>
  answered(request: number, outcome: HookOutcome): void
  /** Nobody answers any more. */
  endAll(): void
}

const ended: HookOutcome = { ok: false, reason: 'ended' }

export function createHookRequests(): HookRequests {
  const open = new Map<number, (outcome: HookOutcome) => void>()
  let lastRequest = 0
  let over = false
  return {
    ask(signal, send, giveUp) {
      if (over || signal.aborted) return Promise.resolve(ended)
      lastRequest += 1
      const request = lastRequest
      const leave = (): void => giveUp(request)
      const answer = new Promise<HookOutcome>((resolve) => open.set(request, resolve))
      signal.addEventListener('abort', leave, { once: true })
      send(request)
      return answer.finally(() => signal.removeEventListener('abort', leave))
    },
    answered(request, outcome) {
      open.get(request)?.(outcome)
      open.delete(request)
    },
    endAll() {
      over = true
      for (const settle of open.values()) settle(ended)
      open.clear()
    },
  }
}
