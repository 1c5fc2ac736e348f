/** Which host is to run a plugin that nobody runs. Every host comes to the same answer from the same facts. */

/** What a plugin asks of its host. */
export interface Placement {
  readonly host?: string
  readonly labels?: readonly string[]
}

/** What a host has to offer; `plugins` is how many it runs. */
export interface Candidate {
  readonly id: string
  readonly labels: readonly string[]
  readonly draining: boolean
  readonly plugins: number
}

export function isEligible(placement: Placement, candidate: Omit<Candidate, 'plugins'>): boolean {
  const { host, labels = [] } = placement
  if (candidate.draining || (host !== undefined && host !== candidate.id)) return false
  return labels.every((label) => candidate.labels.includes(label))
}

/** Of the hosts that may, the one with the fewest plugins; of several the first by name. Undefined: none may. */
export function chooseHost(placement: Placement, candidates: readonly Candidate[]): string | undefined {
  let best: Candidate | undefined
  for (const candidate of candidates) {
    if (!isEligible(placement, candidate)) continue
    if (best !== undefined && !isBefore(candidate, best)) continue
    best = candidate
  }
  return best?.id
}

function isBefore(left: Candidate, right: Candidate): boolean {
  return left.plugins < right.plugins || (left.plugins === right.plugins && left.id < right.id)
}

/** Hosts for all of these plugins, each as if those before it ran there already. */
export function chooseHosts(
  plugins: Iterable<readonly [string, Placement]>,
  candidates: readonly Candidate[],
): Map<string, string> {
  const offers = candidates.map((candidate) => ({ ...candidate }))
  const chosen = new Map<string, string>()
  for (const [plugin, placement] of plugins) {
    const host = chooseHost(placement, offers)
    const offer = offers.find(({ id }) => id === host)
    if (offer === undefined) continue
    chosen.set(plugin, offer.id)
    offer.plugins += 1
  }
  return chosen
}
