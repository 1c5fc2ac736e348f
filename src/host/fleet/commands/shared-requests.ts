import { candidatesOf } from '../../../fleet/leases/views.ts'
import type { KnownRequest, RepeatedRequest, SharedRequests } from '../../../http/requests/shared-requests.ts'
import type { FleetMember } from '../membership/fleet-member.ts'

/** What hosts tell each other of requests that are to act once. */
export interface FleetRequests {
  requests: SharedRequests
  /** What another host asks of this one. */
  answer(given: readonly unknown[]): Promise<KnownRequest>
}

/** As it goes to another host. */
type SentRequest = [key: string, fingerprint: string, waits: boolean, from: string]

/** Milliseconds for what is known, and for the answer to a request that is under way. */
const questionTimeout = 3_000
const answerTimeout = 300_000

export function createFleetRequests(parts: {
  member: Pick<FleetMember, 'id' | 'keeper' | 'elapsed'>
  ask(host: string, method: 'knownRequest', given: readonly unknown[], timeout: number): Promise<unknown>
}): FleetRequests {
  const { member, ask } = parts
  const { keeper } = member
  let serve: Parameters<SharedRequests['serve']>[0] | undefined

  return {
    requests: {
      host: member.id,
      others() {
        // Without the store nothing is done anyway.
        if (!keeper.maySpeak()) return []
        return candidatesOf(keeper.state, member.elapsed())
          .map(({ id }) => id)
          .filter((id) => id !== member.id)
      },
      async ask(host, { key, fingerprint }, waits) {
        const sent: SentRequest = [key, fingerprint, waits, member.id]
        return (await ask(
          host,
          'knownRequest',
          sent,
          waits ? answerTimeout : questionTimeout,
        )) as KnownRequest
      },
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
