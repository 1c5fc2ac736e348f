import type { KnownRequest, RepeatedRequest, SharedRequests } from '../../../http/requests/shared-requests.ts'

/** What hosts tell each other of requests that are to act once. */
export interface FleetRequests {
  requests: SharedRequests
  /** What another host asks of this one. */
  answer(given: readonly unknown[]): Promise<KnownRequest>
}

/** As it goes to another host. */
type SentRequest = [key: string, fingerprint: string, waits: boolean, from: string]

export function createFleetRequests(parts: {
  /** Name of this host, and ids of all others that live. */
  host: string
  others: () => string[]
  /** `waits`: for the answer to a request that is under way. */
  ask(host: string, given: SentRequest, waits: boolean): Promise<unknown>
}): FleetRequests {
  const { host: own, others, ask } = parts
  let serve: Parameters<SharedRequests['serve']>[0] | undefined

  return {
    requests: {
      host: own,
      others,
      ask: async (host, { key, fingerprint }, waits) =>
        (await ask(host, [key, fingerprint, waits, own], waits)) as KnownRequest,
      serve(answer) {
        serve = answer
      },
    },
    async answer(given) {
      const [key, fingerprint, waits, from] = given as SentRequest
      const request: RepeatedRequest = { key, fingerprint }
      return serve === undefined ? { known: 'no' } : serve(from, request, waits)
    },
  }
}
