import type { SentProblem } from '../../base/problem.ts'

/**
 * Hosts of a fleet ask each other about a request before one of them acts on it, so that the same one acts once, at whichever
 * hosts it arrives. Nobody keeps a list for all: each host tells of what it has answered, or is at work on.
 *
 * Where it arrives at several at the same time, all of them are asking. Then the one that is first by name goes on: the
 * others have heard of it, because whoever asks has noted before that it does, and they wait for its answer.
 */

/** A request that is to act once. `fingerprint`: of what it asks for. */
export interface RepeatedRequest {
  key: string
  fingerprint: string
}

/** What a host knows of it. `other`: the key was used for another request. Answers are as they go over the network. */
export type KnownRequest =
  | { known: 'no' | 'other' | 'underWay' }
  | { known: 'answered'; answer: unknown }
  | { known: 'refused'; problem: SentProblem }

export interface SharedRequests {
  /** Name of this host. */
  readonly host: string
  /** Those of the other hosts that live, as far as this one can know it now. */
  others(): string[]
  /** `waits`: for the answer, when it is at work on the request. Rejects when nothing is heard of that host. */
  ask(host: string, request: RepeatedRequest, waits: boolean): Promise<KnownRequest>
  /** Who answers what they ask of this host. */
  serve(answer: (from: string, request: RepeatedRequest, waits: boolean) => Promise<KnownRequest>): void
}

/** The claim of this host to be the one that acts on a request. */
export interface RequestClaim {
  /** It is not decided yet who acts. */
  isUndecided: boolean
  /** Hosts that go first. */
  readonly yieldedTo: Set<string>
}

/**
 * What the others know of a request; `no`: this host is to act, which `claim` says from now on. Never `underWay`: that is
 * waited for. Never rejects; a host that does not answer knows nothing, for what it has written down is in the journal.
 */
export async function askOtherHosts(
  requests: SharedRequests,
  request: RepeatedRequest,
  claim: RequestClaim,
): Promise<KnownRequest> {
  /** Hosts that went away while they were at work on it. */
  const lost = new Set<string>()
  const no = { known: 'no' } as const
  for (;;) {
    const others = requests.others().filter((host) => !lost.has(host))
    const found = await Promise.all(
      others.map(async (host) => ({
        host,
        result: await requests.ask(host, request, false).catch((): KnownRequest => no),
      })),
    )
    const result = found.find((one) => isSettled(one.result))?.result
    if (result !== undefined) return result
    const busy = found.filter((one) => one.result.known === 'underWay').map(({ host }) => host)
    const [first] = [...busy, ...[...claim.yieldedTo].filter((host) => !lost.has(host))]
    claim.yieldedTo.clear()
    if (first === undefined) {
      claim.isUndecided = false
      return no
    }
    try {
      const answer = await requests.ask(first, request, true)
      if (isSettled(answer)) return answer
    } catch {
      lost.add(first)
    }
  }
}

function isSettled({ known }: KnownRequest): boolean {
  return known !== 'no' && known !== 'underWay'
}
