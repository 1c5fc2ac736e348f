import { Problem } from '../../base/problem.ts'

/** What is refused while this host is known not to reach the store. */
export function storeAway(): Problem {
  return new Problem(
    'fleet_unreachable',
    "The fleet's store cannot be reached from this host, so nothing can be changed; ask another host, or try again.",
  )
}
